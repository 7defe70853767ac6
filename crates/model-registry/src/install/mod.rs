//! How the operator is installed: the names, labels and settings of the original's manifests. The webhooks' Service and
//! configurations follow once something serves them.

mod rights;

use k8s_openapi::{api::core::v1::ConfigMap, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use quintet_kit::{
    install::{Metrics, Operator, Site},
    parts::{meta::labels, resources},
};

use crate::config::Config;

const PREFIX: &str = "model-registry-operator-";
/// The original's leader election, so that it and we never write at once.
pub(crate) const LEASE: &str = "85f368d1.opendatahub.io";
/// Of a Job that users run; nothing of ours reads it.
const UPLOAD_IMAGE: &str = "quay.io/opendatahub/model-registry-job-async-upload:latest";

/// The operator's install at a site.
pub(crate) fn operator(site: &Site, config: &Config) -> Operator {
    let selector = labels([
        ("component.opendatahub.io/name", "model-registry-operator"),
        ("control-plane", "model-registry-operator"),
        ("opendatahub.io/component", "true"),
    ]);
    let kustomized = labels([
        ("app.kubernetes.io/created-by", "model-registry-operator"),
        ("app.kubernetes.io/managed-by", "kustomize"),
        ("app.kubernetes.io/part-of", "model-registry-operator"),
    ]);
    Operator {
        system: "model-registry",
        prefix: PREFIX,
        labels: selector.clone().into_iter().chain(kustomized).collect(),
        lease: LEASE,
        args: vec![],
        env: environment(config),
        resources: resources::defaults(&[("cpu", "100m"), ("memory", "256Mi")], &[("memory", "512Mi")]),
        settings: settings(site, config),
        metrics: Metrics {
            secret: format!("{PREFIX}controller-manager-metrics-service"),
            mount: "/etc/server-cert",
            review_role: "proxy-role",
            monitor: "model-registry-operator-controller-manager-metrics-monitor",
        },
        roles: vec![],
        original_rights: rights::ORIGINAL,
        reasons: rights::REASONS,
        selector,
    }
}

fn environment(config: &Config) -> Vec<(&'static str, String)> {
    let word = |on: bool| if on { "true" } else { "false" }.to_owned();
    let mut env = vec![
        ("REST_IMAGE", config.rest_image.clone()),
        ("KUBE_RBAC_PROXY_IMAGE", config.proxy_image.clone()),
        ("POSTGRES_IMAGE", config.postgres_image.clone()),
        ("CATALOG_DATA_IMAGE", config.catalog.data_image.clone()),
        ("BENCHMARK_DATA_IMAGE", config.catalog.benchmark_image.clone()),
        ("REGISTRIES_NAMESPACE", config.namespace.clone().unwrap_or_default()),
        ("ENABLE_MODEL_CATALOG", word(config.catalog.enabled)),
        ("SKIP_MODEL_CATALOG_DB_CREATION", word(config.catalog.skip_database)),
    ];
    // Only with the rights that go with it.
    if let Some(versions) = &config.migration {
        env.push(("STORAGE_MIGRATION_SOURCE_VERSION", versions.source.clone()));
        env.push(("STORAGE_MIGRATION_TARGET_VERSION", versions.target.clone()));
    }
    env
}

/// What the original's build copies into its manager's environment; platform operators rewrite it.
fn settings(site: &Site, config: &Config) -> ConfigMap {
    let namespace = config.namespace.as_deref().unwrap_or_default();
    let data = labels([
        ("IMAGES_MODELREGISTRY_OPERATOR", site.image.as_str()),
        ("IMAGES_REST_SERVICE", config.rest_image.as_str()),
        ("kube-rbac-proxy", config.proxy_image.as_str()),
        ("IMAGES_POSTGRES", config.postgres_image.as_str()),
        ("IMAGES_CATALOG_DATA", config.catalog.data_image.as_str()),
        ("IMAGES_BENCHMARK_DATA", config.catalog.benchmark_image.as_str()),
        ("IMAGES_JOBS_ASYNC_UPLOAD", UPLOAD_IMAGE),
        ("REGISTRIES_NAMESPACE", namespace),
    ]);
    let metadata = ObjectMeta { name: Some(format!("{PREFIX}parameters")), ..ObjectMeta::default() };
    ConfigMap { metadata, data: Some(data), ..ConfigMap::default() }
}
