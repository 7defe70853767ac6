//! Which subscription a request runs under.
//!
//! | # | condition, first match counts | result |
//! |---|---|---|
//! | 1 | neither groups nor user name | [`SelectError::NoCaller`] |
//! | 2 | no subscription at all | [`SelectError::NoSubscription`] |
//! | | **one is asked for** (`namespace/name`, or a bare name) | |
//! | 3 | it does not exist | [`SelectError::NotFound`] |
//! | 4 | the caller may not use it | [`SelectError::AccessDenied`] |
//! | 5 | it lacks the model | [`SelectError::ModelNotInSubscription`] |
//! | 6 | it cannot be used right now | [`SelectError::Unhealthy`] |
//! | 7 | otherwise | that one |
//! | | **none is asked for** | |
//! | 8 | none the caller may use has the model | [`SelectError::NoSubscription`] |
//! | 9 | two or more have | [`SelectError::Multiple`]; priority does not pick one |
//! | 10 | one has, but cannot be used right now | [`SelectError::Unhealthy`] |
//! | 11 | one has | that one |
//!
//! A subscription that is being deleted can be selected: the answer says so, and the gateway denies it.

use super::{Caller, Subscription, Unhealthy};

/// Why no subscription was selected. The texts reach clients.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum SelectError {
    /// Nobody asks.
    #[error("either groups or username must be provided")]
    NoCaller,
    /// None fits.
    #[error("no matching subscription found for user")]
    NoSubscription,
    /// The one asked for does not exist.
    #[error("requested subscription not found")]
    NotFound,
    /// The one asked for is not the caller's.
    #[error("access denied to requested subscription")]
    AccessDenied,
    /// Several fit. Their names, by priority.
    #[error(
        "user has access to multiple subscriptions, must specify subscription using X-MaaS-Subscription header"
    )]
    Multiple(Vec<String>),
    /// The one asked for has not got the model.
    #[error("subscription {requested} does not include model {model}")]
    ModelNotInSubscription {
        /// The subscription, as asked for.
        requested: String,
        /// The model, as asked for.
        model: String,
    },
    /// The one that fits cannot be used right now.
    #[error(transparent)]
    Unhealthy(#[from] Unhealthy),
}

/// Chooses by the table above. An empty `requested` or `model` stands for none.
pub fn select<S: AsRef<Subscription> + Clone>(
    all: &[S],
    caller: Caller<'_>,
    requested: &str,
    model: &str,
) -> Result<S, SelectError> {
    check_inputs(all, caller)?;
    if requested.is_empty() { choose(all, caller, model) } else { named(all, caller, requested, model) }
}

/// The one a new key is bound to when its owner names none: of those the caller may use, the first by priority that
/// will last. A failed or vanishing one would make a key that never works.
pub fn highest_priority<S: AsRef<Subscription> + Clone>(
    all: &[S],
    caller: Caller<'_>,
) -> Result<S, SelectError> {
    check_inputs(all, caller)?;
    let mut candidates: Vec<&S> = all.iter().filter(|s| s.as_ref().admits(caller)).collect();
    candidates.sort_by(|a, b| a.as_ref().by_priority(b.as_ref()));
    let first = candidates.first().ok_or(SelectError::NoSubscription)?;
    match candidates.iter().find(|s| s.as_ref().check_lasting().is_ok()) {
        Some(chosen) => Ok((*chosen).clone()),
        None => Err(first.as_ref().check_lasting().expect_err("no candidate lasts").into()),
    }
}

fn check_inputs<S>(all: &[S], caller: Caller<'_>) -> Result<(), SelectError> {
    match (caller.groups.is_empty() && caller.username.is_empty(), all.is_empty()) {
        (true, _) => Err(SelectError::NoCaller),
        (_, true) => Err(SelectError::NoSubscription),
        _ => Ok(()),
    }
}

fn named<S: AsRef<Subscription> + Clone>(
    all: &[S],
    caller: Caller<'_>,
    requested: &str,
    model: &str,
) -> Result<S, SelectError> {
    let qualified = || {
        let (namespace, name) = requested.split_once('/')?;
        all.iter().find(|s| s.as_ref().namespace == namespace && s.as_ref().name == name)
    };
    let bare = || all.iter().find(|s| s.as_ref().name == requested);
    let chosen = qualified().or_else(bare).ok_or(SelectError::NotFound)?;
    let subscription = chosen.as_ref();
    if !subscription.admits(caller) {
        return Err(SelectError::AccessDenied);
    }
    check_health(subscription, model, || SelectError::ModelNotInSubscription {
        requested: requested.into(),
        model: model.into(),
    })?;
    Ok(chosen.clone())
}

