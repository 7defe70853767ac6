//! Nobody may grant what they do not hold.

use std::collections::{BTreeMap, BTreeSet};

use crate::auth::go_list;
use crate::hooks::User;

use super::Rule;

/// The rights that would be granted but are not held.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("user {user:?} (groups={}) is attempting to grant RBAC permissions not currently held:\n{}", go_list(.groups), .rules.join("\n"))]
pub struct NotHeld {
    user: String,
    groups: Vec<String>,
    rules: Vec<String>,
}

impl NotHeld {
    /// Compares what a user holds with what would be granted.
    pub fn check(user: &User, held: &[Rule], granted: &[Rule]) -> Result<(), NotHeld> {
        let missing = missing_rules(held, granted);
        if missing.is_empty() {
            return Ok(());
        }
        let rules: BTreeSet<String> = missing.iter().map(Rule::compact).collect();
        Err(Self { user: user.name.clone(), groups: user.groups.clone(), rules: rules.into_iter().collect() })
    }
}

/// What of `granted` no single rule of `held` covers, verbs on the same resource joined.
pub fn missing_rules(held: &[Rule], granted: &[Rule]) -> Vec<Rule> {
    let mut resources: BTreeMap<(String, String, Vec<String>), Rule> = BTreeMap::new();
    let mut paths = vec![];
    for part in granted.iter().flat_map(parts).filter(|part| !held.iter().any(|own| own.covers(part))) {
        let (Some(group), Some(resource)) = (part.api_groups.first(), part.resources.first()) else {
            paths.push(part);
            continue;
        };
        let key = (group.clone(), resource.clone(), part.resource_names.clone());
        match resources.get_mut(&key) {
            Some(rule) => rule.verbs.extend(part.verbs),
            None => {
                resources.insert(key, part);
            }
        }
    }
    paths.into_iter().chain(resources.into_values()).collect()
}

/// A rule taken apart into one verb on one resource, object or path each.
fn parts(rule: &Rule) -> Vec<Rule> {
    let mut parts = vec![];
    for verb in &rule.verbs {
        let verbs = vec![verb.clone()];
        for url in &rule.non_resource_urls {
            parts.push(Rule {
                verbs: verbs.clone(),
                non_resource_urls: vec![url.clone()],
                ..Rule::default()
            });
        }
        for group in &rule.api_groups {
            for resource in &rule.resources {
                let part = Rule {
                    verbs: verbs.clone(),
                    api_groups: vec![group.clone()],
                    resources: vec![resource.clone()],
                    ..Rule::default()
                };
                if rule.resource_names.is_empty() {
                    parts.push(part.clone());
                }
                for name in &rule.resource_names {
                    parts.push(Rule { resource_names: vec![name.clone()], ..part.clone() });
                }
            }
        }
    }
    parts
}
