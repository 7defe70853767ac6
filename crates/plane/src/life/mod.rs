//! The life of objects beyond single requests: namespaces, custom resource definitions, garbage collection.

mod crd;
mod namespace;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::Plane;
use crate::resource::Resource;
use crate::status::{Error, Result};
use crate::store::Object;

/// Starts the plane's controllers and makes the system namespaces.
pub(crate) fn start(plane: &Plane, _stop: CancellationToken) {
    namespace::bootstrap(plane);
}

/// Whether this is a built-in kind of that name.
fn is(resource: &Resource, group: &str, kind: &str) -> bool {
    !resource.is_custom() && resource.gvk.group.as_ref() == group && resource.gvk.kind.as_ref() == kind
}

/// Objects are made only in namespaces that exist and stay.
pub(crate) fn admit_namespace(plane: &Plane, resource: &Resource, namespace: &str, name: &str) -> Result<()> {
    if resource.namespaced() { namespace::admit(plane, resource, namespace, name) } else { Ok(()) }
}

/// What the server adds to new objects of some kinds.
pub(crate) fn prepare_create(plane: &Plane, resource: &Resource, object: &mut Value) {
    if is(resource, "", "Namespace") {
        namespace::prepare(object);
    } else if is(resource, "apiextensions.k8s.io", "CustomResourceDefinition") {
        crd::prepare(plane, object);
    }
}

/// Some objects may not be deleted.
pub(crate) fn admit_delete(_: &Plane, resource: &Resource, name: &str) -> Result<()> {
    if is(resource, "", "Namespace") && matches!(name, "default" | "kube-system" | "kube-public") {
        return Err(Error::forbidden(&resource.names, name, "this namespace may not be deleted"));
    }
    Ok(())
}

/// What the first DELETE adds to objects of some kinds.
pub(crate) fn prepare_delete(plane: &Plane, resource: &Resource, object: &mut Value) {
    if is(resource, "", "Namespace") {
        object["status"]["phase"] = json!("Terminating");
    } else if is(resource, "apiextensions.k8s.io", "CustomResourceDefinition") {
        crd::prepare_delete(plane, object);
    }
}

/// Whether something still holds an object that is being deleted.
pub(crate) fn held(resource: &Resource, object: &Value) -> bool {
    let any = |list: &Value| list.as_array().is_some_and(|all| !all.is_empty());
    any(&object["metadata"]["finalizers"])
        || (is(resource, "", "Namespace") && any(&object["spec"]["finalizers"]))
}

/// Called after every write that stored something.
pub(crate) fn stored(plane: &Plane, resource: &Resource, object: &Object) {
    if is(resource, "apiextensions.k8s.io", "CustomResourceDefinition") {
        crd::stored(plane, object);
    }
}

/// Called after an object went.
pub(crate) fn removed(plane: &Plane, resource: &Resource, object: &Object) {
    if is(resource, "apiextensions.k8s.io", "CustomResourceDefinition") {
        crd::removed(plane, object);
    }
}