fn choose<S: AsRef<Subscription> + Clone>(
    all: &[S],
    caller: Caller<'_>,
    model: &str,
) -> Result<S, SelectError> {
    let fits = |s: &&S| s.as_ref().admits(caller) && (model.is_empty() || s.as_ref().model(model).is_some());
    let mut candidates: Vec<&S> = all.iter().filter(fits).collect();
    match candidates.as_slice() {
        [] => Err(SelectError::NoSubscription),
        [only] => {
            check_health(only.as_ref(), model, || SelectError::NoSubscription)?;
            Ok((*only).clone())
        }
        _ => {
            candidates.sort_by(|a, b| a.as_ref().by_priority(b.as_ref()));
            Err(SelectError::Multiple(candidates.iter().map(|s| s.as_ref().name.clone()).collect()))
        }
    }
}

fn check_health(
    subscription: &Subscription,
    model: &str,
    lacks_model: impl FnOnce() -> SelectError,
) -> Result<(), SelectError> {
    if model.is_empty() {
        return Ok(subscription.check_bindable()?);
    }
    let model = subscription.model(model).ok_or_else(lacks_model)?;
    Ok(subscription.check_usable(model)?)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::super::{ModelRef, RateLimitStatus, TokenRateLimit};
    use super::*;

    /// A subscription in `ns` of the group of its own name's first letters up to `-`, with these models.
    fn subscription(name: &str, phase: &str, models: &[&str]) -> Subscription {
        Subscription {
            name: name.into(),
            namespace: "ns".into(),
            groups: vec!["team".into()],
            phase: phase.into(),
            model_refs: models
                .iter()
                .map(|m| m.split_once('/').expect("namespace/name"))
                .map(|(namespace, name)| ModelRef {
                    name: name.into(),
                    namespace: namespace.into(),
                    token_rate_limits: vec![TokenRateLimit { limit: 100, window: "1m".into() }],
                    billing_rate: None,
                })
                .collect(),
            ..Default::default()
        }
    }

    fn others(mut s: Subscription) -> Subscription {
        s.groups = vec!["others".into()];
        s
    }

    fn with_status(mut s: Subscription, model: &str, namespace: &str, ready: bool) -> Subscription {
        s.rate_limit_statuses.push(RateLimitStatus {
            model: model.into(),
            namespace: namespace.into(),
            ready,
        });
        s
    }

    fn run(all: Vec<Subscription>, requested: &str, model: &str) -> Result<String, String> {
        let all: Vec<Arc<Subscription>> = all.into_iter().map(Arc::new).collect();
        let groups = ["team".to_owned()];
        select(&all, Caller { username: "alice", groups: &groups }, requested, model)
            .map(|s| s.name.clone())
            .map_err(|error| error.to_string())
    }

    const NONE: &str = "no matching subscription found for user";
    const NOT_FOUND: &str = "requested subscription not found";
    const DENIED: &str = "access denied to requested subscription";
    const MANY: &str = "user has access to multiple subscriptions, must specify subscription using X-MaaS-Subscription header";
    const LIMITS: &str = "subscription rate limiting policies are not ready";

    #[test]
    fn decision_table() {
        let gold = || subscription("gold", "Active", &["llm/llama"]);
        let silver = || subscription("silver", "Active", &["models/llm", "llm/llama"]);
        let degraded = || subscription("worn", "Degraded", &["llm/llama", "llm/opt"]);
        let err = |text: &str| Err(text.to_owned());
        let ok = |name: &str| Ok(name.to_owned());
        let table = [
            ("no subscription at all", vec![], "", "", err(NONE)),
            ("no subscription at all, one asked for", vec![], "gold", "", err(NONE)),
            // one is asked for
            ("by name", vec![gold(), silver()], "gold", "llm/llama", ok("gold")),
            ("by namespace and name", vec![gold(), silver()], "ns/silver", "llm/llama", ok("silver")),
            ("without a model", vec![gold()], "gold", "", ok("gold")),
            ("wrong namespace", vec![gold()], "other/gold", "", err(NOT_FOUND)),
            ("unknown", vec![gold()], "nope", "", err(NOT_FOUND)),
            ("empty name", vec![gold()], "/", "", err(NOT_FOUND)),
            ("not the caller's", vec![others(gold())], "gold", "llm/llama", err(DENIED)),
            ("denial goes before a missing model", vec![others(gold())], "gold", "llm/none", err(DENIED)),
            (
                "lacks the model",
                vec![silver()],
                "silver",
                "models/other",
                err("subscription silver does not include model models/other"),
            ),
            (
                "asked for with a namespace, the text shows it as asked",
                vec![silver()],
                "ns/silver",
                "x/y",
                err("subscription ns/silver does not include model x/y"),
            ),
            (
                "a model without a namespace is in none",
                vec![gold()],
                "gold",
                "llama",
                err("subscription gold does not include model llama"),
            ),
            (
                "the missing model goes before health",
                vec![subscription("gold", "Failed", &["llm/llama"])],
                "gold",
                "llm/none",
                err("subscription gold does not include model llm/none"),
            ),
            // none is asked for
            ("the only one", vec![gold(), others(silver())], "", "llm/llama", ok("gold")),
            ("the only one with the model", vec![gold(), silver()], "", "models/llm", ok("silver")),
            ("none has the model", vec![gold(), silver()], "", "models/none", err(NONE)),
            ("none is the caller's", vec![others(gold())], "", "", err(NONE)),
            ("a bare model is in none", vec![gold()], "", "llama", err(NONE)),
            ("two have it", vec![gold(), silver()], "", "llm/llama", err(MANY)),
            (
                "an unhealthy one counts",
                vec![gold(), subscription("bad", "Failed", &["llm/llama"])],
                "",
                "llm/llama",
                err(MANY),
            ),
            // health, without a model
            ("pending binds", vec![subscription("s", "Pending", &[])], "s", "", ok("s")),
            ("degraded binds", vec![subscription("s", "Degraded", &[])], "s", "", ok("s")),
            ("an unknown phase binds", vec![subscription("s", "Odd", &[])], "s", "", ok("s")),
            (
                "failed does not bind",
                vec![subscription("s", "Failed", &[])],
                "s",
                "",
                err("subscription is in Failed phase (cannot create API keys)"),
            ),
            (
                "unreconciled does not bind",
                vec![subscription("s", "", &[])],
                "",
                "",
                err("subscription is unreconciled (no status.phase set)"),
            ),
            // health, with a model
            (
                "pending serves nothing",
                vec![subscription("s", "Pending", &["llm/llama"])],
                "",
                "llm/llama",
                err("subscription is in Pending phase (allowed: Active, Degraded)"),
            ),
            (
                "unreconciled serves nothing",
                vec![subscription("s", "", &["llm/llama"])],
                "s",
                "llm/llama",
                err("subscription is in unreconciled phase (allowed: Active, Degraded)"),
            ),
            (
                "active does not look at limits",
                vec![with_status(gold(), "llama", "llm", false)],
                "",
                "llm/llama",
                ok("gold"),
            ),
            ("degraded, no status", vec![degraded()], "", "llm/llama", err(LIMITS)),
            (
                "degraded, not ready",
                vec![with_status(degraded(), "llama", "llm", false)],
                "",
                "llm/llama",
                err(LIMITS),
            ),
            (
                "degraded, ready",
                vec![with_status(degraded(), "llama", "llm", true)],
                "",
                "llm/llama",
                ok("worn"),
            ),
            (
                "degraded, ready, namespace unsaid",
                vec![with_status(degraded(), "llama", "", true)],
                "",
                "llm/llama",
                ok("worn"),
            ),
            (
                "degraded, another model is ready",
                vec![with_status(with_status(degraded(), "llama", "llm", false), "opt", "llm", true)],
                "",
                "llm/opt",
                ok("worn"),
            ),
            (
                "degraded, a namesake elsewhere is ready",
                vec![with_status(with_status(degraded(), "llama", "else", true), "llama", "llm", false)],
                "",
                "llm/llama",
                err(LIMITS),
            ),
            (
                "degraded, no limits to wait for",
                vec![{
                    let mut s = degraded();
                    s.model_refs[0].token_rate_limits.clear();
                    s
                }],
                "",
                "llm/llama",
                ok("worn"),
            ),
            (
                "one being deleted is selected all the same",
                vec![Subscription { deletion_timestamp: Some("2026-01-01T00:00:00Z".into()), ..gold() }],
                "",
                "llm/llama",
                ok("gold"),
            ),
        ];
        for (case, all, requested, model, expected) in table {
            assert_eq!(run(all, requested, model), expected, "{case}");
        }
    }

    #[test]
    fn nobody_gets_nothing() {
        let all = [Arc::new(subscription("gold", "Active", &[]))];
        let nobody = Caller { username: "", groups: &[] };
        assert_eq!(select(&all, nobody, "", ""), Err(SelectError::NoCaller));
        assert_eq!(select(&all[..0], nobody, "", ""), Err(SelectError::NoCaller));
        assert_eq!(highest_priority(&all, nobody), Err(SelectError::NoCaller));
    }

    #[test]
    fn access_is_exact() {
        let mut s = subscription("gold", "Active", &[]);
        s.users = vec!["alice".into(), String::new()];
        let groups = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
        for (username, names, expected) in [
            ("alice", &[][..], true),
            ("Alice", &[][..], false),
            ("bob", &["team"][..], true),
            ("bob", &[" team "][..], true),
            ("bob", &["Team", "team2", "*"][..], false),
            ("", &["x"][..], false),
        ] {
            let groups = groups(names);
            assert_eq!(s.admits(Caller { username, groups: &groups }), expected, "{username} {names:?}");
        }
    }

    #[test]
    fn several_are_named_by_priority() {
        let ranked = |name: &str, priority, limit| Subscription {
            priority,
            model_refs: vec![ModelRef {
                name: "llama".into(),
                namespace: "llm".into(),
                token_rate_limits: vec![TokenRateLimit { limit, window: "1m".into() }],
                billing_rate: None,
            }],
            ..subscription(name, "Active", &[])
        };
        let all: Vec<_> =
            [ranked("d", 1, 5), ranked("c", 1, 5), ranked("b", 1, 9), ranked("a", 0, 99), ranked("e", 7, 0)]
                .into_iter()
                .map(Arc::new)
                .collect();
        let groups = ["team".to_owned()];
        let caller = Caller { username: "", groups: &groups };
        let names = ["e", "b", "c", "d", "a"].map(str::to_owned).to_vec();
        assert_eq!(select(&all, caller, "", "llm/llama"), Err(SelectError::Multiple(names)));
        assert_eq!(highest_priority(&all, caller).expect("one").name, "e");
    }

    #[test]
    fn a_key_is_never_bound_to_what_will_not_work() {
        let ranked =
            |name: &str, priority, phase: &str| Subscription { priority, ..subscription(name, phase, &[]) };
        let groups = ["team".to_owned()];
        let caller = Caller { username: "alice", groups: &groups };
        let mut all = vec![
            Arc::new(ranked("failed", 9, "Failed")),
            Arc::new(ranked("new", 8, "")),
            Arc::new(Subscription {
                deletion_timestamp: Some("2026-01-01T00:00:00Z".into()),
                ..ranked("leaving", 7, "Active")
            }),
            Arc::new(others(ranked("foreign", 6, "Active"))),
            Arc::new(ranked("good", 1, "Pending")),
        ];
        assert_eq!(highest_priority(&all, caller).expect("one").name, "good");
        all.pop();
        let error = highest_priority(&all, caller).expect_err("none lasts");
        assert_eq!(error.to_string(), "subscription is in Failed phase (cannot create API keys)");
        assert_eq!(highest_priority(&all[3..], caller), Err(SelectError::NoSubscription));
    }

    proptest! {
        /// Whatever there is: what is selected is the caller's, and has the model.
        #[test]
        fn a_selection_is_always_allowed(
            shape in prop::collection::vec((any::<bool>(), 0..4_usize, 0..5_usize), 0..6),
            requested in prop::sample::select(vec!["", "s0", "s1", "ns/s2", "nope"]),
            model in prop::sample::select(vec!["", "m/0", "m/1", "bare"]),
        ) {
            let phases = ["", "Pending", "Active", "Degraded", "Failed"];
            let all: Vec<_> = shape.iter().enumerate().map(|(i, (mine, models, phase))| {
                let models: Vec<String> = (0..*models).map(|m| format!("m/{m}")).collect();
                let models: Vec<&str> = models.iter().map(String::as_str).collect();
                let s = subscription(&format!("s{i}"), phases[*phase], &models);
                Arc::new(if *mine { s } else { others(s) })
            }).collect();
            let groups = ["team".to_owned()];
            let caller = Caller { username: "alice", groups: &groups };
            if let Ok(chosen) = select(&all, caller, requested, model) {
                prop_assert!(chosen.admits(caller));
                prop_assert!(model.is_empty() || chosen.model(model).is_some());
                prop_assert!(chosen.phase != "Failed" && !chosen.phase.is_empty());
            }
            if let Ok(chosen) = highest_priority(&all, caller) {
                prop_assert!(chosen.admits(caller) && chosen.check_lasting().is_ok());
            }
        }
    }
}
