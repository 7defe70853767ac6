//! Brings one child to its desired state, by its write policy.

use super::adoption::foreign;
use super::applier::Outcome;
use super::error::ApplyError;
use super::exclusive;
use super::fingerprint::fingerprint;
use super::foreign as others;
use super::legacy::{FieldManager, fold};
use super::memory::{Memory, Sent};
use super::path::Path;
use super::request::{Target, is_immutable, is_other_strategy, status};
use super::sight::Sight;
use crate::desired::{Adopt, Child, OnImmutable, WritePolicy};
use crate::hub::Hubs;
use crate::key::ObjectKey;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::Status;
use serde_json::{Value, json};
use std::any::TypeId;

/// One child being worked on.
pub(super) struct Work<'a> {
    pub(super) child: &'a Child,
    pub(super) key: &'a ObjectKey,
    pub(super) target: Target<'a>,
    pub(super) hubs: &'a Hubs,
    pub(super) memory: &'a Memory,
    pub(super) id: (TypeId, ObjectKey),
    manager: FieldManager,
    hash: u64,
}

impl<'a> Work<'a> {
    pub(super) fn new(
        child: &'a Child,
        key: &'a ObjectKey,
        target: Target<'a>,
        hubs: &'a Hubs,
        manager: FieldManager,
        memory: &'a Memory,
    ) -> Self {
        let (id, hash) = ((child.type_id(), key.clone()), child.hash());
        Work { child, key, target, hubs, memory, id, manager, hash }
    }

    pub(super) async fn run(&self) -> Result<Outcome, ApplyError> {
        let sent = self.memory.get(&self.id);
        let sight = self.sight(sent.as_ref()).await?;
        match &self.child.policy {
            WritePolicy::Apply => self.apply(&sight, sent.as_ref()).await,
            WritePolicy::Exclusive(paths) => self.exclusive(&sight, sent.as_ref(), Some(paths)).await,
            WritePolicy::Update => self.exclusive(&sight, sent.as_ref(), None).await,
            WritePolicy::CreateOnly => self.create_only(&sight).await,
            WritePolicy::PatchForeign(paths) => self.patch_foreign(&sight, sent.as_ref(), paths).await,
        }
    }

    /// True if just this intent was sent before, and the object is still as the server left it, as far as is known.
    fn is_settled(&self, sight: &Sight, sent: Option<&Sent>, print: impl Fn(&Value) -> u64) -> bool {
        let Some(sent) = sent.filter(|sent| sent.hash == self.hash) else { return false };
        match sight {
            Sight::Hidden | Sight::Lagging => true,
            Sight::Absent => false,
            Sight::Metadata(metadata) => sent.is_current(metadata),
            Sight::Present(live) if sent.is_current(live.metadata()) => true,
            Sight::Present(live) => {
                let same = live.metadata().uid == sent.uid
                    && !live.metadata_only()
                    && print(&live.value()) == sent.fingerprint;
                if same {
                    self.memory.moved(&self.id, live.metadata());
                }
                same
            }
        }
    }

    fn check_ours(&self, existing: Option<&ObjectMeta>) -> Result<(), ApplyError> {
        let Some(existing) = existing.filter(|_| self.child.adopt != Adopt::Always) else { return Ok(()) };
        let Some(whose) = foreign(self.child.adopt, self.child.metadata(), existing) else { return Ok(()) };
        Err(ApplyError::Foreign { kind: self.child.kind().kind, key: self.key.clone(), whose })
    }

    fn remember(&self, answer: &ObjectMeta, print: u64) {
        self.memory.put(self.id.clone(), Sent::new(self.hash, print, answer));
    }

    async fn apply(&self, sight: &Sight, sent: Option<&Sent>) -> Result<Outcome, ApplyError> {
        if self.is_settled(sight, sent, |live| fingerprint(live, &self.child.to_value())) {
            return Ok(Outcome::Unchanged);
        }
        let existing = sight.metadata();
        self.check_ours(existing)?;
        let (target, intent) = (&self.target, self.child.to_value());
        let mut recreated = false;
        let applied = match target.apply(&intent).await {
            Err(error) if is_immutable(&error) => {
                self.make_way(error, before(existing, sent)).await?;
                recreated = true;
                target.apply(&intent).await?
            }
            Err(error) if is_other_strategy(&error) => {
                let strategy = json!({"type": intent["spec"]["strategy"]["type"], "rollingUpdate": null});
                target.merge(&json!({"spec": {"strategy": strategy}})).await?;
                target.apply(&intent).await?
            }
            answer => answer?,
        };
        let applied = match sent {
            Some(_) => applied,
            None => fold(target, self.manager, &intent, applied).await?,
        };
        self.remember(&applied.metadata, fingerprint(&exclusive::untyped(target, &applied)?, &intent));
        Ok(outcome(before(existing, sent), &applied.metadata, recreated))
    }

