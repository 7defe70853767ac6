//! The lists of subscriptions that users see.

use super::{Caller, Subscription};

/// Those the caller may use and that serve, by name.
pub fn accessible<S: AsRef<Subscription> + Clone>(all: &[S], caller: Caller<'_>) -> Vec<S> {
    let mut chosen: Vec<S> =
        all.iter().filter(|s| s.as_ref().admits(caller) && s.as_ref().is_serving()).cloned().collect();
    chosen.sort_by(|a, b| a.as_ref().name.cmp(&b.as_ref().name));
    chosen
}

/// Of these, the ones with a model of that name, in whatever namespace.
pub fn containing_model<S: AsRef<Subscription> + Clone>(
    all: &[S],
    caller: Caller<'_>,
    model: &str,
) -> Vec<S> {
    let mut chosen = accessible(all, caller);
    chosen.retain(|s| s.as_ref().model_refs.iter().any(|r| r.name == model));
    chosen
}
