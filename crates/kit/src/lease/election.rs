//! Campaigning for a lease, renewing it, giving it back.

use super::record::{Step, Terms, step};
use crate::clock::Clock;
use crate::fence::Gate;
use crate::metrics::Metrics;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use kube::api::PostParams;
use kube::{Api, Client, ResourceExt};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

/// A candidate for one lease.
#[derive(Clone, Debug)]
pub struct Election {
    api: Api<Lease>,
    name: String,
    identity: String,
    terms: Terms,
    clock: Clock,
    metrics: Option<Metrics>,
    standing: Arc<watch::Sender<Standing>>,
}

/// How a candidate stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Standing {
    /// It has no answer yet.
    #[default]
    Asking,
    /// It holds the lease.
    Leading,
    /// Another holds it.
    Following {
        /// Who.
        holder: String,
    },
    /// It could not get an answer, and does not hold the lease.
    Failing {
        /// Why.
        error: String,
    },
}

/// The record as we last saw it change, and when that was on our own clock.
#[derive(Default)]
struct Sighting(Option<(Option<String>, Instant)>);

impl Sighting {
    /// How long this version has stood still.
    fn stood(&mut self, version: Option<String>) -> Duration {
        match &self.0 {
            Some((seen, since)) if *seen == version => since.elapsed(),
            _ => {
                self.0 = Some((version, Instant::now()));
                Duration::ZERO
            }
        }
    }
}

/// How an attempt ended.
enum Outcome {
    Held,
    HeldByAnother(String),
    /// Somebody wrote between our read and our write; the next attempt sees what.
    Raced,
}

impl Election {
    /// A candidate under this identity. The client should not retry by itself: an attempt has a deadline.
    #[must_use]
    pub fn new(client: Client, namespace: &str, name: &str, identity: &str, clock: Clock) -> Self {
        let api = Api::namespaced(client, namespace);
        Election {
            api,
            name: name.into(),
            identity: identity.into(),
            terms: Terms::default(),
            clock,
            metrics: None,
            standing: Arc::default(),
        }
    }

    /// Who leads is counted here.
    #[must_use]
    pub fn metrics(mut self, metrics: &Metrics) -> Self {
        metrics.leads(&self.name, false);
        self.metrics = Some(metrics.clone());
        self
    }

    /// How it stands, while [`Election::hold`] runs.
    #[must_use]
    pub fn standing(&self) -> watch::Receiver<Standing> {
        self.standing.subscribe()
    }

    /// With these timings.
    #[must_use]
    pub fn terms(mut self, terms: Terms) -> Self {
        self.terms = terms;
        self
    }

    /// Campaigns and renews until told to stop. The gate is open while the lease is held and was renewed lately; it
    /// closes by itself when renewals fail, before anybody else may take the lease.
    pub async fn hold(&self, gate: &Gate, stop: &CancellationToken) {
        let mut seen = Sighting::default();
        let mut until = Instant::now(); // writes are allowed until then
        loop {
            let sent = Instant::now();
            let failed = match timeout(self.terms.attempt(), self.attempt(&mut seen)).await {
                Ok(Ok(Outcome::Held)) => {
                    until = sent + self.terms.writes();
                    gate.open_for(until.saturating_duration_since(Instant::now()));
                    self.stands(Standing::Leading);
                    None
                }
                Ok(Ok(Outcome::HeldByAnother(holder))) => {
                    gate.close();
                    self.stands(Standing::Following { holder });
                    None
                }
                Ok(Ok(Outcome::Raced)) => None,
                Ok(Err(error)) => Some(crate::error::chain(&error)),
                Err(_) => Some("no answer in time".into()),
            };
            if let Some(error) = failed {
                tracing::warn!(lease = self.name, error, "lease not renewed");
                if Instant::now() >= until {
                    self.stands(Standing::Failing { error });
                }
            }
            if stop.run_until_cancelled(tokio::time::sleep(self.terms.retry)).await.is_none() {
                return;
            }
        }
    }

    fn stands(&self, now: Standing) {
        let moved = self.standing.send_if_modified(|before| {
            let moved = *before != now;
            before.clone_from(&now);
            moved
        });
        if !moved {
            return;
        }
        if let Some(metrics) = &self.metrics {
            metrics.leads(&self.name, now == Standing::Leading);
        }
        match now {
            Standing::Leading => {
                tracing::info!(lease = self.name, identity = self.identity, "holding the lease");
            }
            Standing::Following { holder } => {
                tracing::info!(lease = self.name, holder, "another process holds the lease; standing by");
            }
            Standing::Asking | Standing::Failing { .. } => {} // told with the error
        }
    }

    /// Gives the lease back, so that the next holder need not wait for it to expire. Call it after the last write.
    ///
    /// # Errors
    /// If the server refuses; the lease then expires by itself.
    pub async fn release(&self, gate: &Gate) -> kube::Result<()> {
        gate.close();
        self.stands(Standing::Asking);
        let Some(mut lease) = self.api.get_opt(&self.name).await? else { return Ok(()) };
        let ours = lease.spec.as_mut().filter(|spec| spec.holder_identity.as_deref() == Some(&self.identity));
        let Some(spec) = ours else { return Ok(()) };
        // As client-go does: no holder, and the shortest promise there is.
        spec.holder_identity = Some(String::new());
        spec.lease_duration_seconds = Some(1);
        spec.renew_time = Some(self.clock.micros());
        match self.api.replace(&self.name, &PostParams::default(), &lease).await {
            Err(kube::Error::Api(status)) if status.is_conflict() => Ok(()), // somebody else took it already
            other => other.map(|_| ()),
        }
    }

    async fn attempt(&self, seen: &mut Sighting) -> kube::Result<Outcome> {
        let found = self.api.get_opt(&self.name).await?;
        let stood = found.as_ref().map_or(Duration::ZERO, |lease| seen.stood(lease.resource_version()));
        let spec = found.as_ref().map(|lease| lease.spec.clone().unwrap_or_default());
        let decided = step(&self.identity, self.terms, spec.as_ref(), stood, self.clock.micros());
        let Step::Write(spec) = decided else {
            let holder = spec.and_then(|spec| spec.holder_identity).unwrap_or_default();
            return Ok(Outcome::HeldByAnother(holder));
        };
        match self.write(found, spec).await {
            Ok(_) => Ok(Outcome::Held),
            Err(kube::Error::Api(status)) if status.is_conflict() || status.is_already_exists() => {
                Ok(Outcome::Raced)
            }
            Err(error) => Err(error),
        }
    }

    /// The version read goes along, so that of two candidates one is refused.
    async fn write(&self, found: Option<Lease>, spec: LeaseSpec) -> kube::Result<Lease> {
        match found {
            Some(lease) => {
                let lease = Lease { spec: Some(spec), ..lease };
                self.api.replace(&self.name, &PostParams::default(), &lease).await
            }
            None => {
                let mut lease = Lease { spec: Some(spec), ..Lease::default() };
                lease.metadata.name = Some(self.name.clone());
                self.api.create(&PostParams::default(), &lease).await
            }
        }
    }
}
