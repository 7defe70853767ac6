use super::*;

#[tokio::test]
async fn a_review_says_what_the_real_servers_says() {
    let (outcome, request, seen) = validated(hook("/v"), allow).await;
    outcome.unwrap();
    assert_eq!(request.warnings, ["careful"]);
    let seen = seen.lock();
    let mut review = seen[0].1.clone();
    assert!(review["request"]["uid"].as_str().is_some_and(|uid| !uid.is_empty()));
    review["request"]["uid"] = json!("u");
    let kind = json!({ "group": "", "version": "v1", "kind": "ConfigMap" });
    let resource = json!({ "group": "", "version": "v1", "resource": "configmaps" });
    assert_eq!(
        review,
        json!({ "kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {
            "uid": "u", "kind": kind, "resource": resource, "requestKind": kind, "requestResource": resource,
            "name": "x", "namespace": "wl", "operation": "CREATE",
            "userInfo": { "username": "alice", "groups": ["system:authenticated"] },
            "object": request.object, "oldObject": null, "dryRun": false,
            "options": { "kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1" },
        }})
    );
}

#[tokio::test]
async fn denials_carry_the_webhooks_status() {
    let deny = |hook, answer: Answer| async move { validated(hook, answer).await.0.unwrap_err() };
    let full = deny(
        hook("/v"),
        |_, _| json!({ "allowed": false, "status": { "code": 409, "reason": "Busy", "message": "not now" } }),
    )
    .await;
    assert_eq!((full.code, full.reason.as_ref()), (409, "Busy"));
    assert_eq!(full.message, r#"admission webhook "wh.example.com" denied the request: not now"#);
    let reason =
        deny(hook("/v"), |_, _| json!({ "allowed": false, "status": { "reason": "Because" } })).await;
    assert_eq!(reason.message, r#"admission webhook "wh.example.com" denied the request: Because"#);
    let bare =
        deny(with(hook("/v"), "failurePolicy", json!("Ignore")), |_, _| json!({ "allowed": false })).await;
    assert_eq!((bare.code, bare.reason.as_ref()), (400, ""), "Ignore never covers a denial");
    assert_eq!(bare.message, r#"admission webhook "wh.example.com" denied the request without explanation"#);
}

#[tokio::test]
async fn answers_that_cannot_be_believed_are_refused_or_ignored() {
    let cases: [(&str, Answer, &str); 4] = [
        (
            "/v",
            |_, _| json!({ "uid": "x", "allowed": true }),
            "received invalid webhook response: expected response.uid=",
        ),
        ("/v", |_, _| Value::Null, "received invalid webhook response: webhook response was absent"),
        (
            "/old",
            |_, _| json!({ "allowed": true }),
            "failed to call webhook: converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion",
        ),
        (
            "/v",
            |_, _| patch(&json!([])),
            "received invalid webhook response: validating webhook may not return response.patch",
        ),
    ];
    for (path, answer, text) in cases {
        let error = validated(hook(path), answer).await.0.unwrap_err();
        let start = format!(r#"Internal error occurred: failed calling webhook "wh.example.com": {text}"#);
        assert!(error.message.starts_with(&start), "{}", error.message);
        assert_eq!((error.code, error.reason.as_ref()), (500, "InternalError"));
        let cause = &error.details.unwrap().causes[0].message;
        assert!(cause.starts_with("failed calling webhook"), "{cause}");
        validated(with(hook(path), "failurePolicy", json!("Ignore")), answer).await.0.unwrap();
    }
    let untyped =
        mutated(hook("/m"), |_, _| json!({ "allowed": true, "patch": "W10=" })).await.0.unwrap_err();
    assert!(
        untyped.message.ends_with("webhook returned response.patch but not response.patchType"),
        "{}",
        untyped.message
    );
    let garbage = mutated(
        hook("/m"),
        |_, _| json!({ "allowed": true, "patchType": "JSONPatch", "patch": STANDARD.encode("zzz") }),
    )
    .await
    .0
    .unwrap_err();
    assert!(
        garbage.message.ends_with("received undecodable patch in webhook response: invalid character 'z' looking for beginning of value"),
        "{}", garbage.message
    );
}

#[tokio::test]
async fn a_patch_that_does_not_apply_fails_whatever_the_policy() {
    let bad = |_: &str, _: &Value| patch(&json!([{ "op": "remove", "path": "/nope/x" }]));
    let (outcome, request, _) = mutated(with(hook("/m"), "failurePolicy", json!("Ignore")), bad).await;
    assert_eq!(
        outcome.unwrap_err().message,
        r#"Internal error occurred: remove operation does not apply: doc is missing path: "/nope/x": missing value"#
    );
    assert_eq!(request.object, create("x").object, "nothing was changed");
}

#[tokio::test]
async fn mutating_webhooks_run_in_order_and_again_when_a_later_one_changed_the_object() {
    fn add(path: &str, request: &Value) -> Value {
        let seen = request["object"]["data"]["seen"].as_str().unwrap_or_default();
        if request["object"].get("data").is_none() {
            return patch(&json!([{ "op": "add", "path": "/data", "value": { "seen": path } }]));
        }
        if seen.matches('/').count() >= 2 {
            return json!({ "allowed": true });
        }
        patch(&json!([{ "op": "replace", "path": "/data/seen", "value": format!("{seen}{path}") }]))
    }
    let again = json!("IfNeeded");
    let around = Around {
        mutating: vec![with(hook("/a1"), "reinvocationPolicy", again), hook("/b2"), hook("/c3")],
        ..Around::default()
    };
    let (webhooks, seen) = webhooks(around, add);
    let mut request = create("x");
    webhooks.mutate(&mut request).await.unwrap();
    assert_eq!(request.object["data"]["seen"], "/a1/b2");
    let order: Vec<String> = seen.lock().iter().map(|(path, _)| path.clone()).collect();
    assert_eq!(order, ["/a1", "/b2", "/c3", "/a1"]);
}

#[tokio::test]
async fn only_what_matches_is_asked() {
    let asked = async |hook: Value, request: AdmissionRequest| {
        let (webhooks, seen) = webhooks(Around { validating: vec![hook], ..Around::default() }, allow);
        let mut request = request;
        webhooks.validate(&mut request).await.unwrap();
        let count = seen.lock().len();
        count == 1
    };
    let rules = |operations: Value, resources: Value| {
        with(
            hook("/v"),
            "rules",
            json!([{ "operations": operations, "apiGroups": ["*"], "apiVersions": ["*"], "resources": resources }]),
        )
    };
    assert!(asked(rules(json!(["CREATE"]), json!(["configmaps"])), create("x")).await);
    assert!(!asked(rules(json!(["DELETE"]), json!(["configmaps"])), create("x")).await);
    assert!(!asked(rules(json!(["*"]), json!(["secrets"])), create("x")).await);
    let status = || AdmissionRequest { subresource: "status".into(), ..create("x") };
    assert!(!asked(rules(json!(["*"]), json!(["*"])), status()).await, "`*` leaves out subresources");
    assert!(asked(rules(json!(["*"]), json!(["configmaps/*"])), status()).await);
    assert!(asked(rules(json!(["*"]), json!(["*/*"])), status()).await);
    let selector = |value: &str| json!({ "matchLabels": { "team": value } });
    assert!(asked(with(hook("/v"), "namespaceSelector", selector("a")), create("x")).await);
    assert!(!asked(with(hook("/v"), "namespaceSelector", selector("b")), create("x")).await);
    let cluster_scoped = || AdmissionRequest { namespace: String::new(), ..create("x") };
    assert!(asked(with(hook("/v"), "namespaceSelector", selector("b")), cluster_scoped()).await);
    let labels = |value: &str| json!({ "matchLabels": { "app": value } });
    assert!(asked(with(hook("/v"), "objectSelector", labels("web")), create("x")).await);
    assert!(!asked(with(hook("/v"), "objectSelector", labels("api")), create("x")).await);
    let mut configuration = create("x");
    configuration.names.group = "admissionregistration.k8s.io".into();
    configuration.names.plural = "validatingwebhookconfigurations".into();
    assert!(
        !asked(rules(json!(["*"]), json!(["*"])), configuration).await,
        "admission's own kinds are exempt"
    );
}

#[tokio::test]
async fn another_version_of_the_resource_matches_unless_exactly_this_one_is_wanted() {
    let rules = json!([{ "operations": ["*"], "apiGroups": [""], "apiVersions": ["v2"], "resources": ["configmaps"] }]);
    let (outcome, _, seen) = validated(with(hook("/v"), "rules", rules.clone()), allow).await;
    outcome.unwrap();
    let request = seen.lock()[0].1["request"].clone();
    assert_eq!(request["kind"]["version"], "v2");
    assert_eq!(request["requestKind"]["version"], "v1");
    assert_eq!(request["object"]["apiVersion"], "v2");
    let exact = with(with(hook("/v"), "rules", rules), "matchPolicy", json!("Exact"));
    assert!(validated(exact, allow).await.2.lock().is_empty());
}

#[tokio::test]
async fn match_conditions_decide_before_the_call() {
    let conditions = |expression: &str| {
        with(hook("/v"), "matchConditions", json!([{ "name": "c", "expression": expression }]))
    };
    for (expression, asked) in [
        ("object.metadata.name == 'x'", true),
        ("object.metadata.name == 'y'", false),
        ("request.operation == 'CREATE' && request.userInfo.username == 'alice'", true),
        ("!has(object.data)", true),
        ("oldObject == null", true),
    ] {
        let (outcome, _, seen) = validated(conditions(expression), allow).await;
        outcome.unwrap();
        assert_eq!(!seen.lock().is_empty(), asked, "{expression}");
    }
    let error = validated(conditions("object.foo.bar == 1"), allow).await.0.unwrap_err();
    assert_eq!(
        error.message,
        r#"configmaps "x" is forbidden: expression 'object.foo.bar == 1' resulted in error: no such key: foo"#
    );
    assert_eq!((error.code, error.reason.as_ref()), (403, "Forbidden"));
    let (ignored, _, seen) =
        validated(with(conditions("object.foo.bar == 1"), "failurePolicy", json!("Ignore")), allow).await;
    ignored.unwrap();
    assert!(seen.lock().is_empty());
}

#[tokio::test]
async fn a_dry_run_is_not_shown_to_webhooks_with_side_effects() {
    let around =
        Around { validating: vec![with(hook("/v"), "sideEffects", json!("Unknown"))], ..Around::default() };
    let (webhooks, seen) = webhooks(around, allow);
    let mut request = AdmissionRequest { dry_run: true, ..create("x") };
    let error = webhooks.validate(&mut request).await.unwrap_err();
    assert_eq!(
        (error.code, error.message.as_str()),
        (400, r#"admission webhook "wh.example.com" does not support dry run"#)
    );
    assert!(seen.lock().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_webhook_that_never_answers_is_given_up() {
    let backends = Backends::default();
    let hang = post(async || std::future::pending::<()>().await);
    backends.insert("wl", "hook", Backend::InProcess(Router::new().fallback_service(hang.with_state(()))));
    let around =
        Around { validating: vec![with(hook("/slow"), "timeoutSeconds", json!(1))], ..Around::default() };
    let webhooks = Webhooks::new(Arc::new(around), Caller::new(Arc::new(backends), |_, _| false));
    let error = webhooks.validate(&mut create("x")).await.unwrap_err();
    assert_eq!(
        error.message,
        r#"Internal error occurred: failed calling webhook "wh.example.com": failed to call webhook: Post "https://hook.wl.svc:443/slow?timeout=1s": context deadline exceeded"#
    );
}

#[tokio::test]
async fn conditions_may_ask_about_rights_and_cost_only_so_much() {
    let conditions = |expressions: &[&str]| {
        let all: Vec<Value> = expressions.iter().map(|e| json!({ "name": "c", "expression": e })).collect();
        with(hook("/v"), "matchConditions", json!(all))
    };
    for (expression, asked) in [
        ("authorizer.group('').resource('pods').namespace('wl').check('get').allowed()", true),
        ("authorizer.group('').resource('pods').check('delete').allowed()", false),
        ("authorizer.requestResource.check('get').reason() == 'alice reads'", true),
        ("authorizer.serviceAccount('wl', 'bot').path('/x').check('update').allowed()", true),
        ("quantity('1Gi').isGreaterThan(quantity('1M')) && ip('::1').isLoopback()", true),
    ] {
        let (outcome, _, seen) = validated(conditions(&[expression]), allow).await;
        outcome.unwrap();
        assert_eq!(!seen.lock().is_empty(), asked, "{expression}");
    }
    let check = "authorizer.group('').resource('pods').check('get').allowed()";
    let thrice = [check, check, check].join(" && ");
    let error = validated(conditions(&[&thrice]), allow).await.0.unwrap_err();
    assert!(error.message.ends_with("operation cancelled: actual cost limit exceeded"), "{}", error.message);
    let error = validated(conditions(&[check; 8]), allow).await.0.unwrap_err();
    assert!(error.message.contains("running out of cost budget"), "{}", error.message);
}
