//! Namespaces: there at the start, required by what lives in them, emptied before they go.

use serde_json::{Value, json};

use crate::Plane;
use crate::clock;
use crate::resource::Resource;
use crate::status::{Error, Result};
use crate::store::{Draft, Expect, TableId};

/// The namespaces every cluster has.
const SYSTEM: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

fn table() -> TableId {
    TableId::new("", "namespaces")
}

/// Makes the system namespaces.
pub(super) fn bootstrap(plane: &Plane) {
    for name in SYSTEM {
        let mut namespace = json!({
            "metadata": {
                "name": name,
                "uid": uuid::Uuid::new_v4().to_string(),
                "creationTimestamp": clock::seconds(plane.clock().now()),
            },
        });
        prepare(&mut namespace);
        let fields = vec![("status.phase".into(), "Active".into())];
        // A fresh store has no namespaces, so nothing can be in the way.
        let _ = plane.store().put(&table(), &Draft::new(&namespace, "v1".into(), fields), Expect::Absent);
    }
}

/// Label, finalizer and phase of a new namespace.
pub(super) fn prepare(namespace: &mut Value) {
    let name = namespace["metadata"]["name"].clone();
    namespace["metadata"]["labels"]["kubernetes.io/metadata.name"] = name;
    namespace["spec"]["finalizers"] = json!(["kubernetes"]);
    namespace["status"] = json!({"phase": "Active"});
}

/// Objects are made only in namespaces that exist and stay.
pub(super) fn admit(plane: &Plane, resource: &Resource, namespace: &str, name: &str) -> Result<()> {
    let found = plane.store().get(&table(), namespace);
    match found {
        Some(found) if found.facts.deleting => {
            Err(crate::write::namespace_terminating(&resource.names, name, namespace))
        }
        Some(_) => Ok(()),
        None => {
            let catalog = plane.catalog();
            let namespaces = catalog.find("", "v1", "namespaces");
            Err(namespaces.map_or_else(Error::unknown_resource, |r| Error::not_found(&r.names, namespace)))
        }
    }
}
