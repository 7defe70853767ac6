//! The rights that follow from the wiring, and no others: never `*`, `escalate` or `bind`.

mod compare;
mod holder;
mod objects;
mod reserve;
mod single;

pub use compare::{Because, Original, compare};
pub use holder::Holder;
pub use objects::RightsObjects;
pub use reserve::Reserve;
pub use single::Right;

use crate::desired::WritePolicy;
use crate::kind::Gvk;
use crate::wiring::{ControllerRows, Edge, Origin, SystemRows, WriteRow};
use k8s_openapi::api::rbac::v1::PolicyRule;
use std::collections::{BTreeMap, BTreeSet};

/// The rights of a system: everywhere, and in single namespaces.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rights {
    /// For a ClusterRole.
    pub cluster: Vec<PolicyRule>,
    /// For a Role in each of these namespaces.
    pub namespaces: BTreeMap<String, Vec<PolicyRule>>,
}

/// The rights that a system needs to do what its rows say.
#[must_use]
pub fn rights(system: &SystemRows) -> Rights {
    let mut needed = Needed::default();
    for controller in &system.controllers {
        needed.controller(controller);
    }
    needed.rights()
}

/// A resource in a scope, and the names it is limited to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Resource {
    namespace: Option<String>,
    group: String,
    resource: String,
    names: Vec<String>,
}

#[derive(Default)]
struct Needed {
    verbs: BTreeMap<Resource, BTreeSet<&'static str>>,
    grants: Vec<(Option<String>, PolicyRule)>,
}

impl Needed {
    fn controller(&mut self, rows: &ControllerRows) {
        for row in &rows.watches {
            let verbs: &[&'static str] =
                if row.fetched { &["get", "list", "watch"] } else { &["list", "watch"] };
            self.need(row.select.namespace.as_deref(), &row.kind, "", &[], verbs);
            if !row.kind.is_builtin() {
                let definitions = Gvk {
                    group: "apiextensions.k8s.io".into(),
                    version: "v1".into(),
                    kind: "CustomResourceDefinition".into(),
                    plural: "customresourcedefinitions".into(),
                };
                self.need(None, &definitions, "", &[], &["list", "watch"]);
            }
        }
        for row in &rows.reads {
            let verbs: &[&'static str] = if row.lists { &["get", "list"] } else { &["get"] };
            self.need(row.namespace.as_deref(), &row.kind, &row.subresource, &row.names, verbs);
        }
        for row in rows.writes.iter().filter(|row| row.origin == Origin::Controller) {
            self.write(row);
        }
        // To own a child with blockOwnerDeletion, one must be allowed to set the owner's finalizers.
        let owns = rows.watches.iter().any(|row| row.edge == Edge::Owns);
        for row in rows.watches.iter().filter(|row| owns && row.edge == Edge::For) {
            self.need(row.select.namespace.as_deref(), &row.kind, "finalizers", &[], &["update"]);
        }
        if rows.events {
            let events = Gvk {
                group: "events.k8s.io".into(),
                version: "v1".into(),
                kind: "Event".into(),
                plural: "events".into(),
            };
            self.need(None, &events, "", &[], &["create", "patch"]);
        }
        for grant in &rows.grants {
            self.grants.push((grant.namespace.clone(), grant.rule.clone()));
        }
    }

    fn write(&mut self, row: &WriteRow) {
        let (creates, changes): (bool, &[&'static str]) = match row.policy {
            WritePolicy::Apply => (true, &["get", "patch"]),
            WritePolicy::Exclusive(_) | WritePolicy::Update => (true, &["get", "update"]),
            WritePolicy::CreateOnly => (true, &["get"]),
            WritePolicy::PatchForeign(_) if row.subresource.is_empty() => (false, &["get", "patch"]),
            WritePolicy::PatchForeign(_) => (false, &["patch"]),
        };
        let place = row.namespace.as_deref();
        self.need(place, &row.kind, &row.subresource, &row.names, changes);
        if creates {
            self.need(place, &row.kind, &row.subresource, &[], &["create"]); // a name to come cannot be checked
        }
        if row.deletes {
            self.need(place, &row.kind, &row.subresource, &row.names, &["delete"]);
        }
    }

    fn need(
        &mut self,
        namespace: Option<&str>,
        kind: &Gvk,
        subresource: &str,
        names: &[String],
        verbs: &[&'static str],
    ) {
        let plural = &kind.plural;
        let resource =
            if subresource.is_empty() { plural.clone() } else { format!("{plural}/{subresource}") };
        let mut names = names.to_vec();
        names.sort();
        let key =
            Resource { namespace: namespace.map(str::to_owned), group: kind.group.clone(), resource, names };
        self.verbs.entry(key).or_default().extend(verbs);
    }

    fn rights(mut self) -> Rights {
        self.drop_covered();
        // Resources of a group with the same names and verbs share a rule.
        let mut rules: BTreeMap<(Resource, BTreeSet<&str>), Vec<String>> = BTreeMap::new();
        for (mut key, verbs) in self.verbs {
            let resource = std::mem::take(&mut key.resource);
            rules.entry((key, verbs)).or_default().push(resource);
        }
        let mut rights = Rights::default();
        let mut rules: Vec<_> = rules.into_iter().collect();
        rules.sort_by(|((a, _), mine), ((b, _), theirs)| {
            (&a.group, mine, &a.names).cmp(&(&b.group, theirs, &b.names))
        });
        for ((key, verbs), resources) in rules {
            let rule = PolicyRule {
                api_groups: Some(vec![key.group]),
                resources: Some(resources),
                resource_names: (!key.names.is_empty()).then_some(key.names),
                verbs: verbs.into_iter().map(str::to_owned).collect(),
                ..PolicyRule::default()
            };
            rights.add(key.namespace, rule);
        }
        for (namespace, rule) in self.grants {
            let within = namespace.as_ref().and_then(|namespace| rights.namespaces.get(namespace));
            if !rights.cluster.iter().chain(within.into_iter().flatten()).any(|known| *known == rule) {
                rights.add(namespace, rule);
            }
        }
        rights
    }

    /// Drops what a wider right gives already: the same verb everywhere, or for every name.
    fn drop_covered(&mut self) {
        let all = self.verbs.clone();
        for (key, verbs) in &mut self.verbs {
            let wider = |other: &Resource| {
                other != key
                    && other.group == key.group
                    && other.resource == key.resource
                    && (other.namespace.is_none() || other.namespace == key.namespace)
                    && (other.names.is_empty() || other.names == key.names)
            };
            for (_, given) in all.iter().filter(|(other, _)| wider(other)) {
                verbs.retain(|verb| !given.contains(verb));
            }
        }
        self.verbs.retain(|_, verbs| !verbs.is_empty());
    }
}

impl Rights {
    fn add(&mut self, namespace: Option<String>, rule: PolicyRule) {
        match namespace {
            None => self.cluster.push(rule),
            Some(namespace) => self.namespaces.entry(namespace).or_default().push(rule),
        }
    }
}
