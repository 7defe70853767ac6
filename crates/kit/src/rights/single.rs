//! Rights one by one.

use super::Rights;
use k8s_openapi::api::rbac::v1::PolicyRule;
use std::fmt;

/// One verb on one resource, or on one object of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Right {
    /// The namespace it holds in; none for everywhere.
    pub namespace: Option<String>,
    /// API group; empty for the core.
    pub group: String,
    /// The plural, with `/` and the subresource if there is one.
    pub resource: String,
    /// The verb.
    pub verb: String,
    /// The name it is limited to.
    pub name: Option<String>,
}

impl Right {
    /// The single rights of a rule.
    #[must_use]
    pub fn of(namespace: Option<&str>, rule: &PolicyRule) -> Vec<Right> {
        let names: Vec<Option<&String>> = match &rule.resource_names {
            Some(names) if !names.is_empty() => names.iter().map(Some).collect(),
            _ => vec![None],
        };
        let mut all = vec![];
        for group in rule.api_groups.iter().flatten() {
            for resource in rule.resources.iter().flatten() {
                for verb in &rule.verbs {
                    all.extend(names.iter().map(|name| Right {
                        namespace: namespace.map(str::to_owned),
                        group: group.clone(),
                        resource: resource.clone(),
                        verb: verb.clone(),
                        name: name.cloned(),
                    }));
                }
            }
        }
        all
    }
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let group = if self.group.is_empty() { "core" } else { &self.group };
        write!(f, "{} {group}/{}", self.verb, self.resource)?;
        self.name.iter().try_for_each(|name| write!(f, " `{name}`"))?;
        self.namespace.iter().try_for_each(|namespace| write!(f, " in {namespace}"))
    }
}

impl Rights {
    /// All of them, one by one.
    pub fn single(&self) -> impl Iterator<Item = Right> {
        let everywhere = self.cluster.iter().flat_map(|rule| Right::of(None, rule));
        let within = self.namespaces.iter().flat_map(|(namespace, rules)| {
            rules.iter().flat_map(move |rule| Right::of(Some(namespace), rule))
        });
        everywhere.chain(within)
    }
}
