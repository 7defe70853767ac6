//! What the catalog consists of. No object of it has an owner: they are known by their labels.

use std::collections::BTreeMap;

use k8s_openapi::{
    api::core::v1::{ConfigMap, ServiceAccount},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use quintet_kit::{Adopt, Child, Desired, WritePolicy, parts::meta};

use crate::Config;

pub(super) const COMPONENTS: &str = "model-catalog,model-catalog-postgres";
pub(super) const CREATED_BY: (&str, &str) = ("app.kubernetes.io/created-by", "model-registry-operator");

/// The account that the catalog's server runs as, and the ConfigMaps that users list sources in: made when they are
/// missing, and then the users' own.
pub fn desired(config: &Config) -> Desired {
    let account = ServiceAccount { metadata: named(config, "model-catalog"), ..ServiceAccount::default() };
    Desired::new()
        .with(Child::new(account).adopt(Adopt::Uncontrolled))
        .with(sources(config, "model-catalog-sources", "catalogs: []"))
        .with(sources(config, "mcp-catalog-sources", "mcp_catalogs: []"))
}

fn sources(config: &Config, name: &str, empty: &str) -> Child {
    let data = BTreeMap::from([("sources.yaml".to_owned(), empty.to_owned())]);
    let map = ConfigMap { metadata: named(config, name), data: Some(data), ..ConfigMap::default() };
    Child::new(map).policy(WritePolicy::CreateOnly).adopt(Adopt::Always)
}

fn named(config: &Config, name: &str) -> ObjectMeta {
    let catalog = "model-catalog";
    let labels = meta::labels([
        ("app", catalog),
        ("component", catalog),
        ("app.kubernetes.io/name", catalog),
        ("app.kubernetes.io/instance", catalog),
        ("app.kubernetes.io/component", catalog),
        CREATED_BY,
        ("app.kubernetes.io/part-of", catalog),
        ("app.kubernetes.io/managed-by", "model-registry-operator"),
    ]);
    ObjectMeta {
        name: Some(name.into()),
        namespace: Some(config.namespace.clone()),
        labels: Some(labels),
        ..ObjectMeta::default()
    }
}
