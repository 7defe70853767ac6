//! The index: which bindings concern whom, and what their roles allow.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use serde_json::Value;

use crate::auth::{MASTERS, service_account_name};
use crate::hooks::User;

use super::{Attributes, Rule, Target};

/// The answer, with the reason that reviews show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Empty reason for `system:masters`.
    Allowed(String),
    /// The reason names roles that bindings refer to but that do not exist.
    Denied(String),
}

impl Decision {
    /// Whether it was allowed.
    pub fn is_allowed(&self) -> bool {
        matches!(self, Self::Allowed(_))
    }
}

/// The role that a binding refers to.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RoleRef {
    /// Empty for a ClusterRole.
    pub namespace: String,
    /// Name of the role.
    pub name: String,
}

/// Namespace (empty for cluster-wide ones) and name of a binding.
type BindingKey = (String, String);

#[derive(Debug)]
struct Binding {
    role: RoleRef,
    subjects: Vec<Subject>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Subject {
    User(String),
    Group(String),
    /// Namespace and name; found under the user name.
    ServiceAccount(String, String),
}

impl Subject {
    fn of(value: &Value, binding_namespace: &str) -> Option<Self> {
        let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        match value.get("kind").and_then(Value::as_str)? {
            "User" => Some(Self::User(text("name"))),
            "Group" => Some(Self::Group(text("name"))),
            "ServiceAccount" => {
                let namespace = Some(text("namespace")).filter(|ns| !ns.is_empty());
                Some(Self::ServiceAccount(
                    namespace.unwrap_or_else(|| binding_namespace.to_owned()),
                    text("name"),
                ))
            }
            _ => None,
        }
    }

    /// The key under which bindings of this subject are found: user names and group names in one map each.
    fn index(&self) -> (bool, String) {
        match self {
            Self::User(name) => (false, name.clone()),
            Self::Group(name) => (true, name.clone()),
            Self::ServiceAccount(namespace, name) => (false, service_account_name(namespace, name)),
        }
    }

    fn matches(&self, user: &User) -> bool {
        match self {
            Self::User(name) => *name == user.name,
            Self::Group(name) => user.is_in(name),
            Self::ServiceAccount(namespace, name) => {
                user.as_service_account() == Some((namespace.as_str(), name.as_str()))
            }
        }
    }
}

/// All RBAC objects, indexed by whom they concern.
#[derive(Debug, Default)]
pub struct Policy {
    roles: HashMap<RoleRef, Arc<[Rule]>>,
    bindings: HashMap<BindingKey, Binding>,
    /// By namespace of the binding (empty: cluster-wide), then by subject; keys sorted, so that the binding named as
    /// the reason is always the same one.
    users: HashMap<String, HashMap<String, BTreeSet<BindingKey>>>,
    groups: HashMap<String, HashMap<String, BTreeSet<BindingKey>>>,
}

impl Policy {
    /// Takes note of an RBAC object as stored. Other kinds are ignored.
    pub fn upsert(&mut self, resource: &str, object: &Value) {
        let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (namespace, name) = (text("/metadata/namespace"), text("/metadata/name"));
        match resource {
            "roles" | "clusterroles" => {
                self.roles.insert(RoleRef { namespace, name }, Rule::of_role(object).into());
            }
            "rolebindings" | "clusterrolebindings" => {
                self.remove(resource, &namespace, &name);
                let role_namespace =
                    if text("/roleRef/kind") == "ClusterRole" { String::new() } else { namespace.clone() };
                let role = RoleRef { namespace: role_namespace, name: text("/roleRef/name") };
                let subjects = object.get("subjects").and_then(Value::as_array);
                let subjects: Vec<Subject> =
                    subjects.into_iter().flatten().filter_map(|s| Subject::of(s, &namespace)).collect();
                let key = (namespace.clone(), name);
                for subject in &subjects {
                    let (is_group, subject) = subject.index();
                    let index = if is_group { &mut self.groups } else { &mut self.users };
                    index
                        .entry(namespace.clone())
                        .or_default()
                        .entry(subject)
                        .or_default()
                        .insert(key.clone());
                }
                self.bindings.insert(key, Binding { role, subjects });
            }
            _ => {}
        }
    }

    /// Forgets an RBAC object.
    pub fn remove(&mut self, resource: &str, namespace: &str, name: &str) {
        match resource {
            "roles" | "clusterroles" => {
                self.roles.remove(&RoleRef { namespace: namespace.into(), name: name.into() });
            }
            "rolebindings" | "clusterrolebindings" => {
                let key = (namespace.to_owned(), name.to_owned());
                let Some(binding) = self.bindings.remove(&key) else { return };
                for subject in binding.subjects {
                    let (is_group, subject) = subject.index();
                    let index = if is_group { &mut self.groups } else { &mut self.users };
                    let Some(of_namespace) = index.get_mut(namespace) else { continue };
                    if let Some(keys) = of_namespace.get_mut(&subject) {
                        keys.remove(&key);
                        if keys.is_empty() {
                            of_namespace.remove(&subject);
                        }
                    }
                    if of_namespace.is_empty() {
                        index.remove(namespace);
                    }
                }
            }
            _ => {}
        }
    }

