//! Our rights beside the original's, for people who have to approve them.

use super::Rights;
use k8s_openapi::api::rbac::v1::PolicyRule;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// One right of the original's role, as its manifests list it.
#[derive(Clone, Copy, Debug)]
pub struct Original {
    /// True if it holds in the operator's own namespace only.
    pub own_namespace: bool,
    /// The API group.
    pub group: &'static str,
    /// Resources.
    pub resources: &'static [&'static str],
    /// Verbs.
    pub verbs: &'static [&'static str],
}

/// Why ours differ for a resource.
#[derive(Clone, Copy, Debug)]
pub struct Because {
    /// The resource, with its subresource.
    pub resource: &'static str,
    /// The reason.
    pub why: &'static str,
}

type Verbs = BTreeSet<String>;
/// By scope, group, resource.
type Table = BTreeMap<(&'static str, String, String), Verbs>;

/// A table for people: a row per resource with the original's verbs, ours, and why they differ.
///
/// # Errors
/// Names the first resource that differs and has no reason.
pub fn compare(ours: &Rights, originals: &[Original], reasons: &[Because]) -> Result<String, String> {
    let (ours, theirs) = (table(ours), original(originals));
    let rows: BTreeSet<_> = ours.keys().chain(theirs.keys()).cloned().collect();
    let mut text =
        String::from("| scope | group | resource | original | ours | why |\n|---|---|---|---|---|---|\n");
    let none = Verbs::new();
    for key in rows {
        let (our, their) = (ours.get(&key).unwrap_or(&none), theirs.get(&key).unwrap_or(&none));
        let (scope, group, resource) = &key;
        let bare = resource.split(" `").next().unwrap_or_default();
        let why = match reasons.iter().find(|because| because.resource == bare) {
            _ if our == their => "",
            Some(because) => because.why,
            None => {
                return Err(format!(
                    "{scope} {group}/{resource}: {their:?} became {our:?} and nobody says why"
                ));
            }
        };
        let group = if group.is_empty() { "core" } else { group };
        let _ =
            writeln!(text, "| {scope} | {group} | {resource} | {} | {} | {why} |", list(their), list(our));
    }
    Ok(text)
}

fn list(verbs: &Verbs) -> String {
    verbs.iter().map(String::as_str).collect::<Vec<_>>().join(" ")
}

fn table(rights: &Rights) -> Table {
    let mut table = Table::new();
    let cluster = rights.cluster.iter().map(|rule| ("cluster", rule));
    let own = rights.namespaces.values().flatten().map(|rule| ("namespace", rule));
    for (scope, rule) in cluster.chain(own) {
        add(&mut table, scope, rule);
    }
    table
}

fn add(table: &mut Table, scope: &'static str, rule: &PolicyRule) {
    let names = rule.resource_names.as_deref().unwrap_or_default();
    let only = if names.is_empty() { String::new() } else { format!(" `{}`", names.join("`, `")) };
    for group in rule.api_groups.iter().flatten() {
        for resource in rule.resources.iter().flatten() {
            let key = (scope, group.clone(), format!("{resource}{only}"));
            table.entry(key).or_default().extend(rule.verbs.iter().cloned());
        }
    }
}

fn original(originals: &[Original]) -> Table {
    let mut table = Table::new();
    for right in originals {
        let scope = if right.own_namespace { "namespace" } else { "cluster" };
        for resource in right.resources {
            let key = (scope, right.group.to_owned(), (*resource).to_owned());
            table.entry(key).or_default().extend(right.verbs.iter().map(|&verb| verb.to_owned()));
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: Original = Original {
        own_namespace: true,
        group: "",
        resources: &["services", "secrets"],
        verbs: &["get", "list"],
    };

    fn ours() -> Rights {
        let rule = PolicyRule {
            api_groups: Some(vec![String::new()]),
            resources: Some(vec!["services".into()]),
            verbs: vec!["get".into(), "list".into()],
            ..PolicyRule::default()
        };
        Rights { cluster: vec![], namespaces: [("home".to_owned(), vec![rule])].into() }
    }

    #[test]
    fn a_difference_needs_a_reason() {
        let error = compare(&ours(), &[READ], &[]).unwrap_err();
        assert!(error.contains("secrets"), "{error}");
        let page = compare(&ours(), &[READ], &[Because { resource: "secrets", why: "never read" }]).unwrap();
        assert!(page.contains("| namespace | core | secrets | get list |  | never read |"), "{page}");
        assert!(page.contains("| namespace | core | services | get list | get list |  |"), "{page}");
    }
}
