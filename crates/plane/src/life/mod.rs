//! The life of objects beyond single requests: namespaces, custom resource definitions, garbage collection, expiry.

mod collector;
mod crd;
mod emptying;
mod expiry;
mod namespace;

use std::sync::{Arc, Weak};
use std::time::Duration;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use self::collector::Collector;
use self::emptying::Emptying;
use self::expiry::Expiry;
use crate::Plane;
use crate::builtin;
use crate::plane::Inner;
use crate::plugins;
use crate::resource::Resource;
use crate::status::{Details, Error, Result};
use crate::store::{Object, Store};

/// After a failure, how long until the controllers try again.
const RETRY: Duration = Duration::from_secs(1);

/// Makes the system namespaces and starts the plane's controllers, which run until `stop`.
pub(crate) fn start(plane: &Plane, stop: CancellationToken) {
    namespace::bootstrap(plane);
    plugins::bootstrap_priorities(plane);
    let (inner, store) = (Arc::downgrade(&plane.inner), plane.store().clone());
    tokio::spawn(stop.run_until_cancelled_owned(run(inner, store)));
}

/// Follows all changes. Holds no plane while it waits, so that dropping the last one ends it.
async fn run(inner: Weak<Inner>, store: Arc<Store>) {
    let mut feed = store.feed(0);
    let (mut collector, mut emptying, mut expiry) =
        (Collector::default(), Emptying::default(), Expiry::default());
    let (mut again, mut failed) = (Vec::new(), false);
    loop {
        let retry = !again.is_empty() || failed;
        let changes = tokio::select! {
            changes = feed.next(&store) => Some(changes),
            () = tokio::time::sleep(RETRY), if retry => None,
            () = expiry.next() => None,
        };
        expiry.work(&store);
        let Some(inner) = inner.upgrade() else { return };
        let plane = Plane { inner };
        match changes {
            Some(Some(changes)) => {
                for change in &changes {
                    collector.observe(&plane, change);
                    emptying.observe(&plane, change);
                    expiry.observe(change);
                }
            }
            // More happened than the history holds: look at everything.
            Some(None) => {
                store.locations().into_iter().for_each(|location| collector.add(location));
                emptying.all(&plane);
            }
            None => {}
        }
        std::mem::take(&mut again).into_iter().for_each(|location| collector.add(location));
        again = collector.work(&plane).await;
        failed = emptying.work(&plane).await;
    }
}

/// Whether this is a built-in kind of that name.
fn is(resource: &Resource, group: &str, kind: &str) -> bool {
    !resource.is_custom() && resource.gvk.group.as_ref() == group && resource.gvk.kind.as_ref() == kind
}

/// A definition that goes makes no new objects.
pub(crate) fn admit_create(plane: &Plane, resource: &Resource) -> Result<()> {
    match &resource.custom {
        Some(custom) if crd::is_going(plane, &custom.crd) => {
            let details = Details {
                group: resource.names.group.to_string(),
                kind: resource.names.plural.to_string(),
                ..Details::default()
            };
            let message = "create not allowed while custom resource definition is terminating";
            Err(Error::new(405, "MethodNotAllowed", message).with_details(details))
        }
        _ => Ok(()),
    }
}

/// Objects are made only in namespaces that exist and stay.
pub(crate) fn admit_namespace(plane: &Plane, resource: &Resource, namespace: &str, name: &str) -> Result<()> {
    if resource.namespaced() { namespace::admit(plane, resource, namespace, name) } else { Ok(()) }
}

/// What the server adds to new objects of some kinds.
pub(crate) fn prepare_create(resource: &Resource, object: &mut Value) {
    if is(resource, "", "Namespace") {
        namespace::prepare(object);
    } else if is(resource, "apiextensions.k8s.io", "CustomResourceDefinition") {
        crd::prepare(object);
    } else if !resource.is_custom() {
        builtin::prepare_create(&resource.gvk, object);
    }
}

/// What the server adds to changed objects of some kinds.
pub(crate) fn prepare_update(resource: &Resource, object: &mut Value) {
    if is(resource, "apiextensions.k8s.io", "CustomResourceDefinition") {
        crd::note_stored_versions(object);
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