    /// Deletes an object that cannot be changed, if it may be made again; else says what the user can do.
    async fn make_way(&self, error: ApplyError, before: Option<Before<'_>>) -> Result<(), ApplyError> {
        if self.child.on_immutable == OnImmutable::Recreate {
            self.target.delete(before.and_then(|before| before.uid)).await?;
            self.memory.forget(&self.id);
            return Ok(());
        }
        let message = status(&error).map(|status| status.message.clone()).unwrap_or_default();
        Err(ApplyError::Immutable { kind: self.child.kind().kind, key: self.key.clone(), message })
    }

    async fn exclusive(
        &self,
        sight: &Sight,
        sent: Option<&Sent>,
        paths: Option<&[String]>,
    ) -> Result<Outcome, ApplyError> {
        let intent = self.child.to_value();
        let paths = exclusive::paths(paths, &intent);
        let print = |live: &Value| exclusive::fingerprint(live, &intent, &paths);
        if self.is_settled(sight, sent, print) {
            return Ok(Outcome::Unchanged);
        }
        let existing = sight.metadata();
        self.check_ours(existing)?;
        if let Sight::Present(live) = sight
            && !live.metadata_only()
        {
            let value = live.value();
            if exclusive::matches(&value, &intent, &paths) {
                self.remember(live.metadata(), print(&value));
                return Ok(Outcome::Unchanged);
            }
        }
        let target = &self.target;
        let mut recreated = false;
        let (answer, written) = match exclusive::write(target, &intent, &paths).await {
            Err(error) if is_immutable(&error) => {
                self.make_way(error, before(existing, sent)).await?;
                recreated = true;
                exclusive::write(target, &intent, &paths).await?
            }
            answer => answer?,
        };
        self.remember(&answer.metadata, print(&exclusive::untyped(target, &answer)?));
        Ok(if written {
            outcome(before(existing, sent), &answer.metadata, recreated)
        } else {
            Outcome::Unchanged
        })
    }

    async fn create_only(&self, sight: &Sight) -> Result<Outcome, ApplyError> {
        match sight {
            Sight::Absent => {}
            Sight::Metadata(there) => {
                self.remember(there, 0);
                return Ok(Outcome::Left);
            }
            Sight::Hidden | Sight::Lagging | Sight::Present(_) => return Ok(Outcome::Left),
        }
        let target = &self.target;
        match target.create(&exclusive::typed(target, self.child.to_value())?).await {
            Ok(answer) => {
                self.remember(&answer.metadata, 0);
                Ok(Outcome::Created)
            }
            Err(error) if status(&error).is_some_and(Status::is_already_exists) => Ok(Outcome::Left),
            Err(error) => Err(error),
        }
    }

    async fn patch_foreign(
        &self,
        sight: &Sight,
        sent: Option<&Sent>,
        paths: &[String],
    ) -> Result<Outcome, ApplyError> {
        let paths: Vec<Path> = paths.iter().map(|path| Path::parse(path)).collect();
        let (target, intent) = (&self.target, self.child.to_value());
        let print = |live: &Value| exclusive::fingerprint(live, &Value::Null, &paths);
        if self.is_settled(sight, sent, print) {
            return Ok(Outcome::Unchanged);
        }
        let live = match sight {
            Sight::Absent => return Ok(Outcome::Left),
            Sight::Present(live) if !live.metadata_only() => live.value(),
            _ => match target.get().await? {
                Some(object) => exclusive::untyped(target, &object)?,
                None => return Ok(Outcome::Left),
            },
        };
        let Some(patch) = others::patch(&live, &intent, &paths) else {
            if let Ok(object) = exclusive::typed(target, live.clone()) {
                self.remember(&object.metadata, print(&live));
            }
            return Ok(Outcome::Unchanged);
        };
        let answer = target.merge(&patch).await?;
        self.remember(&answer.metadata, print(&exclusive::untyped(target, &answer)?));
        Ok(Outcome::Changed)
    }
}

/// What is known of the object as it was before.
#[derive(Clone, Copy)]
struct Before<'a> {
    uid: Option<&'a str>,
    resource_version: Option<&'a str>,
}

/// What was seen of it or, if nothing can be seen, what was sent last.
fn before<'a>(existing: Option<&'a ObjectMeta>, sent: Option<&'a Sent>) -> Option<Before<'a>> {
    match (existing, sent) {
        (Some(there), _) => {
            Some(Before { uid: there.uid.as_deref(), resource_version: there.resource_version.as_deref() })
        }
        (None, Some(sent)) => {
            Some(Before { uid: sent.uid.as_deref(), resource_version: sent.resource_version.as_deref() })
        }
        (None, None) => None,
    }
}

fn outcome(before: Option<Before<'_>>, answer: &ObjectMeta, recreated: bool) -> Outcome {
    match before {
        _ if recreated => Outcome::Recreated,
        None => Outcome::Created,
        Some(before) if before.uid != answer.uid.as_deref() => Outcome::Created,
        Some(before) if before.resource_version == answer.resource_version.as_deref() => Outcome::Confirmed,
        Some(_) => Outcome::Changed,
    }
}
