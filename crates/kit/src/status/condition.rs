//! Conditions that keep their transition time.

use crate::clock::{Clock, whole_seconds};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

/// What setting a condition needs to know. Implement it for condition types other than Kubernetes' own.
pub trait ConditionLike {
    /// The condition's type.
    fn type_(&self) -> &str;
    /// `True`, `False` or `Unknown`.
    fn status(&self) -> &str;
    /// When the status last changed.
    fn transition(&self) -> Option<Time>;
    /// Says when the status last changed.
    fn set_transition(&mut self, time: Time);
}

impl ConditionLike for Condition {
    fn type_(&self) -> &str {
        &self.type_
    }
    fn status(&self) -> &str {
        &self.status
    }
    fn transition(&self) -> Option<Time> {
        Some(self.last_transition_time.clone())
    }
    fn set_transition(&mut self, time: Time) {
        self.last_transition_time = time;
    }
}

/// Puts a condition in its place: a known type is replaced where it stands and keeps its time unless the status
/// changed, a new one goes to the end. Times are cut to whole seconds, as they are on the wire.
pub fn set_condition<C: ConditionLike>(all: &mut Vec<C>, mut new: C) {
    if let Some(time) = new.transition() {
        new.set_transition(Time(whole_seconds(time.0)));
    }
    match all.iter_mut().find(|old| old.type_() == new.type_()) {
        Some(old) => {
            if old.status() == new.status()
                && let Some(time) = old.transition()
            {
                new.set_transition(time);
            }
            *old = new;
        }
        None => all.push(new),
    }
}

/// Conditions being computed: those there were, changed one by one.
#[derive(Clone, Debug)]
pub struct Conditions {
    all: Vec<Condition>,
    generation: Option<i64>,
    now: Time,
}

impl Conditions {
    /// Starts from those there are. `generation` is what the new ones observe: none leaves the field out.
    #[must_use]
    pub fn of(existing: &[Condition], generation: Option<i64>, clock: &Clock) -> Self {
        Conditions { all: existing.to_vec(), generation, now: clock.seconds() }
    }

    /// Sets a condition to true or false.
    pub fn set(&mut self, type_: &str, ok: bool, reason: &str, message: impl Into<String>) -> &mut Self {
        self.set_to(type_, if ok { "True" } else { "False" }, reason, message)
    }

    /// Sets a condition to any status.
    pub fn set_to(
        &mut self,
        type_: &str,
        status: &str,
        reason: &str,
        message: impl Into<String>,
    ) -> &mut Self {
        let new = Condition {
            type_: type_.into(),
            status: status.into(),
            reason: reason.into(),
            message: message.into(),
            observed_generation: self.generation,
            last_transition_time: self.now.clone(),
        };
        set_condition(&mut self.all, new);
        self
    }

    /// Removes a condition.
    pub fn remove(&mut self, type_: &str) -> &mut Self {
        self.all.retain(|condition| condition.type_ != type_);
        self
    }

    /// The condition of this type.
    #[must_use]
    pub fn get(&self, type_: &str) -> Option<&Condition> {
        self.all.iter().find(|condition| condition.type_ == type_)
    }

    /// True if the condition of this type is true.
    #[must_use]
    pub fn is_true(&self, type_: &str) -> bool {
        self.get(type_).is_some_and(|condition| condition.status == "True")
    }

    /// The conditions, in their order.
    #[must_use]
    pub fn into_vec(self) -> Vec<Condition> {
        self.all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test(start_paused = true)]
    async fn the_transition_time_moves_with_the_status_and_with_nothing_else() {
        let clock = Clock::starting_at("2026-01-01T00:00:00.9Z".parse().unwrap());
        let time = |c: &[Condition]| c[0].last_transition_time.0.to_string();
        let mut first = Conditions::of(&[], Some(1), &clock);
        first.set("Ready", false, "Waiting", "0 of 1");
        let first = first.into_vec();
        assert_eq!(time(&first), "2026-01-01T00:00:00Z", "whole seconds");

        tokio::time::advance(Duration::from_secs(60)).await;
        let mut second = Conditions::of(&first, Some(2), &clock);
        second.set("Ready", false, "StillWaiting", "0 of 2");
        let second = second.into_vec();
        assert_eq!(time(&second), time(&first), "reason and message do not move it");
        assert_eq!((second[0].observed_generation, second[0].reason.as_str()), (Some(2), "StillWaiting"));

        let mut third = Conditions::of(&second, Some(2), &clock);
        third.set("Ready", true, "Up", "2 of 2");
        assert_eq!(time(&third.into_vec()), "2026-01-01T00:01:00Z");
    }

    #[tokio::test]
    async fn conditions_keep_their_order() {
        let clock = Clock::system();
        let mut all = Conditions::of(&[], None, &clock);
        all.set("A", true, "x", "").set("B", true, "x", "").set("C", true, "x", "");
        all.set("A", false, "y", "").remove("B").set("D", true, "x", "");
        assert!(!all.is_true("A") && all.is_true("D") && all.get("B").is_none());
        let types: Vec<_> = all.into_vec().into_iter().map(|c| c.type_).collect();
        assert_eq!(types, ["A", "C", "D"]);
    }
}
