//! Writes of the plane's own controllers: the same path as everybody's, without HTTP and without the request log.

use std::sync::Arc;

use k8s_openapi::Metadata;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

use crate::Plane;
use crate::hooks::User;
use crate::resource::{GroupVersionKind, Resource};
use crate::server::Warnings;
use crate::status::{Error, Result};
use crate::store::{Draft, Expect, Object, key};
use crate::write::{DeleteOptions, Edit, Outcome, Source, Write};

/// A controller's hands.
pub(crate) struct Internal<'a> {
    plane: &'a Plane,
    user: User,
    manager: &'static str,
}

impl<'a> Internal<'a> {
    /// Writes as this field manager, with all rights.
    pub(crate) fn new(plane: &'a Plane, manager: &'static str) -> Self {
        Self { plane, user: User::new(format!("system:{manager}"), ["system:masters"]), manager }
    }

    /// Creates an object, which says its kind.
    pub(crate) async fn create(&self, object: Value) -> Result<Arc<Object>> {
        let (resource, namespace, _) = self.place(&object)?;
        let warnings = Warnings::default();
        stored(self.write(&resource, &namespace, "", &warnings).create(object, Source::default()).await?)
    }

    /// Replaces an object or, with a subresource, that part of it.
    pub(crate) async fn update(&self, object: Value, subresource: &str) -> Result<Arc<Object>> {
        let (resource, namespace, name) = self.place(&object)?;
        let warnings = Warnings::default();
        let write = self.write(&resource, &namespace, subresource, &warnings);
        let edit = |_: &Value| Ok(Edit { object: object.clone(), source: Source::default() });
        stored(write.update(&name, true, edit).await?)
    }

    /// Changes an object as only the server itself may: past validation, admission and the book of fields.
    pub(crate) fn amend<K: Metadata<Ty = ObjectMeta>>(
        &self,
        seen: &K,
        change: impl FnOnce(&mut Value),
    ) -> Result<()> {
        let meta = seen.metadata();
        let (namespace, name) =
            (meta.namespace.as_deref().unwrap_or_default(), meta.name.as_deref().unwrap_or_default());
        let resource = self.resource(&GroupVersionKind::new(K::GROUP, K::VERSION, K::KIND))?;
        let live = self.plane.store().get(&resource.table, &key(namespace, name));
        let live =
            live.filter(|live| meta.resource_version.as_deref() == Some(live.revision.to_string().as_str()));
        let live = live.ok_or_else(|| Error::modified(&resource.names, name))?;
        let mut object = live.to_value();
        change(&mut object);
        let fields = resource.fields.iter().map(|field| (field.name.clone(), field.read(&object))).collect();
        let draft = Draft::new(&object, resource.stored_version.clone(), fields);
        let stored = self.plane.store().put(&resource.table, &draft, Expect::Revision(live.revision));
        stored.map(drop).map_err(|_| Error::modified(&resource.names, name))
    }

    /// Deletes an object.
    pub(crate) async fn delete(
        &self,
        kind: &GroupVersionKind,
        namespace: &str,
        name: &str,
        options: &DeleteOptions,
    ) -> Result<()> {
        let resource = self.resource(kind)?;
        let warnings = Warnings::default();
        self.write(&resource, namespace, "", &warnings).delete(name, options).await.map(drop)
    }

    fn write<'b>(
        &'b self,
        resource: &'b Arc<Resource>,
        namespace: &'b str,
        subresource: &'b str,
        warnings: &'b Warnings,
    ) -> Write<'b> {
        let write = Write::internal(self.plane, resource, namespace, &self.user, warnings);
        Write { subresource, manager: self.manager, ..write }
    }

    fn resource(&self, kind: &GroupVersionKind) -> Result<Arc<Resource>> {
        self.plane.catalog().kind(kind).cloned().ok_or_else(Error::unknown_resource)
    }

    fn place(&self, object: &Value) -> Result<(Arc<Resource>, String, String)> {
        let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let resource =
            self.resource(&GroupVersionKind::from_api_version(text("/apiVersion"), text("/kind")))?;
        let namespace = if resource.namespaced() { text("/metadata/namespace") } else { "" };
        Ok((resource, namespace.to_owned(), text("/metadata/name").to_owned()))
    }
}

fn stored(outcome: Outcome) -> Result<Arc<Object>> {
    match outcome {
        Outcome::Stored(object) => Ok(object),
        Outcome::Dry(_) => Err(Error::internal("a controller's write was a dry run")),
    }
}
