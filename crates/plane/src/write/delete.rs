//! Deleting objects: at once, or in the order that finalizers, grace and propagation demand.

use std::sync::Arc;

use jiff::SignedDuration;
use serde_json::{Value, json};

use super::{Write, metadata, versions};
use crate::clock;
use crate::hooks::Operation;
use crate::life;
use crate::server::params::Params;
use crate::status::{Error, FieldError, Result};
use crate::store::{Expect, Object, Refused};

/// What becomes of dependents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Propagation {
    Background,
    Foreground,
    Orphan,
}

/// Options of a DELETE, from its body or query.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeleteOptions {
    pub(crate) grace_seconds: Option<i64>,
    pub(crate) propagation: Option<Propagation>,
    pub(crate) uid: Option<String>,
    pub(crate) resource_version: Option<String>,
    pub(crate) dry_run: bool,
}

/// What a DELETE came to.
#[derive(Debug)]
pub(crate) enum Deleted {
    /// The object is gone; this was its last state.
    Gone(Arc<Object>),
    /// It waits for finalizers or its grace period.
    Pending(Arc<Object>),
    /// Nothing was stored.
    Dry(Arc<Object>),
}

impl DeleteOptions {
    /// Reads and checks the options; what the body says wins over the query.
    pub(crate) fn parse(body: &Value, params: &Params) -> Result<Self> {
        let mut errors = Vec::new();
        let text = |name: &str| {
            body[name]
                .as_str()
                .map(Into::into)
                .or_else(|| Some(params.get(name).to_string()).filter(|s| !s.is_empty()))
        };
        let policy: Option<String> = text("propagationPolicy");
        let propagation = match policy.as_deref() {
            None | Some("") => None,
            Some("Background") => Some(Propagation::Background),
            Some("Foreground") => Some(Propagation::Foreground),
            Some("Orphan") => Some(Propagation::Orphan),
            Some(other) => {
                let supported = ["Foreground", "Background", "Orphan", "nil"];
                errors.push(FieldError::not_supported("propagationPolicy", other, &supported));
                None
            }
        };
        let orphan = body["orphanDependents"]
            .as_bool()
            .or_else(|| params.has("orphanDependents").then(|| params.flag("orphanDependents")));
        if let (Some(_), Some(policy)) = (orphan, &policy) {
            let words = "orphanDependents and deletionPropagation cannot be both set";
            errors.push(FieldError::invalid("propagationPolicy", policy.as_str(), words));
        }
        let mut dry: Vec<String> = params.all("dryRun").map(Into::into).collect();
        dry.extend(body["dryRun"].as_array().into_iter().flatten().filter_map(Value::as_str).map(Into::into));
        if dry.iter().any(|v| v != "All") {
            errors.push(FieldError::not_supported("dryRun", dry.clone(), &["All"]));
        }
        if !errors.is_empty() {
            return Err(Error::invalid_kind("meta.k8s.io", "DeleteOptions", "", &errors));
        }
        let legacy = orphan.map(|yes| if yes { Propagation::Orphan } else { Propagation::Background });
        Ok(Self {
            grace_seconds: body["gracePeriodSeconds"].as_i64().or(params.number("gracePeriodSeconds")?),
            propagation: propagation.or(legacy),
            uid: body["preconditions"]["uid"].as_str().map(Into::into),
            resource_version: body["preconditions"]["resourceVersion"].as_str().map(Into::into),
            dry_run: !dry.is_empty(),
        })
    }
}

