//! The catalog's controller on an API server in this process: no custom resource, no owner, one key.

use std::{sync::Arc, time::Duration};

use k8s_openapi::{
    api::core::v1::{ConfigMap, Namespace, ServiceAccount},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api,
    api::{DynamicObject, Patch, PatchParams, PostParams},
};
use plane::Plane;
use quintet_kit::{
    Context, Desired, Fence, Manager, System,
    metrics::Metrics,
    run::{Fatal, Observed, RenderError, Settings, Started},
    wiring::SystemRows,
};
use quintet_model_registry::{Config, catalog};
use serde_json::json;

const NAMESPACE: &str = "odh-model-registries";

/// The catalog alone, as a system.
struct Catalog(Config);

impl System for Catalog {
    fn name(&self) -> &'static str {
        "model-registry"
    }
    fn rows(&self) -> SystemRows {
        SystemRows { controllers: vec![catalog::wiring(&self.0).rows().clone()], ..SystemRows::default() }
    }
    fn crds(&self) -> Vec<CustomResourceDefinition> {
        vec![]
    }
    fn render(&self, _: &DynamicObject, _: &Observed) -> Result<Desired, RenderError> {
        Ok(catalog::desired(&self.0))
    }
    fn start(
        &self,
        context: Context,
    ) -> std::pin::Pin<Box<dyn Future<Output = Result<Started, Fatal>> + Send + '_>> {
        let controller = catalog::controller(&context, self.0.clone());
        Box::pin(async { Ok(Started::new().controller(controller)) })
    }
}

#[tokio::test(start_paused = true)]
async fn the_catalog_is_made_without_anybody_asking_and_users_keep_their_sources() {
    let plane = Plane::new();
    let namespace: Namespace = serde_json::from_value(json!({ "metadata": { "name": NAMESPACE } })).unwrap();
    Api::all(plane.client()).create(&PostParams::default(), &namespace).await.unwrap();
    let stop = tokio_util::sync::CancellationToken::new();
    let config = Config::new(NAMESPACE).unwrap().unwrap();
    let manager = Manager::new(plane.client(), Metrics::new(), Settings::default());
    tokio::spawn(manager.with(Arc::new(Catalog(config)), Fence::open()).run(stop.clone()));
    let _stop = stop.drop_guard();
    let settle = || tokio::time::sleep(Duration::from_secs(5));
    settle().await;

    let accounts: Api<ServiceAccount> = Api::namespaced(plane.client(), NAMESPACE);
    let maps: Api<ConfigMap> = Api::namespaced(plane.client(), NAMESPACE);
    let account = accounts.get("model-catalog").await.unwrap();
    assert_eq!(account.metadata.labels.as_ref().unwrap()["component"], "model-catalog");
    assert!(account.metadata.owner_references.is_none());
    let sources = |map: &ConfigMap| map.data.as_ref().unwrap()["sources.yaml"].clone();
    assert_eq!(sources(&maps.get("model-catalog-sources").await.unwrap()), "catalogs: []");
    assert_eq!(sources(&maps.get("mcp-catalog-sources").await.unwrap()), "mcp_catalogs: []");

    accounts.delete("model-catalog", &Default::default()).await.unwrap();
    let mine = Patch::Merge(json!({ "data": { "sources.yaml": "catalogs: [mine]" } }));
    maps.patch("model-catalog-sources", &PatchParams::default(), &mine).await.unwrap();
    settle().await;
    assert!(accounts.get_opt("model-catalog").await.unwrap().is_some(), "made again");
    assert_eq!(sources(&maps.get("model-catalog-sources").await.unwrap()), "catalogs: [mine]", "the user's");

    let mark = plane.requests().mark();
    tokio::time::sleep(Duration::from_secs(300)).await;
    assert!(plane.requests().writes(mark).is_empty(), "at rest nothing is written");
}
