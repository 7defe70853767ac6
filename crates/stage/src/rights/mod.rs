//! Which of an operator's rights its scenarios use, and which nobody needs.
//!
//! Tests run one by one and know nothing of each other, so each notes what was asked of its plane. [`judge`] has all of
//! them played in a process of its own and compares that with what the operator may do: it judges the whole suite or does
//! not judge, whichever tests were selected, and a scenario whose notes got lost makes rights look idle, never used.

mod given;
mod notes;
mod usage;

use std::collections::BTreeSet;

use quintet_kit::{
    System,
    install::{Platform, Site},
    rights::{Reserve, Right, rights},
};

use crate::{Play, Server};

pub use usage::Use;

/// Notes what the operator has asked of this server, if anybody wants to know.
pub(crate) fn note_asked(server: &Server, play: &Play) {
    if let Server::Plane(plane) = server
        && notes::are_taken()
    {
        notes::take(Use::of_plane(plane, &play.identity().name));
    }
}

/// Notes which rights the operator gives away just now.
pub(crate) async fn note_given(server: &Server, play: &Play) {
    if let Server::Plane(plane) = server
        && notes::are_taken()
    {
        notes::take(given::given(plane, &play.identity().name).await);
    }
}

/// Plays every scenario of this test program but those whose names contain one of `except`, and looks whether each right
/// of the system was used, or is held for a reason that its install names ([`Reserve`]). With other settings a system has
/// other rights: those of all that are given are judged.
///
/// # Panics
/// If a right was not, if a reason is for nothing, or if a scenario fails.
pub fn judge<S: System>(systems: &[S], except: &[&str]) {
    let site = Site {
        namespace: "home".into(),
        image: "image".into(),
        platform: Platform::OpenShift,
        webhook_url: None,
    };
    let installed = |system: &S| system.install(&site).expect("an operator that is installed");
    let reserves = installed(systems.first().expect("a system")).reserves;
    let held: BTreeSet<Right> =
        systems.iter().flat_map(|system| rights(&system.rows()).single().collect::<Vec<_>>()).collect();
    let idle = unused(&held, &notes::of_all_others(except));
    explain(&idle, reserves).unwrap_or_else(|why| panic!("{why}"));
}

/// The rights that let none of these requests through.
pub fn unused(held: &BTreeSet<Right>, used: &BTreeSet<Use>) -> BTreeSet<Right> {
    held.iter().filter(|right| !used.iter().any(|one| one.needs(right))).cloned().collect()
}

/// Every right that is idle has a reason, and every reason is one's.
fn explain(idle: &BTreeSet<Right>, reserves: &[Reserve]) -> Result<(), String> {
    let unexplained: Vec<String> = idle
        .iter()
        .filter(|right| !reserves.iter().any(|reserve| reserve.explains(right)))
        .map(Right::to_string)
        .collect();
    let is_stale = |reserve: &&Reserve| {
        let is_idle = |verb: &&str| idle.iter().any(|right| reserve.explains(right) && right.verb == **verb);
        !reserve.verbs.iter().all(is_idle)
    };
    let stale: Vec<&str> = reserves.iter().filter(is_stale).map(|reserve| reserve.resource).collect();
    if unexplained.is_empty() && stale.is_empty() {
        return Ok(());
    }
    Err(format!(
        "no scenario uses these, and nobody says why they are held: {unexplained:#?}\n\
         a reason is given for these, and they are used or not held: {stale:#?}"
    ))
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::rbac::v1::PolicyRule;

    use super::*;

    fn asked(verb: &str, namespace: &str, name: &str) -> Use {
        Use {
            verb: verb.into(),
            group: "apps".into(),
            resource: "deployments".into(),
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    /// `get` and `delete` of a and b; used: `get` of both, but of b in another namespace, and `delete` of a.
    fn idle(namespace: Option<&str>) -> BTreeSet<Right> {
        let rule = PolicyRule {
            api_groups: Some(vec!["apps".into()]),
            resources: Some(vec!["deployments".into()]),
            resource_names: Some(vec!["a".into(), "b".into()]),
            verbs: vec!["get".into(), "delete".into()],
            ..PolicyRule::default()
        };
        let used =
            [asked("get", "home", "a"), asked("delete", "home", "a"), asked("get", "away", "b")].into();
        unused(&Right::of(namespace, &rule).into_iter().collect(), &used)
    }

    #[test]
    fn a_right_that_no_request_needed_is_told() {
        let told = |namespace| idle(namespace).iter().map(Right::to_string).collect::<Vec<_>>();
        assert_eq!(told(None), ["delete apps/deployments `b`"]);
        assert_eq!(
            told(Some("home")),
            ["delete apps/deployments `b` in home", "get apps/deployments `b` in home"]
        );
    }

    #[test]
    fn an_idle_right_needs_a_reason_and_a_reason_an_idle_right() {
        let reserve = |verbs: &'static [&'static str]| Reserve {
            group: "apps",
            resource: "deployments",
            verbs,
            why: "x",
        };
        assert_eq!(explain(&idle(None), &[reserve(&["delete"])]), Ok(()));
        let unexplained = explain(&idle(None), &[]).unwrap_err();
        assert!(unexplained.contains("delete apps/deployments `b`"), "{unexplained}");
        let stale = explain(&idle(None), &[reserve(&["delete", "get"])]).unwrap_err();
        assert!(stale.contains("used or not held: [\n    \"deployments\""), "{stale}");
    }
}
