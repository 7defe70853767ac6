//! Walks through the desired state, child by child.

use super::adoption::foreign;
use super::error::ApplyError;
use super::exclusive;
use super::fingerprint::fingerprint;
use super::foreign as others;
use super::legacy::{FieldManager, fold};
use super::memory::{Memory, Sent, UNSEEN};
use super::path::Path;
use super::request::{Target, is_immutable, status};
use crate::desired::{Adopt, Child, Desired, Live, OnImmutable, Prune, PruneTarget, WritePolicy};
use crate::fence::Fence;
use crate::hub::Hubs;
use crate::key::ObjectKey;
use crate::kind::Gvk;
use crate::metrics::{Metrics, WriteOutcome};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::discovery::ApiResource;
use serde_json::Value;
use std::any::TypeId;
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
        let work =
            Work { applier: self, child, key: &key, id: (child.type_id(), key.clone()), hash: child.hash() };
        let result = work.run().await;
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

/// One child being worked on.
struct Work<'a> {
    applier: &'a Applier,
    child: &'a Child,
    key: &'a ObjectKey,
    id: (TypeId, ObjectKey),
    hash: u64,
}

impl Work<'_> {
    async fn run(&self) -> Result<Outcome, ApplyError> {
        match &self.child.policy {
            WritePolicy::Apply => self.apply().await,
            WritePolicy::Exclusive(paths) => self.exclusive(Some(paths)).await,
            WritePolicy::Update => self.exclusive(None).await,
            WritePolicy::CreateOnly => self.create_only().await,
            WritePolicy::PatchForeign(paths) => self.patch_foreign(paths).await,
        }
    }

    fn inner(&self) -> &Inner {
        &self.applier.0
    }

    fn target(&self) -> Target<'_> {
        self.applier.target(self.child.resource(), self.key)
    }

    /// What was sent of just this intent before, if the object is still as the server left it, as far as is known.
    fn is_settled(&self, live: &Live, sent: Option<&Sent>, print: impl Fn(&Value) -> u64) -> bool {
        let Some(sent) = sent.filter(|sent| sent.hash == self.hash) else { return false };
        match live {
            Live::Unwatched => sent.at.elapsed() < UNSEEN,
            Live::Missing { seen, .. } => *seen < sent.version(), // the watch has not come to our write yet
            Live::Present(live) => {
                let meta = live.metadata();
                if sent.is_current(meta) {
                    return true;
                }
                let same =
                    meta.uid == sent.uid && !live.metadata_only() && print(&live.value()) == sent.fingerprint;
                if same {
                    self.inner().memory.moved(&self.id, meta);
                }
                same
            }
        }
    }

    /// The metadata of what there is, asked for if the caches cannot tell; nothing if there is nothing.
    async fn existing(&self, live: &Live, sent: Option<&Sent>) -> Result<Option<ObjectMeta>, ApplyError> {
        match live {
            Live::Present(live) => Ok(Some(live.metadata().clone())),
            Live::Missing { whole: true, .. } => Ok(None),
            Live::Missing { .. } | Live::Unwatched if sent.is_some() => Ok(None), // made by us
            Live::Missing { .. } | Live::Unwatched => {
                let hubs = &self.inner().hubs;
                self.child.fetch_metadata(hubs, self.key).await.map_err(|error| self.target().error(error))
            }
        }
    }

    async fn check_ours(&self, live: &Live, sent: Option<&Sent>) -> Result<Option<ObjectMeta>, ApplyError> {
        if self.child.adopt == Adopt::Always {
            return Ok(if let Live::Present(live) = live { Some(live.metadata().clone()) } else { None });
        }
        let existing = self.existing(live, sent).await?;
        let whose =
            existing.as_ref().and_then(|there| foreign(self.child.adopt, self.child.metadata(), there));
        match whose {
            None => Ok(existing),
            Some(whose) => {
                Err(ApplyError::Foreign { kind: self.child.kind().kind, key: self.key.clone(), whose })
            }
        }
    }

    fn remember(&self, answer: &ObjectMeta, print: u64) {
        self.inner().memory.put(self.id.clone(), Sent::new(self.hash, print, answer));
    }

    async fn apply(&self) -> Result<Outcome, ApplyError> {
        let live = self.child.live(&self.inner().hubs, self.key);
        let sent = self.inner().memory.get(&self.id);
        if self.is_settled(&live, sent.as_ref(), |live| fingerprint(live, &self.child.to_value())) {
            return Ok(Outcome::Unchanged);
        }
        let existing = self.check_ours(&live, sent.as_ref()).await?;
        let (target, intent) = (self.target(), self.child.to_value());
        let mut recreated = false;
        let applied = match target.apply(&intent).await {
            Err(error) if is_immutable(&error) => {
                self.immutable(&target, error, existing.as_ref()).await?;
                recreated = true;
                target.apply(&intent).await?
            }
            answer => answer?,
        };
        let applied = match sent {
            Some(_) => applied,
            None => fold(&target, self.inner().manager, &intent, applied).await?,
        };
        self.remember(&applied.metadata, fingerprint(&exclusive::untyped(&target, &applied)?, &intent));
        Ok(outcome(existing.as_ref(), &applied.metadata, recreated))
    }

    /// Deletes the object if the child may be made again, else says what the user can do.
    async fn immutable(
        &self,
        target: &Target<'_>,
        error: ApplyError,
        existing: Option<&ObjectMeta>,
    ) -> Result<(), ApplyError> {
        if self.child.on_immutable == OnImmutable::Recreate {
            target.delete(existing.and_then(|there| there.uid.as_deref())).await?;
            self.inner().memory.forget(&self.id);
            return Ok(());
        }
        let message = status(&error).map(|status| status.message.clone()).unwrap_or_default();
        Err(ApplyError::Immutable { kind: self.child.kind().kind, key: self.key.clone(), message })
    }

    async fn exclusive(&self, paths: Option<&[String]>) -> Result<Outcome, ApplyError> {
        let intent = self.child.to_value();
        let paths = exclusive::paths(paths, &intent);
        let live = self.child.live(&self.inner().hubs, self.key);
        let sent = self.inner().memory.get(&self.id);
        let print = |live: &Value| exclusive::fingerprint(live, &intent, &paths);
        if self.is_settled(&live, sent.as_ref(), print) {
            return Ok(Outcome::Unchanged);
        }
        let existing = self.check_ours(&live, sent.as_ref()).await?;
        if let Live::Present(live) = &live
            && !live.metadata_only()
        {
            let value = live.value();
            if exclusive::matches(&value, &intent, &paths) {
                self.remember(live.metadata(), print(&value));
                return Ok(Outcome::Unchanged);
            }
        }
        let target = self.target();
        let mut recreated = false;
        let (answer, written) = match exclusive::write(&target, &intent, &paths).await {
            Err(error) if is_immutable(&error) => {
                self.immutable(&target, error, existing.as_ref()).await?;
                recreated = true;
                exclusive::write(&target, &intent, &paths).await?
            }
            answer => answer?,
        };
        self.remember(&answer.metadata, print(&exclusive::untyped(&target, &answer)?));
        Ok(if written { outcome(existing.as_ref(), &answer.metadata, recreated) } else { Outcome::Unchanged })
    }

    async fn create_only(&self) -> Result<Outcome, ApplyError> {
        let live = self.child.live(&self.inner().hubs, self.key);
        let sent = self.inner().memory.get(&self.id);
        let lagging = |seen: u64| sent.as_ref().is_some_and(|sent| seen < sent.version());
        let exists = match &live {
            Live::Present(_) => true,
            Live::Missing { seen, .. } if lagging(*seen) => true,
            Live::Unwatched if sent.as_ref().is_some_and(|sent| sent.at.elapsed() < UNSEEN) => true,
            _ => {
                // What we made and the watch no longer shows is gone: only the server knows for sure.
                let existing = self.existing(&live, None).await?;
                existing.inspect(|there| self.remember(there, 0)).is_some()
            }
        };
        if exists {
            return Ok(Outcome::Left);
        }
        let target = self.target();
        match target.create(&exclusive::typed(&target, self.child.to_value())?).await {
            Ok(answer) => {
                self.remember(&answer.metadata, 0);
                Ok(Outcome::Created)
            }
            Err(error) if status(&error).is_some_and(kube::core::Status::is_already_exists) => {
                Ok(Outcome::Left)
            }
            Err(error) => Err(error),
        }
    }

    async fn patch_foreign(&self, paths: &[String]) -> Result<Outcome, ApplyError> {
        let paths: Vec<Path> = paths.iter().map(|path| Path::parse(path)).collect();
        let (target, intent) = (self.target(), self.child.to_value());
        let live = self.child.live(&self.inner().hubs, self.key);
        let sent = self.inner().memory.get(&self.id);
        let print = |live: &Value| exclusive::fingerprint(live, &Value::Null, &paths);
        if self.is_settled(&live, sent.as_ref(), print) {
            return Ok(Outcome::Unchanged);
        }
        let value = match &live {
            Live::Present(live) if !live.metadata_only() => live.value(),
            Live::Missing { whole: true, .. } => return Ok(Outcome::Left),
            _ => match target.get().await? {
                Some(object) => exclusive::untyped(&target, &object)?,
                None => return Ok(Outcome::Left),
            },
        };
        let Some(patch) = others::patch(&value, &intent, &paths) else { return Ok(Outcome::Unchanged) };
        let answer = target.merge(&patch).await?;
        self.remember(&answer.metadata, print(&exclusive::untyped(&target, &answer)?));
        Ok(Outcome::Changed)
    }
}

fn outcome(before: Option<&ObjectMeta>, answer: &ObjectMeta, recreated: bool) -> Outcome {
    match before {
        _ if recreated => Outcome::Recreated,
        None => Outcome::Created,
        Some(before) if before.resource_version == answer.resource_version => Outcome::Confirmed,
        Some(_) => Outcome::Changed,
    }
}
