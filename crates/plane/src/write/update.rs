//! Changing objects: PUT, every kind of patch, and the subresources that show a part.

use serde_json::{Value, json};

use super::{Outcome, Source, Write, metadata, shape, versions};
use crate::apply;
use crate::hooks::Operation;
use crate::life;
use crate::status::{Error, FieldError, Result};
use crate::store::{Expect, Object, Refused, key};

/// What a request makes of the live object.
pub(crate) struct Edit {
    /// The object as it should be.
    pub(crate) object: Value,
    /// How the request said so.
    pub(crate) source: Source,
}

impl Write<'_> {
    /// Changes an object by `edit`, which sees the live one and is asked again if somebody writes in between.
    pub(crate) async fn update(
        &self,
        name: &str,
        is_put: bool,
        edit: impl Fn(&Value) -> Result<Edit> + Send + Sync,
    ) -> Result<Outcome> {
        loop {
            let live = self.live(name)?;
            match self.attempt(name, is_put, &live, &edit).await? {
                Some(outcome) => return Ok(outcome),
                None => tokio::task::yield_now().await,
            }
        }
    }

    /// One try; `None` if somebody wrote in between and the request does not mind.
    async fn attempt(
        &self,
        name: &str,
        is_put: bool,
        live: &Object,
        edit: &(impl Fn(&Value) -> Result<Edit> + Send + Sync),
    ) -> Result<Option<Outcome>> {
        let resource = self.resource;
        let old = versions::present(self.plane, resource, live).await?;
        let Edit { mut object, source } = edit(&old)?;
        self.identity(name, is_put, live, &old, &mut object)?;
        let stale_is_final = is_put && !metadata::text(&object, "resourceVersion").is_empty();
        metadata::keep(&mut object, &old);
        self.reset(&mut object, &old);
        let shown = source.shown(self.validation, &object);
        let unknown = shape::prune(resource, &mut object, self.applied);
        if self.subresource != "scale" {
            source.judge(unknown, shown, self.validation, resource, self.warnings)?;
        }
        shape::complete(resource, &mut object);
        metadata::tidy(&mut object, self.warnings);
        if !self.applied {
            self.book_change(&old, &mut object).await;
        }
        let before = object.clone();
        let mut object = self.mutate(Operation::Update, name, object, &old).await?;
        if object != before {
            metadata::keep(&mut object, &old);
            self.reset(&mut object, &old);
            shape::prune(resource, &mut object, self.applied);
            shape::complete(resource, &mut object);
            metadata::tidy(&mut object, self.warnings);
            self.book_change(&before, &mut object).await;
        }

        life::prepare_update(resource, &mut object);
        let mut errors = metadata::check(&object, resource, self.warnings);
        // The real server checks this twice, and tells it twice.
        let forbidden = metadata::check_update(&object, &old);
        errors.extend(forbidden.iter().cloned().chain(forbidden.iter().cloned()));
        errors.extend(shape::check(resource, &object, Some(&old), self.warnings));
        if !errors.is_empty() {
            return Err(self.invalid(name, &errors));
        }
        if resource.traits.generation && self.bumps_generation(&object, &old) {
            let generation = old["metadata"]["generation"].as_i64().unwrap_or(0) + 1;
            metadata::of(&mut object).insert("generation".into(), json!(generation));
        }
        metadata::of(&mut object).insert("resourceVersion".into(), live.revision.to_string().into());
        self.admit(Operation::Update, name, &object, &old).await?;
        if self.dry_run {
            let answer = versions::there_and_back(self.plane, resource, object).await?;
            return Ok(Some(Outcome::Dry(answer)));
        }
        let gone = object["metadata"]["deletionTimestamp"].is_string() && !life::held(resource, &object);
        // A write of the same content in a new storage version still counts: that is how objects are migrated.
        let migrates = live.stored_version != resource.stored_version;
        let same = apply::unchanged(&old, &object) && !migrates;
        if same && !gone {
            let live = self.plane.store().get(&resource.table, &live.key());
            return Ok(live.map(Outcome::Stored));
        }
        let draft = self.draft(object).await?;
        let stored = if gone {
            // The last finalizer went: the object goes with this very write, which answers its last state.
            self.plane
                .store()
                .remove(&resource.table, &live.key(), live.revision)
                .map(|_| std::sync::Arc::new(draft.seal(live.revision)))
        } else {
            self.plane.store().put(&resource.table, &draft, Expect::Revision(live.revision))
        };
        match stored {
            Ok(stored) => {
                if gone {
                    life::removed(self.plane, resource, &stored);
                } else {
                    life::stored(self.plane, resource, &stored);
                }
                Ok(Some(Outcome::Stored(stored)))
            }
            Err(Refused::Changed) if stale_is_final => Err(Error::modified(&resource.names, name)),
            Err(_) => Ok(None),
        }
    }

    /// The object must be the one meant: name, namespace, uid, version.
    fn identity(
        &self,
        name: &str,
        is_put: bool,
        live: &Object,
        old: &Value,
        object: &mut Value,
    ) -> Result<()> {
        let names = &self.resource.names;
        let given = metadata::text(object, "name");
        if given.is_empty() {
            metadata::of(object).insert("name".into(), name.into());
        } else if given != name {
            let message =
                format!("the name of the object ({given}) does not match the name on the URL ({name})");
            return Err(Error::bad_request(message));
        }
        metadata::place(object, self.namespace)?;
        let version = metadata::text(object, "resourceVersion");
        if version.is_empty() {
            if is_put && !self.resource.traits.unconditional_update && self.subresource != "scale" {
                let mut error = Error::invalid(
                    names,
                    name,
                    &[FieldError::invalid("metadata.resourceVersion", 0, "must be specified for an update")],
                );
                // The real server names the plural in this one refusal.
                error.message = error.message.replacen(&names.group_kind(), &names.group_resource(), 1);
                if let Some(details) = &mut error.details {
                    details.kind = names.plural.to_string();
                }
                return Err(error);
            }
        } else if version != live.revision.to_string() {
            return Err(Error::modified(names, name));
        }
        let (uid, real) = (metadata::text(object, "uid"), metadata::text(old, "uid"));
        if !uid.is_empty() && uid != real {
            if !is_put {
                let error = FieldError::invalid("metadata.uid", uid, "field is immutable");
                return Err(Error::invalid(names, name, &[error.clone(), error]));
            }
            let prefix = if names.group.is_empty() { String::new() } else { format!("{}/", names.group) };
            let why = format!(
                "StorageError: invalid object, Code: 4, Key: /registry/{prefix}{}/{}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, UID in object meta: {real}",
                names.plural,
                key(self.namespace, name)
            );
            return Err(Error::conflict(names, name, &why));
        }
        Ok(())
    }

    /// What this subresource may not touch goes back to what it was.
    fn reset(&self, object: &mut Value, old: &Value) {
        let resource = self.resource;
        let is = |plural: &str| resource.names.plural.as_ref() == plural && !resource.is_custom();
        match self.subresource {
            "" => {
                if resource.has_status() {
                    restore(object, old, "status");
                }
                if is("namespaces") {
                    restore(object, old, "spec");
                }
            }
            "status" if resource.is_custom() => {
                let status = object.get("status").cloned();
                let managed = object["metadata"].get("managedFields").cloned();
                *object = old.clone();
                match status {
                    Some(status) => object["status"] = status,
                    None => drop(object.as_object_mut().map(|o| o.remove("status"))),
                }
                if let Some(managed) = managed {
                    metadata::of(object).insert("managedFields".into(), managed);
                }
            }
            "status" => {
                let fields: Vec<String> =
                    old.as_object().into_iter().flatten().map(|(k, _)| k.clone()).collect();
                let given: Vec<String> =
                    object.as_object().into_iter().flatten().map(|(k, _)| k.clone()).collect();
                for field in
                    fields.iter().chain(&given).filter(|f| !matches!(f.as_str(), "status" | "metadata"))
                {
                    restore(object, old, field);
                }
                if is("deployments") {
                    let labels = old["metadata"].get("labels").cloned();
                    match labels {
                        Some(labels) => metadata::of(object).insert("labels".into(), labels),
                        None => metadata::of(object).remove("labels"),
                    };
                }
            }
            "finalize" => {
                let finalizers = object["spec"].get("finalizers").cloned();
                *object = old.clone();
                object["spec"]["finalizers"] = finalizers.unwrap_or_else(|| json!([]));
            }
            _ => {}
        }
    }

    fn bumps_generation(&self, object: &Value, old: &Value) -> bool {
        let ignore_status = self.resource.has_status();
        let content = |value: &Value| {
            let mut map = value.as_object().cloned().unwrap_or_default();
            map.remove("metadata");
            if ignore_status {
                map.remove("status");
            }
            map
        };
        let annotated = self.resource.gvk.kind.as_ref() == "Deployment"
            && self.resource.gvk.group.as_ref() == "apps"
            && object["metadata"]["annotations"] != old["metadata"]["annotations"]
            && self.subresource != "status";
        annotated || content(object) != content(old)
    }
}

fn restore(object: &mut Value, old: &Value, field: &str) {
    if let Some(map) = object.as_object_mut() {
        match old.get(field) {
            Some(value) => map.insert(field.into(), value.clone()),
            None => map.remove(field),
        };
    }
}