impl Write<'_> {
    /// Deletes an object.
    pub(crate) async fn delete(&self, name: &str, options: &DeleteOptions) -> Result<Deleted> {
        loop {
            let live = self.live(name)?;
            self.preconditions(name, &live, options)?;
            match self.delete_attempt(name, &live, options).await {
                Ok(Some(deleted)) => return Ok(deleted),
                Ok(None) => tokio::task::yield_now().await,
                Err(error) => return Err(error),
            }
        }
    }

    fn preconditions(&self, name: &str, live: &Object, options: &DeleteOptions) -> Result<()> {
        let names = &self.resource.names;
        if let Some(uid) = options.uid.as_ref().filter(|uid| **uid != *live.facts.uid) {
            let why = format!(
                "the UID in the precondition ({uid}) does not match the UID in record ({}). The object might have been deleted and then recreated",
                live.facts.uid
            );
            return Err(Error::precondition(names, name, &why));
        }
        let version = live.revision.to_string();
        if let Some(asked) = options.resource_version.as_ref().filter(|asked| **asked != version) {
            let why = format!(
                "the ResourceVersion in the precondition ({asked}) does not match the ResourceVersion in record ({version}). The object might have been modified"
            );
            return Err(Error::precondition(names, name, &why));
        }
        Ok(())
    }

    async fn delete_attempt(
        &self,
        name: &str,
        live: &Arc<Object>,
        options: &DeleteOptions,
    ) -> Result<Option<Deleted>> {
        let resource = self.resource;
        life::admit_delete(self.plane, resource, name)?;
        let old = versions::present(self.plane, resource, live).await?;
        self.mutate(Operation::Delete, name, Value::Null, &old).await?;
        self.admit(Operation::Delete, name, &Value::Null, &old).await?;
        let mut object = old.clone();
        self.mark_propagation(&mut object, options);
        life::prepare_delete(self.plane, resource, &mut object);
        let grace = self.grace(&old, options);
        let pending = grace > 0 || life::held(resource, &object);
        if options.dry_run && !pending {
            return Ok(Some(Deleted::Dry(live.clone())));
        }
        if !pending {
            return Ok(self.remove(live));
        }
        self.mark_deleted(&mut object, &old, grace);
        metadata::tidy(&mut object, self.warnings);
        if object == old {
            return Ok(Some(Deleted::Pending(live.clone())));
        }
        let draft = self.draft(object).await?;
        if options.dry_run {
            return Ok(Some(Deleted::Pending(Arc::new(draft.seal(live.revision)))));
        }
        match self.plane.store().put(&resource.table, &draft, Expect::Revision(live.revision)) {
            Ok(stored) => {
                life::stored(self.plane, resource, &stored);
                Ok(Some(Deleted::Pending(stored)))
            }
            Err(Refused::Exists | Refused::Changed | Refused::Missing) => Ok(None),
        }
    }

    fn remove(&self, live: &Object) -> Option<Deleted> {
        let removed = self.plane.store().remove(&self.resource.table, &live.key(), live.revision).ok()?;
        life::removed(self.plane, self.resource, &removed);
        Some(Deleted::Gone(removed))
    }

    /// Sets or clears the two finalizers through which the garbage collector is told the policy.
    fn mark_propagation(&self, object: &mut Value, options: &DeleteOptions) {
        let had: Vec<String> = object["metadata"]["finalizers"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(Into::into)
            .collect();
        let has = |name: &str| had.iter().any(|f| f == name);
        let policy = options.propagation.unwrap_or_else(|| {
            if has("orphan") {
                Propagation::Orphan
            } else if has("foregroundDeletion") {
                Propagation::Foreground
            } else {
                self.default_propagation()
            }
        });
        let mut now: Vec<String> =
            had.iter().filter(|f| !matches!(f.as_str(), "orphan" | "foregroundDeletion")).cloned().collect();
        match policy {
            Propagation::Orphan => now.push("orphan".into()),
            Propagation::Foreground => now.push("foregroundDeletion".into()),
            Propagation::Background => {}
        }
        if now != had {
            metadata::of(object).insert("finalizers".into(), json!(now));
        }
    }

    fn default_propagation(&self) -> Propagation {
        let gvk = &self.resource.gvk;
        match (gvk.group.as_ref(), gvk.version.as_ref(), gvk.kind.as_ref()) {
            ("batch", "v1", "Job") => {
                self.warnings.add("child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning");
                Propagation::Orphan
            }
            ("", "v1", "ReplicationController") => Propagation::Orphan,
            _ => Propagation::Background,
        }
    }

    /// Seconds a Pod gets to end: only those that run somewhere have any.
    fn grace(&self, object: &Value, options: &DeleteOptions) -> i64 {
        let is_pod = self.resource.gvk.kind.as_ref() == "Pod" && self.resource.gvk.group.is_empty();
        let unscheduled = object["spec"]["nodeName"].as_str().unwrap_or_default().is_empty();
        let finished = matches!(object["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
        if !is_pod || unscheduled || finished {
            return 0;
        }
        let wanted =
            options.grace_seconds.or(object["spec"]["terminationGracePeriodSeconds"].as_i64()).unwrap_or(30);
        let wanted = if wanted < 0 { 1 } else { wanted };
        match object["metadata"]["deletionGracePeriodSeconds"].as_i64() {
            Some(before) if object["metadata"]["deletionTimestamp"].is_string() => wanted.min(before),
            _ => wanted,
        }
    }

    fn mark_deleted(&self, object: &mut Value, old: &Value, grace: i64) {
        let (now, generation) = (self.plane.clock().now(), self.resource.traits.generation);
        let already = old["metadata"]["deletionTimestamp"].is_string();
        let shorter =
            already && old["metadata"]["deletionGracePeriodSeconds"].as_i64().is_some_and(|g| grace < g);
        let is_namespace = self.resource.gvk.kind.as_ref() == "Namespace";
        let meta = metadata::of(object);
        if !already || shorter {
            let at = now.checked_add(SignedDuration::from_secs(grace)).unwrap_or(now);
            meta.insert("deletionTimestamp".into(), clock::seconds(at).into());
            if !is_namespace {
                meta.insert("deletionGracePeriodSeconds".into(), json!(grace));
            }
        }
        if !already && generation {
            let next = meta.get("generation").and_then(Value::as_i64).unwrap_or(0) + 1;
            meta.insert("generation".into(), json!(next));
        }
    }
}
