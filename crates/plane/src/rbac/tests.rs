use serde_json::{Value, json};

use super::*;
use crate::hooks::User;

fn alice() -> User {
    User::new("alice", ["devs"])
}

fn rule(groups: &[&str], resources: &[&str], verbs: &[&str]) -> Value {
    json!({ "apiGroups": groups, "resources": resources, "verbs": verbs })
}

fn role(namespace: &str, name: &str, rules: Value) -> Value {
    json!({ "metadata": { "namespace": namespace, "name": name }, "rules": rules })
}

fn binding(namespace: &str, name: &str, role_kind: &str, role: &str, subject: Value) -> Value {
    json!({
        "metadata": { "namespace": namespace, "name": name },
        "roleRef": { "kind": role_kind, "name": role },
        "subjects": [subject],
    })
}

fn user(name: &str) -> Value {
    json!({ "kind": "User", "name": name })
}

fn on<'a>(group: &'a str, resource: &'a str, namespace: &'a str, name: &'a str) -> Target<'a> {
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    Target::Resource { group, resource, subresource, namespace, name }
}

fn bootstrapped() -> Policy {
    let mut policy = Policy::default();
    for object in bootstrap_objects() {
        let resource = if object["kind"] == "ClusterRole" { "clusterroles" } else { "clusterrolebindings" };
        policy.upsert(resource, &object);
    }
    policy
}

#[test]
fn bindings_reach_as_far_as_they_should() {
    let mut policy = Policy::default();
    policy.upsert(
        "clusterroles",
        &role("", "reader", json!([rule(&[""], &["pods", "pods/log"], &["get", "list"])])),
    );
    policy.upsert("rolebindings", &binding("a", "b", "ClusterRole", "reader", user("alice")));
    let alice = alice();
    let may = |policy: &Policy, verb: &str, target: Target<'_>| {
        let attributes = Attributes { user: &alice, verb, target };
        let decision = policy.decide(&attributes);
        assert_eq!(decision.is_allowed(), policy.allows(&attributes), "both ways decide alike");
        decision.is_allowed()
    };
    assert!(may(&policy, "get", on("", "pods", "a", "x")));
    assert!(may(&policy, "list", on("", "pods", "a", "")));
    assert!(may(&policy, "get", on("", "pods/log", "a", "x")));
    assert!(!may(&policy, "get", on("", "pods/exec", "a", "x")));
    assert!(!may(&policy, "delete", on("", "pods", "a", "x")));
    assert!(!may(&policy, "get", on("", "pods", "b", "x")), "a RoleBinding reaches its own namespace only");
    assert!(!may(&policy, "list", on("", "pods", "", "")), "nor all namespaces");
    assert!(!may(&policy, "get", on("metrics.k8s.io", "pods", "a", "x")));
    policy.upsert(
        "clusterrolebindings",
        &binding("", "all", "ClusterRole", "reader", json!({ "kind": "Group", "name": "devs" })),
    );
    assert!(may(&policy, "list", on("", "pods", "", "")));
    policy.remove("clusterrolebindings", "", "all");
    assert!(!may(&policy, "list", on("", "pods", "", "")), "a removed binding grants nothing");
    policy.upsert("rolebindings", &binding("a", "b", "ClusterRole", "reader", user("bob")));
    assert!(!may(&policy, "get", on("", "pods", "a", "x")), "nor does a subject taken out of one");
}

#[test]
fn names_wildcards_and_subresources_match_as_on_the_real_server() {
    let rules: Rule = serde_json::from_value(json!({
        "apiGroups": ["apps"], "resources": ["*/scale", "deployments"], "resourceNames": ["web"], "verbs": ["*"],
    }))
    .unwrap();
    assert!(rules.allows("patch", &on("apps", "deployments", "a", "web")));
    assert!(rules.allows("patch", &on("apps", "statefulsets/scale", "a", "web")));
    assert!(!rules.allows("patch", &on("apps", "deployments/status", "a", "web")));
    assert!(!rules.allows("patch", &on("apps", "deployments", "a", "api")));
    assert!(!rules.allows("list", &on("apps", "deployments", "a", "")), "a list names nothing");
    let paths: Rule =
        serde_json::from_value(json!({ "nonResourceURLs": ["/healthz", "/openapi/*"], "verbs": ["get"] }))
            .unwrap();
    assert!(
        paths.allows("get", &Target::Path("/healthz")) && paths.allows("get", &Target::Path("/openapi/v3"))
    );
    assert!(
        !paths.allows("get", &Target::Path("/openapi")) && !paths.allows("post", &Target::Path("/healthz"))
    );
}

