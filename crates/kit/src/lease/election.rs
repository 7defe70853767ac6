//! Campaigning for a lease, renewing it, giving it back.

use super::record::{Step, Terms, step};
use crate::clock::Clock;
use crate::fence::Gate;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use kube::api::PostParams;
use kube::{Api, Client, ResourceExt};
use std::time::Duration;
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
    HeldByAnother,
    /// Somebody wrote between our read and our write; the next attempt sees what.
    Raced,
}

impl Election {
    /// A candidate under this identity. The client should not retry by itself: an attempt has a deadline.
    #[must_use]
    pub fn new(client: Client, namespace: &str, name: &str, identity: &str, clock: Clock) -> Self {
        let api = Api::namespaced(client, namespace);
        Election { api, name: name.into(), identity: identity.into(), terms: Terms::default(), clock }
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
        let mut leading = false;
        loop {
            let sent = Instant::now();
            match timeout(self.terms.attempt(), self.attempt(&mut seen)).await {
                Ok(Ok(Outcome::Held)) => {
                    gate.open_for(self.terms.writes().saturating_sub(sent.elapsed()));
                    if !std::mem::replace(&mut leading, true) {
                        tracing::info!(lease = self.name, identity = self.identity, "holding the lease");
                    }
                }
                Ok(Ok(Outcome::HeldByAnother)) => {
                    gate.close();
                    if std::mem::replace(&mut leading, false) {
                        tracing::warn!(lease = self.name, "the lease is held by another process");
                    }
                }
                Ok(Ok(Outcome::Raced)) => {}
                Ok(Err(error)) => tracing::warn!(lease = self.name, %error, "lease not renewed"),
                Err(_) => tracing::warn!(lease = self.name, "lease not renewed in time"),
            }
            if stop.run_until_cancelled(tokio::time::sleep(self.terms.retry)).await.is_none() {
                return;
            }
        }
    }

    /// Gives the lease back, so that the next holder need not wait for it to expire. Call it after the last write.
    ///
    /// # Errors
    /// If the server refuses; the lease then expires by itself.
    pub async fn release(&self, gate: &Gate) -> kube::Result<()> {
        gate.close();
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
        let Step::Write(spec) = step(&self.identity, self.terms, spec.as_ref(), stood, self.clock.micros())
        else {
            return Ok(Outcome::HeldByAnother);
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
