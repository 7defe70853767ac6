//! Walks through the desired state, child by child.

use super::error::ApplyError;
use super::legacy::FieldManager;
use super::memory::Memory;
use super::request::Target;
use super::work::Work;
use crate::desired::{Child, Desired, Prune, PruneTarget};
use crate::fence::Fence;
use crate::hub::Hubs;
use crate::key::ObjectKey;
use crate::kind::Gvk;
use crate::metrics::{Metrics, WriteOutcome};
use kube::discovery::ApiResource;
use std::collections::HashSet;
use std::sync::Arc;

/// Brings the cluster to a desired state; clones share what they remember. One per controller.
#[derive(Clone, Debug)]
pub struct Applier(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    controller: String,
    hubs: Hubs,
    manager: FieldManager,
    fence: Fence,
    metrics: Metrics,
    memory: Memory,
}

/// What became of a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing differed, and nothing was sent.
    Unchanged,
    /// It was sent, and the server found nothing to change.
    Confirmed,
    /// It was made.
    Created,
    /// It was changed.
    Changed,
    /// It was deleted and made again, as an immutable field differed.
    Recreated,
    /// It was deleted, as it is not desired.
    Pruned,
    /// It is not ours to change, or not there to be changed.
    Left,
}

impl Outcome {
    /// True if the cluster is different now.
    #[must_use]
    pub fn is_change(self) -> bool {
        matches!(self, Outcome::Created | Outcome::Changed | Outcome::Recreated | Outcome::Pruned)
    }
}

/// What became of a desired state.
#[derive(Debug, Default)]
pub struct Report {
    outcomes: Vec<(Gvk, ObjectKey, Outcome)>,
    errors: Vec<ApplyError>,
}

impl Report {
    /// What became of each child that did not fail, and of each pruned object.
    #[must_use]
    pub fn outcomes(&self) -> &[(Gvk, ObjectKey, Outcome)] {
        &self.outcomes
    }

    /// The errors, in the order of the children.
    #[must_use]
    pub fn errors(&self) -> &[ApplyError] {
        &self.errors
    }

    /// True if the cluster is different now.
    #[must_use]
    pub fn is_change(&self) -> bool {
        self.outcomes.iter().any(|(_, _, outcome)| outcome.is_change())
    }

    /// The first error in the order of the children, if there is one; the others were logged.
    ///
    /// # Errors
    /// If a child failed.
    pub fn ok(mut self) -> Result<Report, ApplyError> {
        if self.errors.is_empty() { Ok(self) } else { Err(self.errors.swap_remove(0)) }
    }
}

impl Applier {
    /// An applier that remembers nothing yet.
    #[must_use]
    pub fn new(controller: &str, hubs: Hubs, manager: FieldManager, fence: Fence, metrics: Metrics) -> Self {
        let controller = controller.to_owned();
        Applier(Arc::new(Inner { controller, hubs, manager, fence, metrics, memory: Memory::default() }))
    }

    /// Applies every child in order, then prunes. A child that fails does not keep the others from being tried.
    pub async fn apply(&self, desired: &Desired) -> Report {
        let mut report = Report::default();
        for child in desired.children() {
            match self.child(child).await {
                Ok(outcome) => report.outcomes.push((child.kind(), child.key(), outcome)),
                Err(error) => self.failed(&mut report, error),
            }
        }
        let kept: HashSet<_> =
            desired.children().iter().map(|child| (child.kind().kind, child.key())).collect();
        for prune in desired.prunes() {
            self.prune(prune, &kept, &mut report).await;
        }
        report
    }

    fn failed(&self, report: &mut Report, error: ApplyError) {
        if !report.errors.is_empty() {
            tracing::warn!(controller = self.0.controller, error = %crate::error::chain(&error), "a further child failed");
        }
        report.errors.push(error);
    }

    /// Brings one child to its desired state.
    ///
    /// # Errors
    /// If the object is not ours, or the server refuses.
    pub async fn child(&self, child: &Child) -> Result<Outcome, ApplyError> {
        let key = child.key();
        let Inner { hubs, manager, memory, .. } = &*self.0;
        let target = self.target(child.resource(), &key);
        let result = Work::new(child, &key, target, hubs, *manager, memory).run().await;
        let outcome = match &result {
            Ok(Outcome::Unchanged | Outcome::Left) => WriteOutcome::Skipped,
            Ok(_) => WriteOutcome::Sent,
            Err(_) => WriteOutcome::Failed,
        };
        self.0.metrics.write(&self.0.controller, &child.kind(), child.write_policy().name(), outcome);
        result
    }

    fn target<'a>(&'a self, resource: ApiResource, key: &'a ObjectKey) -> Target<'a> {
        let Inner { hubs, fence, manager, .. } = &*self.0;
        Target { client: hubs.client(), fence, manager: manager.name, resource, key }
    }

    async fn prune(&self, prune: &Prune, kept: &HashSet<(String, ObjectKey)>, report: &mut Report) {
        let found = match (prune.look)(&self.0.hubs, &prune.target, &prune.guard).await {
            Ok(found) => found,
            Err(error) => {
                let whole = ObjectKey::cluster("");
                let key = if let PruneTarget::Named(key) = &prune.target { key } else { &whole };
                return self.failed(report, self.target(prune.resource.clone(), key).error(error));
            }
        };
        for doomed in found {
            if kept.contains(&(prune.gvk.kind.clone(), doomed.key.clone())) {
                continue;
            }
            let deleted =
                self.target(prune.resource.clone(), &doomed.key).delete(doomed.uid.as_deref()).await;
            let outcome = if deleted.is_ok() { WriteOutcome::Sent } else { WriteOutcome::Failed };
            self.0.metrics.write(&self.0.controller, &prune.gvk, "Prune", outcome);
            match deleted {
                Ok(_) => report.outcomes.push((prune.gvk.clone(), doomed.key, Outcome::Pruned)),
                Err(error) => self.failed(report, error),
            }
        }
    }
}
