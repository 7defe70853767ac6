//! The objects that give rights to a ServiceAccount.

use super::Rights;
use k8s_openapi::api::rbac::v1::{
    ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

/// Roles, and their bindings to one ServiceAccount.
#[derive(Clone, Debug, PartialEq)]
pub struct RightsObjects {
    /// What holds everywhere.
    pub cluster: Option<(ClusterRole, ClusterRoleBinding)>,
    /// What holds in single namespaces.
    pub namespaced: Vec<(Role, RoleBinding)>,
}

impl Rights {
    /// The objects, all called `name`, that give these rights to a ServiceAccount.
    #[must_use]
    pub fn objects(&self, name: &str, namespace: &str, account: &str) -> RightsObjects {
        let subject = Subject {
            kind: "ServiceAccount".into(),
            name: account.into(),
            namespace: Some(namespace.into()),
            api_group: None,
        };
        let cluster = (!self.cluster.is_empty()).then(|| {
            let metadata = ObjectMeta { name: Some(name.into()), ..ObjectMeta::default() };
            let rules = Some(self.cluster.clone());
            (
                ClusterRole { metadata: metadata.clone(), rules, aggregation_rule: None },
                ClusterRoleBinding {
                    metadata,
                    role_ref: role("ClusterRole", name),
                    subjects: Some(vec![subject.clone()]),
                },
            )
        });
        let namespaced =
            self.namespaces.iter().map(|(place, rules)| in_namespace(name, place, rules, &subject));
        RightsObjects { cluster, namespaced: namespaced.collect() }
    }
}

impl RightsObjects {
    /// All of them, roles before their bindings.
    #[must_use]
    pub fn to_values(&self) -> Vec<Value> {
        let cluster = self.cluster.iter().flat_map(|(role, binding)| [value(role), value(binding)]);
        let namespaced = self.namespaced.iter().flat_map(|(role, binding)| [value(role), value(binding)]);
        cluster.chain(namespaced).collect()
    }
}

fn in_namespace(name: &str, place: &str, rules: &[PolicyRule], subject: &Subject) -> (Role, RoleBinding) {
    let metadata =
        ObjectMeta { name: Some(name.into()), namespace: Some(place.into()), ..ObjectMeta::default() };
    (
        Role { metadata: metadata.clone(), rules: Some(rules.to_vec()) },
        RoleBinding { metadata, role_ref: role("Role", name), subjects: Some(vec![subject.clone()]) },
    )
}

fn role(kind: &str, name: &str) -> RoleRef {
    RoleRef { api_group: Some("rbac.authorization.k8s.io".into()), kind: kind.into(), name: name.into() }
}

fn value(object: &impl serde::Serialize) -> Value {
    serde_json::to_value(object).unwrap_or(Value::Null) // these types always fit JSON
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_role_is_bound_to_the_account_and_an_empty_one_is_not_made() {
        let rule = PolicyRule {
            api_groups: Some(vec![String::new()]),
            resources: Some(vec!["services".into()]),
            verbs: vec!["get".into()],
            ..PolicyRule::default()
        };
        let rights =
            Rights { cluster: vec![], namespaces: [("team".to_string(), vec![rule.clone()])].into() };
        let objects = rights.objects("operator", "home", "account");
        assert_eq!(objects.cluster, None);
        let (role, binding) = &objects.namespaced[0];
        assert_eq!(
            (role.metadata.namespace.as_deref(), role.rules.as_deref()),
            (Some("team"), Some(&[rule][..]))
        );
        let subject = &binding.subjects.as_ref().unwrap()[0];
        assert_eq!((subject.name.as_str(), subject.namespace.as_deref()), ("account", Some("home")));
        assert_eq!(binding.role_ref.name, "operator");
        assert_eq!(objects.to_values()[1]["kind"], "RoleBinding");
    }
}