#[test]
fn refusals_read_as_the_real_servers() {
    let alice = alice();
    let message = |verb, target| forbidden_message(&Attributes { user: &alice, verb, target }, "");
    assert_eq!(
        message("get", on("", "configmaps", "default", "x")),
        r#"configmaps "x" is forbidden: User "alice" cannot get resource "configmaps" in API group "" in the namespace "default""#
    );
    assert_eq!(
        message("list", on("", "pods", "", "")),
        r#"pods is forbidden: User "alice" cannot list resource "pods" in API group "" at the cluster scope"#
    );
    assert_eq!(
        message("update", on("apps", "deployments/scale", "default", "web")),
        r#"deployments.apps "web" is forbidden: User "alice" cannot update resource "deployments/scale" in API group "apps" in the namespace "default""#
    );
    assert_eq!(message("get", Target::Path("/logs")), r#"forbidden: User "alice" cannot get path "/logs""#);
    assert_eq!(
        message("get", Target::Path("/<b>&")),
        r#"forbidden: User "alice" cannot get path "/&lt;b&gt;&amp;""#
    );
}

#[test]
fn a_binding_to_a_missing_role_is_named_in_the_refusal() {
    let mut policy = Policy::default();
    policy.upsert("rolebindings", &binding("default", "b", "Role", "x", user("alice")));
    let alice = alice();
    let attributes = Attributes { user: &alice, verb: "get", target: on("", "pods", "default", "p") };
    let reason = r#"RBAC: role.rbac.authorization.k8s.io "x" not found"#;
    assert_eq!(policy.decide(&attributes), Decision::Denied(reason.into()));
    assert!(
        forbidden_message(&attributes, reason)
            .ends_with(r#"in the namespace "default": RBAC: role.rbac.authorization.k8s.io "x" not found"#)
    );
}

#[test]
fn granting_what_one_does_not_hold_is_refused() {
    let rules = |rules: Value| Rule::of_role(&json!({ "rules": rules }));
    let held = rules(
        json!([rule(&[""], &["pods"], &["get"]), { "nonResourceURLs": ["/metrics"], "verbs": ["get"] }]),
    );
    assert_eq!(NotHeld::check(&alice(), &held, &rules(json!([rule(&[""], &["pods"], &["get"])]))), Ok(()));
    let wanted = rules(json!([rule(&[""], &["secrets", "pods"], &["get", "list"])]));
    assert_eq!(
        NotHeld::check(&alice(), &held, &wanted).unwrap_err().to_string(),
        "user \"alice\" (groups=[\"devs\" \"system:authenticated\"]) is attempting to grant RBAC permissions not currently held:\n\
         {APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"list\"]}\n\
         {APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\" \"list\"]}"
    );
    let paths = rules(json!([{ "nonResourceURLs": ["*"], "verbs": ["get"] }]));
    assert!(
        NotHeld::check(&alice(), &held, &paths)
            .unwrap_err()
            .to_string()
            .ends_with("\n{NonResourceURLs:[\"*\"], Verbs:[\"get\"]}")
    );
    let named = rules(
        json!([{ "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["x"], "verbs": ["get"] }]),
    );
    assert!(
        NotHeld::check(&alice(), &held, &named)
            .unwrap_err()
            .to_string()
            .contains("ResourceNames:[\"x\"], Verbs:[\"get\"]")
    );
    assert_eq!(missing_rules(&named, &named), vec![]);
    assert_eq!(
        missing_rules(&named, &rules(json!([rule(&[""], &["secrets"], &["get"])]))).len(),
        1,
        "all objects are more than one"
    );
}

#[test]
fn wildcards_cover_but_are_not_covered_by_lists() {
    let rules = |rules: Value| Rule::of_role(&json!({ "rules": rules }));
    let all = rules(json!([rule(&["*"], &["*"], &["*"])]));
    let some = rules(json!([rule(&["apps"], &["deployments", "deployments/scale"], &["get"])]));
    assert!(missing_rules(&all, &some).is_empty());
    assert!(!missing_rules(&some, &all).is_empty());
    let scales = rules(json!([rule(&["*"], &["*/scale"], &["get"])]));
    assert_eq!(missing_rules(&scales, &some)[0].resources, ["deployments"]);
}

#[test]
fn the_bootstrap_roles_let_in_whom_they_should() {
    let policy = bootstrapped();
    let check = |user: &User, verb, target| policy.allows(&Attributes { user, verb, target });
    let (anonymous, alice) = (User::anonymous(), alice());
    assert!(
        check(&anonymous, "get", Target::Path("/version"))
            && check(&anonymous, "get", Target::Path("/livez"))
    );
    assert!(!check(&anonymous, "get", Target::Path("/apis")));
    assert!(check(&alice, "get", Target::Path("/apis")) && check(&alice, "get", Target::Path("/openapi/v3")));
    assert!(!check(&alice, "get", Target::Path("/metrics")));
    assert!(check(&alice, "create", on("authorization.k8s.io", "selfsubjectaccessreviews", "", "")));
    assert!(!check(&alice, "create", on("authorization.k8s.io", "subjectaccessreviews", "", "")));
    assert!(check(&User::service_account("a", "b"), "get", Target::Path("/openid/v1/jwks")));
    let admin = User::new("root", ["system:masters"]);
    assert!(check(&admin, "delete", on("", "nodes", "", "n")));
}

#[test]
fn admin_includes_edit_and_edit_includes_view() {
    let policy = bootstrapped();
    let rules = |name: &str| policy.role(&RoleRef { namespace: String::new(), name: name.into() }).unwrap();
    assert!(missing_rules(rules("admin"), rules("edit")).is_empty());
    assert!(missing_rules(rules("edit"), rules("view")).is_empty());
    let secrets = [Rule {
        verbs: vec!["get".into()],
        api_groups: vec![String::new()],
        resources: vec!["secrets".into()],
        ..Rule::default()
    }];
    assert!(missing_rules(rules("edit"), &secrets).is_empty());
    assert!(!missing_rules(rules("view"), &secrets).is_empty(), "view shows no secrets");
    assert!(!missing_rules(rules("edit"), rules("system:aggregate-to-admin")).is_empty());
}

#[test]
fn an_aggregated_role_takes_in_what_carries_its_label() {
    let labelled = |name: &str, rules: Value| json!({ "metadata": { "name": name, "labels": { "x": "y" } }, "rules": rules });
    let all = [
        labelled("one", json!([rule(&[""], &["pods"], &["get"])])),
        labelled("two", json!([rule(&[""], &["pods"], &["get"]), rule(&[""], &["pods"], &["list"])])),
        role("", "other", json!([rule(&[""], &["secrets"], &["get"])])),
    ];
    let sum = json!({ "metadata": { "name": "sum" }, "aggregationRule": { "clusterRoleSelectors": [{ "matchLabels": { "x": "y" } }] } });
    assert_eq!(
        aggregated_rules(&sum, &all).unwrap(),
        [rule(&[""], &["pods"], &["get"]), rule(&[""], &["pods"], &["list"])]
    );
    assert_eq!(aggregated_rules(&all[0], &all), None);
}

#[test]
fn access_reviews_tell_by_what_one_is_allowed() {
    let mut policy = Policy::default();
    policy.upsert("clusterroles", &role("", "alice1", json!([rule(&[""], &["pods"], &["get"])])));
    policy.upsert("clusterrolebindings", &binding("", "alice1", "ClusterRole", "alice1", user("alice")));
    policy.upsert("roles", &role("ns", "r", json!([rule(&[""], &["secrets"], &["get"])])));
    policy.upsert(
        "rolebindings",
        &binding("ns", "b", "Role", "r", json!({ "kind": "ServiceAccount", "name": "s" })),
    );
    let review = |spec: Value| serde_json::from_value::<AccessReview>(spec).unwrap();
    let resource = |resource: &str| json!({ "verb": "get", "resource": resource, "namespace": "ns" });
    assert_eq!(
        review(json!({ "resourceAttributes": resource("pods") })).about(&alice(), &policy).unwrap(),
        json!({ "allowed": true, "reason": "RBAC: allowed by ClusterRoleBinding \"alice1\" of ClusterRole \"alice1\" to User \"alice\"" })
    );
    assert_eq!(
        review(json!({ "resourceAttributes": resource("secrets"), "user": "system:serviceaccount:ns:s" }))
            .about_named(&policy)
            .unwrap(),
        json!({ "allowed": true, "reason": "RBAC: allowed by RoleBinding \"b/ns\" of Role \"r\" to ServiceAccount \"s/ns\"" })
    );
    assert_eq!(
        review(json!({ "resourceAttributes": resource("nodes"), "user": "bob" }))
            .about_named(&policy)
            .unwrap(),
        json!({ "allowed": false })
    );
    let masters = json!({ "resourceAttributes": resource("nodes"), "groups": ["system:masters"] });
    assert_eq!(review(masters).about_named(&policy).unwrap(), json!({ "allowed": true }));
    assert_eq!(
        review(json!({ "resourceAttributes": resource("pods") }))
            .about_named(&policy)
            .unwrap_err()
            .to_string(),
        r#"spec.user: Invalid value: "": at least one of user or group must be specified"#
    );
    assert_eq!(
        review(json!({ "user": "bob" })).about_named(&policy).unwrap_err().to_string(),
        "spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified"
    );
    assert!(review(json!({ "resourceAttributes": resource("pods") })).confined_to("ns").is_ok());
    assert!(review(json!({ "resourceAttributes": resource("pods") })).confined_to("other").is_err());
}

#[test]
fn a_rules_review_lists_what_holds_in_the_namespace() {
    let mut policy = Policy::default();
    policy.upsert(
        "roles",
        &role(
            "ns",
            "r",
            json!([rule(&[""], &["secrets"], &["get"]), { "nonResourceURLs": ["/x"], "verbs": ["get"] }]),
        ),
    );
    policy.upsert("rolebindings", &binding("ns", "b", "Role", "r", user("alice")));
    assert_eq!(
        rules_review_status(&policy.rules_of(&alice(), "ns")),
        json!({
            "resourceRules": [{ "verbs": ["get"], "apiGroups": [""], "resources": ["secrets"] }],
            "nonResourceRules": [{ "verbs": ["get"], "nonResourceURLs": ["/x"] }],
            "incomplete": false,
        })
    );
    assert!(policy.rules_of(&alice(), "other").is_empty());
}
