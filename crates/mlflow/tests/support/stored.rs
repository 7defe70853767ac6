//! What a server holds.

use k8s_openapi::{
    api::core::v1::ConfigMap, apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client, ResourceExt,
    api::{DynamicObject, ListParams},
    core::TypeMeta,
    discovery::ApiResource,
};

use super::{Objects, id, server::child_kinds, shorten};

/// Every object that an MLflow owns, without what the server or its controllers fill in.
pub async fn owned(admin: &Client) -> Objects {
    let mut found = Objects::new();
    for object in everything(admin).await {
        if !object.owner_references().iter().any(|owner| owner.kind == "MLflow") {
            continue;
        }
        let mut value = serde_json::to_value(object).expect("an object");
        shorten(&mut value);
        value.as_object_mut().expect("an object").remove("status");
        let metadata = value["metadata"].as_object_mut().expect("metadata");
        ["managedFields", "resourceVersion"].iter().for_each(|field| drop(metadata.remove(*field)));
        found.insert(id(&value), value);
    }
    found
}

/// Every stored object that the operator may look at.
pub async fn everything(admin: &Client) -> Vec<DynamicObject> {
    let mut kinds = child_kinds();
    kinds.push(ApiResource::erase::<ConfigMap>(&()));
    kinds.push(ApiResource::erase::<CustomResourceDefinition>(&()));
    let mut found = vec![];
    for kind in kinds {
        let api: Api<DynamicObject> = Api::all_with(admin.clone(), &kind);
        let Ok(list) = api.list(&ListParams::default()).await else { continue }; // not served
        let types = TypeMeta { api_version: kind.api_version.clone(), kind: kind.kind.clone() };
        found.extend(list.into_iter().map(|object| DynamicObject { types: Some(types.clone()), ..object }));
    }
    found
}
