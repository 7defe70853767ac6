//! The objects that give rights to a ServiceAccount.

use super::{Holder, Rights};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
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
    /// The objects that give these rights to a ServiceAccount: all roles are called `role`, all bindings `binding`.
    #[must_use]
    pub fn objects(&self, role: &str, binding: &str, holder: Holder<'_>) -> RightsObjects {
        let cluster =
            (!self.cluster.is_empty()).then(|| holder.everywhere(role, binding, self.cluster.clone()));
        let within = self.namespaces.iter();
        let namespaced = within.map(|(place, rules)| holder.within(place, role, binding, rules.clone()));
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

fn value(object: &impl serde::Serialize) -> Value {
    serde_json::to_value(object).unwrap_or(Value::Null) // these types always fit JSON
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::rbac::v1::PolicyRule;

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
        let objects = rights.objects("role", "binding", Holder { namespace: "home", account: "account" });
        assert_eq!(objects.cluster, None);
        let (role, binding) = &objects.namespaced[0];
        assert_eq!(
            (role.metadata.namespace.as_deref(), role.rules.as_deref()),
            (Some("team"), Some(&[rule][..]))
        );
        let subject = &binding.subjects.as_ref().unwrap()[0];
        assert_eq!((subject.name.as_str(), subject.namespace.as_deref()), ("account", Some("home")));
        assert_eq!(
            (binding.role_ref.name.as_str(), binding.metadata.name.as_deref()),
            ("role", Some("binding"))
        );
        assert_eq!(objects.to_values()[1]["kind"], "RoleBinding");
    }
}
