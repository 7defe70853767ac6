//! Rights and webhooks.

use serde_json::{Value, json};

use super::{Cells, Printer, age_of, list, name, text};

pub(super) fn printer(key: (&str, &str)) -> Option<Printer> {
    let (headings, cells): (&[&str], Cells) = match key {
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => {
            (&["Name", "Role", "Age", "Users*", "Groups*", "ServiceAccounts*"], |o, now| {
                let role = &o["roleRef"];
                let subjects = |kind: &str, show: fn(&Value) -> String| {
                    let all: Vec<String> =
                        list(&o["subjects"]).iter().filter(|s| s["kind"] == kind).map(show).collect();
                    json!(all.join(", "))
                };
                vec![
                    name(o),
                    json!(format!("{}/{}", text(&role["kind"]), text(&role["name"]))),
                    age_of(o, now),
                    subjects("User", |s| text(&s["name"]).to_string()),
                    subjects("Group", |s| text(&s["name"]).to_string()),
                    subjects("ServiceAccount", |s| format!("{}/{}", text(&s["namespace"]), text(&s["name"]))),
                ]
            })
        }
        (
            "admissionregistration.k8s.io",
            "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration",
        ) => (&["Name", "Webhooks:integer", "Age"], |o, now| {
            vec![name(o), json!(list(&o["webhooks"]).len()), age_of(o, now)]
        }),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy") => {
            (&["Name", "Validations:integer", "ParamKind", "Age"], |o, now| {
                let spec = &o["spec"];
                let kind = match &spec["paramKind"] {
                    Value::Object(_) => {
                        let kind = &spec["paramKind"];
                        json!(format!("{}/{}", text(&kind["apiVersion"]), text(&kind["kind"])))
                    }
                    _ => json!("<unset>"),
                };
                vec![name(o), json!(list(&spec["validations"]).len()), kind, age_of(o, now)]
            })
        }
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding") => {
            (&["Name", "PolicyName", "ParamRef", "Age"], |o, now| {
                let parameters = &o["spec"]["paramRef"];
                let shown = match (text(&parameters["namespace"]), text(&parameters["name"])) {
                    (_, "") => "<unset>".to_string(),
                    ("", name) => name.to_string(),
                    (namespace, name) => format!("{namespace}/{name}"),
                };
                vec![name(o), o["spec"]["policyName"].clone(), json!(shown), age_of(o, now)]
            })
        }
        _ => return None,
    };
    Some(Printer { headings, cells })
}
