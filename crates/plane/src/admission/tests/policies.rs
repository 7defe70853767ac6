use serde_json::{Value, json};

use super::*;

fn policy(validation: Value) -> Value {
    json!({ "metadata": { "name": "vp" }, "spec": {
        "matchConstraints": { "resourceRules": [{ "operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"] }] },
        "variables": [{ "name": "n", "expression": "object.metadata.name" }],
        "validations": [validation],
    }})
}

async fn judged(policy: Value, actions: Value, name: &str) -> (Result<()>, Vec<String>) {
    let binding =
        json!({ "metadata": { "name": "vb" }, "spec": { "policyName": "vp", "validationActions": actions } });
    let around = Around { policies: vec![policy], bindings: vec![binding], ..Around::default() };
    let (webhooks, _) = webhooks(around, allow);
    let mut request = create(name);
    let outcome = webhooks.validate(&mut request).await;
    (outcome, request.warnings)
}

#[tokio::test]
async fn policies_deny_or_warn_in_the_real_servers_words() {
    let validation = json!({ "expression": "variables.n != 'no'", "message": "name no" });
    judged(policy(validation.clone()), json!(["Deny"]), "yes").await.0.unwrap();
    let error = judged(policy(validation.clone()), json!(["Deny"]), "no").await.0.unwrap_err();
    assert_eq!((error.code, error.reason.as_ref()), (422, "Invalid"));
    assert_eq!(
        error.message,
        r#"configmaps "no" is forbidden: ValidatingAdmissionPolicy 'vp' with binding 'vb' denied request: name no"#
    );
    let bare = json!({ "expression": "object.metadata.name != 'nox'" });
    let error = judged(policy(bare), json!(["Deny"]), "nox").await.0.unwrap_err();
    assert!(
        error.message.ends_with("denied request: failed expression: object.metadata.name != 'nox'"),
        "{}",
        error.message
    );
    let (outcome, warnings) = judged(policy(validation), json!(["Warn"]), "no").await;
    outcome.unwrap();
    assert_eq!(warnings, ["Validation failed for ValidatingAdmissionPolicy 'vp' with binding 'vb': name no"]);
    let computed =
        json!({ "expression": "false", "message": "x", "messageExpression": "'no ' + object.metadata.name" });
    let error = judged(policy(computed), json!(["Deny"]), "way").await.0.unwrap_err();
    assert!(error.message.ends_with("denied request: no way"), "{}", error.message);
}

#[tokio::test]
async fn a_policy_is_judged_once_for_each_parameter() {
    let limits = |name: &str, max: &str| json!({ "metadata": { "name": name, "namespace": "wl", "labels": { "limits": "yes" } }, "data": { "max": max } });
    let mut sized = policy(json!({ "expression": "object.metadata.name.size() <= int(params.data.max)",
        "messageExpression": "'at most ' + params.data.max" }));
    sized["spec"]["paramKind"] = json!({ "apiVersion": "v1", "kind": "ConfigMap" });
    let judged = async |sized: &Value, param_ref: Value, parameters: &[Value]| {
        let binding = json!({ "metadata": { "name": "vb" }, "spec": { "policyName": "vp", "validationActions": ["Deny"],
            "paramRef": param_ref } });
        let (policies, bindings) = (vec![sized.clone()], vec![binding]);
        let around = Around { policies, bindings, parameters: parameters.to_vec(), ..Around::default() };
        webhooks(around, allow).0.validate(&mut create("four")).await.map_err(|error| error.message)
    };
    let (three, five) = (limits("three", "3"), limits("five", "5"));
    let by_name = json!({ "name": "five", "parameterNotFoundAction": "Deny" });
    assert_eq!(judged(&sized, by_name.clone(), &[three.clone(), five.clone()]).await, Ok(()));
    let selected =
        json!({ "selector": { "matchLabels": { "limits": "yes" } }, "parameterNotFoundAction": "Deny" });
    let refused = judged(&sized, selected, &[five, three.clone()]).await.unwrap_err();
    assert!(refused.ends_with("denied request: at most 3"), "{refused}");
    let missing = judged(&sized, by_name, &[three]).await.unwrap_err();
    assert!(
        missing.ends_with("failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"),
        "{missing}"
    );
    let lenient = json!({ "name": "five", "parameterNotFoundAction": "Allow" });
    assert_eq!(judged(&sized, lenient.clone(), &[]).await, Ok(()));
    sized["spec"]["paramKind"] = json!({ "apiVersion": "x.y/v1", "kind": "Nothing" });
    let unknown = judged(&sized, lenient, &[]).await.unwrap_err();
    assert!(unknown.ends_with("paramKind kind `x.y/v1, Kind=Nothing` not known"), "{unknown}");
}
