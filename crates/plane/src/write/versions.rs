//! Objects between the version they are stored in and the version a request speaks.

use std::sync::Arc;

use serde_json::Value;

use crate::Plane;
use crate::resource::{GroupVersionKind, Resource, translate};
use crate::schema;
use crate::status::Result;
use crate::store::{Draft, Object};

/// The object as the resource's version shows it, with `apiVersion` and `kind`.
pub(crate) async fn present(plane: &Plane, resource: &Resource, object: &Object) -> Result<Value> {
    show(plane, resource, object.to_value(), &object.stored_version).await
}

/// A stored object as the resource's version shows it.
async fn show(plane: &Plane, resource: &Resource, mut value: Value, stored: &str) -> Result<Value> {
    if translate::differs(resource) {
        translate::shown(resource, &mut value);
    } else if webhook_needed(resource, stored) {
        type_meta(&mut value, resource, stored);
        let mut converted = in_version(plane, resource, vec![value]).await?;
        value = converted.pop().unwrap_or_default();
    }
    type_meta(&mut value, resource, &resource.gvk.version);
    if let Some(custom) = resource.custom.as_ref().filter(|_| other_version(resource, stored)) {
        // What this version does not know goes. Its defaults do not come: a real server sets those of the stored version.
        schema::prune(&custom.structural, &mut value, true);
    }
    Ok(value)
}

/// What a dry run answers: the object after the way to the store and back, on which a version may lose what another
/// does not know.
pub(super) async fn there_and_back(plane: &Plane, resource: &Resource, object: Value) -> Result<Value> {
    if !other_version(resource, &resource.stored_version) {
        return Ok(object);
    }
    let stored = to_stored(plane, resource, object).await?;
    show(plane, resource, stored, &resource.stored_version).await
}

/// The same for many; objects already in that version are passed on as they are.
pub(crate) async fn present_all(
    plane: &Plane,
    resource: &Resource,
    objects: Vec<Arc<Object>>,
) -> Result<Vec<Arc<Object>>> {
    let translated = translate::differs(resource);
    if !translated && !objects.iter().any(|o| other_version(resource, &o.stored_version)) {
        return Ok(objects);
    }
    let mut out = Vec::with_capacity(objects.len());
    for object in objects {
        if !translated && !other_version(resource, &object.stored_version) {
            out.push(object);
            continue;
        }
        let value = present(plane, resource, &object).await?;
        let fields = object.facts.fields.to_vec();
        out.push(Arc::new(Draft::new(&value, resource.gvk.version.clone(), fields).seal(object.revision)));
    }
    Ok(out)
}

/// An object of the resource's version in the version to store.
pub(super) async fn to_stored(plane: &Plane, resource: &Resource, mut object: Value) -> Result<Value> {
    if translate::differs(resource) {
        translate::stored(resource, &mut object);
    } else if other_version(resource, &resource.stored_version) {
        let to = GroupVersionKind { version: resource.stored_version.clone(), ..resource.gvk.clone() };
        let conversion = resource.custom.as_ref().map(|c| &c.conversion).unwrap_or(&Value::Null);
        let mut converted = plane.hooks().convert.convert(conversion, &to, vec![object]).await?;
        object = converted.pop().unwrap_or_default();
        if let Some(custom) = plane.catalog().kind(&to).and_then(|stored| stored.custom.clone()) {
            // What the stored version does not know is lost, whatever the way there leaves in; its defaults come.
            schema::prune(&custom.structural, &mut object, true);
            schema::default(&custom.structural, &mut object);
        }
    }
    Ok(object)
}

/// The same objects in another version of their kind, unpruned; the error says that this cannot be done.
pub(super) async fn in_version(plane: &Plane, to: &Resource, objects: Vec<Value>) -> Result<Vec<Value>> {
    let conversion = to.custom.as_ref().map(|c| &c.conversion).unwrap_or(&Value::Null);
    plane.hooks().convert.convert(conversion, &to.gvk, objects).await
}

/// Whether a custom resource is stored in another version than the one spoken.
fn other_version(resource: &Resource, stored: &str) -> bool {
    resource.is_custom() && stored != resource.gvk.version.as_ref()
}

fn webhook_needed(resource: &Resource, stored: &str) -> bool {
    other_version(resource, stored)
        && resource.custom.as_ref().is_some_and(|c| c.conversion["strategy"] == "Webhook")
}

fn type_meta(value: &mut Value, resource: &Resource, version: &str) {
    let group = &resource.gvk.group;
    let api_version = if group.is_empty() { version.to_string() } else { format!("{group}/{version}") };
    value["kind"] = Value::String(resource.gvk.kind.to_string());
    value["apiVersion"] = Value::String(api_version);
}