    /// Decides, with the reason in words.
    pub fn decide(&self, attributes: &Attributes<'_>) -> Decision {
        if attributes.user.is_in(MASTERS) {
            return Decision::Allowed(String::new());
        }
        let mut unknown: Vec<&RoleRef> = vec![];
        for (key, binding) in self.bindings_of(attributes.user, namespace_of(&attributes.target)) {
            let Some(rules) = self.roles.get(&binding.role) else {
                if !unknown.contains(&&binding.role) {
                    unknown.push(&binding.role);
                }
                continue;
            };
            if rules.iter().any(|rule| rule.allows(attributes.verb, &attributes.target)) {
                return Decision::Allowed(reason(key, binding, attributes.user));
            }
        }
        Decision::Denied(not_found(&unknown))
    }

    /// Decides, without making the reason's text: what every request pays.
    pub fn allows(&self, attributes: &Attributes<'_>) -> bool {
        attributes.user.is_in(MASTERS)
            || self.bindings_of(attributes.user, namespace_of(&attributes.target)).any(|(_, binding)| {
                self.roles.get(&binding.role).is_some_and(|rules| {
                    rules.iter().any(|rule| rule.allows(attributes.verb, &attributes.target))
                })
            })
    }

    /// All rules that hold for a user in a namespace (empty: only cluster-wide ones).
    pub fn rules_of(&self, user: &User, namespace: &str) -> Vec<Rule> {
        if user.is_in(MASTERS) {
            let all = || vec!["*".to_owned()];
            return vec![
                Rule { verbs: all(), api_groups: all(), resources: all(), ..Rule::default() },
                Rule { verbs: all(), non_resource_urls: all(), ..Rule::default() },
            ];
        }
        let bindings = self.bindings_of(user, namespace);
        bindings
            .filter_map(|(_, binding)| self.roles.get(&binding.role))
            .flat_map(|rules| rules.iter().cloned())
            .collect()
    }

    /// The rules of a role; none if there is no such role.
    pub fn role(&self, role: &RoleRef) -> Option<&[Rule]> {
        self.roles.get(role).map(AsRef::as_ref)
    }

    /// Cluster-wide bindings first, then those of the namespace.
    fn bindings_of<'a>(
        &'a self,
        user: &'a User,
        namespace: &'a str,
    ) -> impl Iterator<Item = (&'a BindingKey, &'a Binding)> {
        let scopes = ["", namespace];
        let count = if namespace.is_empty() { 1 } else { 2 };
        scopes.into_iter().take(count).flat_map(move |scope| {
            let users = self.users.get(scope).and_then(|of| of.get(&user.name));
            let groups = self.groups.get(scope);
            let by_group = user.groups.iter().filter_map(move |group| groups?.get(group));
            users.into_iter().chain(by_group).flatten().filter_map(|key| Some((key, self.bindings.get(key)?)))
        })
    }
}

fn namespace_of<'a>(target: &Target<'a>) -> &'a str {
    match target {
        Target::Resource { namespace, .. } => namespace,
        Target::Path(_) => "",
    }
}

fn reason((namespace, name): &BindingKey, binding: &Binding, user: &User) -> String {
    let (kind, shown) = match namespace.as_str() {
        "" => ("ClusterRoleBinding", name.clone()),
        namespace => ("RoleBinding", format!("{name}/{namespace}")),
    };
    let role_kind = if binding.role.namespace.is_empty() { "ClusterRole" } else { "Role" };
    let subject = match binding.subjects.iter().find(|subject| subject.matches(user)) {
        Some(Subject::Group(name)) => format!("Group {name:?}"),
        Some(Subject::ServiceAccount(namespace, name)) => format!("ServiceAccount \"{name}/{namespace}\""),
        Some(Subject::User(name)) => format!("User {name:?}"),
        None => format!("User {:?}", user.name),
    };
    format!("RBAC: allowed by {kind} {shown:?} of {role_kind} {:?} to {subject}", binding.role.name)
}

fn not_found(roles: &[&RoleRef]) -> String {
    let kind = |role: &RoleRef| if role.namespace.is_empty() { "clusterrole" } else { "role" };
    let texts: Vec<String> = roles
        .iter()
        .map(|role| format!("{}.rbac.authorization.k8s.io {:?} not found", kind(role), role.name))
        .collect();
    match texts.as_slice() {
        [] => String::new(),
        [one] => format!("RBAC: {one}"),
        many => format!("RBAC: [{}]", many.join(", ")),
    }
}
