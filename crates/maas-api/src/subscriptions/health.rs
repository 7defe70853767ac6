//! Whether a chosen subscription can be used right now.

use super::{ModelRef, Subscription};

/// Why a subscription cannot be used.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Unhealthy {
    /// Its phase.
    pub phase: String,
    /// Why, for people.
    pub message: String,
}

impl Unhealthy {
    fn new(subscription: &Subscription, message: impl Into<String>) -> Self {
        Self { phase: subscription.phase.clone(), message: message.into() }
    }
}

impl Subscription {
    /// Whether a key can be bound to it: it has been reconciled and has not failed.
    pub(super) fn check_bindable(&self) -> Result<(), Unhealthy> {
        match self.phase.as_str() {
            "" => Err(Unhealthy::new(self, "subscription is unreconciled (no status.phase set)")),
            "Failed" => Err(Unhealthy::new(self, "subscription is in Failed phase (cannot create API keys)")),
            _ => Ok(()),
        }
    }

    /// Whether keys bound to it now will still work in a minute.
    pub(super) fn check_lasting(&self) -> Result<(), Unhealthy> {
        match self.deletion_timestamp {
            Some(_) => Err(Unhealthy::new(self, "subscription is being deleted")),
            None => self.check_bindable(),
        }
    }

    /// Whether a model of it can be called: while only part of the subscription is in place, the model's own rate
    /// limits must be.
    pub(super) fn check_usable(&self, model: &ModelRef) -> Result<(), Unhealthy> {
        match self.phase.as_str() {
            "Active" => Ok(()),
            "Degraded" if model.token_rate_limits.is_empty() || self.limits_ready(model) => Ok(()),
            "Degraded" => Err(Unhealthy::new(self, "subscription rate limiting policies are not ready")),
            phase => {
                let phase = if phase.is_empty() { "unreconciled" } else { phase };
                Err(Unhealthy::new(
                    self,
                    format!("subscription is in {phase} phase (allowed: Active, Degraded)"),
                ))
            }
        }
    }

    fn limits_ready(&self, model: &ModelRef) -> bool {
        let of_model = |status: &&super::RateLimitStatus| {
            status.model == model.name && (status.namespace.is_empty() || status.namespace == model.namespace)
        };
        self.rate_limit_statuses.iter().find(of_model).is_some_and(|status| status.ready)
    }
}
