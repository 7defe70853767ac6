//! Writes: what happens to an object between the request's body and the store.
//!
//! Order of work: names and system metadata; prune and default; mutating admission; prune and default again;
//! validation; validating admission; store. The same path serves clients and the plane's own controllers.

mod book;
mod create;
mod delete;
mod metadata;
mod scalars;
mod shape;
mod strays;
pub(crate) mod typed;
mod update;
mod versions;

use std::sync::Arc;

use serde_json::{Value, json};

pub(crate) use create::namespace_terminating;
pub(crate) use delete::{DeleteOptions, Deleted, Propagation};
pub(crate) use metadata::generate as generate_name;
pub(crate) use scalars::base64_stops;
pub(crate) use shape::decoded;
pub(crate) use strays::{Form, Source};
pub(crate) use update::Edit;
pub(crate) use versions::{present, present_all};

use crate::Plane;
use crate::hooks::{AdmissionRequest, Operation, User};
use crate::resource::Resource;
use crate::server::Warnings;
use crate::server::params::FieldValidation;
use crate::status::{Error, FieldError, Result};
use crate::store::{Draft, Object, key};

/// One write on its way.
pub(crate) struct Write<'a> {
    pub(crate) plane: &'a Plane,
    pub(crate) resource: &'a Arc<Resource>,
    pub(crate) user: &'a User,
    pub(crate) namespace: &'a str,
    /// `status`, `scale`, `finalize`, … or empty.
    pub(crate) subresource: &'a str,
    pub(crate) dry_run: bool,
    pub(crate) validation: FieldValidation,
    /// The field manager.
    pub(crate) manager: &'a str,
    /// Whether this is server-side apply, which keeps its own book.
    pub(crate) applied: bool,
    pub(crate) warnings: &'a Warnings,
}

/// What a write came to.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// The object as stored, in the stored version.
    Stored(Arc<Object>),
    /// What would have been stored, in the request's version.
    Dry(Value),
}

impl<'a> Write<'a> {
    /// A write by the plane itself.
    pub(crate) fn internal(
        plane: &'a Plane,
        resource: &'a Arc<Resource>,
        namespace: &'a str,
        user: &'a User,
        warnings: &'a Warnings,
    ) -> Self {
        Self {
            plane,
            resource,
            user,
            namespace,
            subresource: "",
            dry_run: false,
            validation: FieldValidation::Ignore,
            manager: "kube-controller-manager",
            applied: false,
            warnings,
        }
    }

    fn admission(&self, operation: Operation, name: &str, object: Value, old: Value) -> AdmissionRequest {
        let kind = match operation {
            Operation::Create => "CreateOptions",
            Operation::Update => "UpdateOptions",
            Operation::Delete => "DeleteOptions",
            Operation::Connect => "PodExecOptions",
        };
        let mut options = json!({"kind": kind, "apiVersion": "meta.k8s.io/v1"});
        if !self.manager.is_empty() && operation != Operation::Delete {
            options["fieldManager"] = self.manager.into();
        }
        if self.dry_run {
            options["dryRun"] = json!(["All"]);
        }
        AdmissionRequest {
            user: self.user.clone(),
            operation,
            kind: self.resource.gvk.clone(),
            names: self.resource.names.clone(),
            subresource: self.subresource.to_string(),
            namespace: self.namespace.to_string(),
            name: name.to_string(),
            object,
            old_object: old,
            dry_run: self.dry_run,
            options,
            warnings: Vec::new(),
        }
    }

    /// The object as it is now.
    fn live(&self, name: &str) -> Result<Arc<Object>> {
        self.plane
            .store()
            .get(&self.resource.table, &key(self.namespace, name))
            .ok_or_else(|| Error::not_found(&self.resource.names, name))
    }

    /// The refusal of an invalid object. Events of either group are refused as those of the core one.
    fn invalid(&self, name: &str, errors: &[FieldError]) -> Error {
        let names = &self.resource.names;
        let group = if &*names.kind == "Event" && !self.resource.is_custom() { "" } else { &*names.group };
        Error::invalid_kind(group, &names.kind, name, errors)
    }

    /// Runs mutating admission over the object.
    async fn mutate(&self, operation: Operation, name: &str, object: Value, old: &Value) -> Result<Value> {
        let mut request = self.admission(operation, name, object, old.clone());
        let result = self.plane.hooks().admit.mutate(&mut request).await;
        self.warnings.extend(std::mem::take(&mut request.warnings));
        result.map(|()| request.object)
    }

    /// Runs validating admission over the object.
    async fn admit(&self, operation: Operation, name: &str, object: &Value, old: &Value) -> Result<()> {
        let mut request = self.admission(operation, name, object.clone(), old.clone());
        let result = self.plane.hooks().admit.validate(&mut request).await;
        self.warnings.extend(std::mem::take(&mut request.warnings));
        result
    }

    /// Serialises an object of the request's version for the store.
    async fn draft(&self, object: Value) -> Result<Draft> {
        let stored = versions::to_stored(self.plane, self.resource, object).await?;
        let fields =
            self.resource.fields.iter().map(|field| (field.name.clone(), field.read(&stored))).collect();
        Ok(Draft::new(&stored, self.resource.stored_version.clone(), fields))
    }
}
