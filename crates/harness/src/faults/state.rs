//! What a server holds, without what differs from run to run.

use std::collections::BTreeMap;

use kube::{
    Api, Client,
    api::{DynamicObject, ListParams},
    discovery::ApiResource,
};
use serde_json::Value;

/// Every object of these kinds, by `Kind namespace/name`, normalised.
///
/// # Errors
/// If a kind cannot be listed; one that is not served has no objects.
pub async fn objects(client: &Client, kinds: &[ApiResource]) -> kube::Result<BTreeMap<String, Value>> {
    let mut found = BTreeMap::new();
    for kind in kinds {
        let api: Api<DynamicObject> = Api::all_with(client.clone(), kind);
        let list = match api.list(&ListParams::default()).await {
            Err(kube::Error::Api(status)) if status.code == 404 => continue,
            list => list?,
        };
        for object in list {
            let meta = &object.metadata;
            let place = meta.namespace.as_deref().map(|ns| format!("{ns}/")).unwrap_or_default();
            let id = format!("{} {place}{}", kind.kind, meta.name.as_deref().unwrap_or_default());
            let mut value = serde_json::to_value(&object).map_err(kube::Error::SerdeError)?;
            normalise(&mut value);
            found.insert(id, value);
        }
    }
    Ok(found)
}

/// Takes away what differs from run to run: identities, addresses, versions, times, and who wrote what.
pub fn normalise(value: &mut Value) {
    const FLEETING: [&str; 10] = [
        "clusterIP",
        "clusterIPs",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "managedFields",
        "lastTransitionTime",
        "observedGeneration",
        "lastUpdateTime",
    ];
    match value {
        Value::Object(fields) => {
            FLEETING.iter().for_each(|name| drop(fields.remove(*name)));
            fields.values_mut().for_each(normalise);
        }
        Value::Array(items) => items.iter_mut().for_each(normalise),
        _ => {}
    }
}
