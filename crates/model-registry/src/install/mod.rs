//! How the operator is installed: the names, labels and settings of the original's manifests.

mod rights;

use k8s_openapi::{
    api::{
        admissionregistration::v1::RuleWithOperations,
        core::v1::ConfigMap,
        rbac::v1::{ClusterRole, PolicyRule},
    },
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use quintet_api::model_registry::{ModelRegistry, v1alpha1};
use quintet_kit::{
    Kind,
    config::Differences,
    install::{Hooks, Labels, Metrics, Operator, Platform, Site},
    parts::{meta::labels, resources},
};
use serde_json::{Value, json};

use crate::config::{CATALOG_DATABASE, Config, DIFFERENCES};

/// What the names of the operator's own objects begin with.
pub(crate) const PREFIX: &str = "model-registry-operator-";
/// The original's leader election, so that it and we never write at once.
pub(crate) const LEASE: &str = "85f368d1.opendatahub.io";
/// Of a Job that users run; nothing of ours reads it.
const UPLOAD_IMAGE: &str = "quay.io/opendatahub/model-registry-job-async-upload:latest";
/// Of a program that is deployed no more.
const OAUTH_PROXY_IMAGE: &str = "quay.io/openshift/origin-oauth-proxy:latest";
const UPLOAD: &str = include_str!("upload_template.yaml");
/// Settings that the original's manifests change: what is stored in the old version is moved.
pub const INSTALLED: [(&str, &str); 2] =
    [("STORAGE_MIGRATION_SOURCE_VERSION", "v1alpha1"), ("STORAGE_MIGRATION_TARGET_VERSION", "v1beta1")];
/// Where the manager finds the certificate of its metrics.
const METRICS_MOUNT: &str = "/etc/server-cert";
/// Where the original's manager finds the certificate of its webhooks.
pub const WEBHOOK_MOUNT: &str = "/tmp/k8s-webhook-server/serving-certs";

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
        settings: settings(site, config, &selector),
        metrics: Metrics {
            secret: format!("{PREFIX}controller-manager-metrics-service"),
            volume: "server-cert",
            mode: Some(0o600),
            mount: METRICS_MOUNT,
            flags: vec![
                "--metrics-secure=true".into(),
                format!("--metrics-cert-dir={METRICS_MOUNT}/"),
                "--metrics-cert-name=tls.crt".into(),
                "--metrics-key-name=tls.key".into(),
            ],
            review_role: "proxy-role",
            monitor: "model-registry-operator-controller-manager-metrics-monitor",
        },
        webhooks: config.webhooks.then(hooks),
        roles: vec![
            role(
                "modelregistry-editor-role",
                &["create", "delete", "get", "list", "patch", "update", "watch"],
            ),
            role("modelregistry-viewer-role", &["get", "list", "watch"]),
        ],
        others: (site.platform == Platform::OpenShift).then(|| upload(site, &selector)).into_iter().collect(),
        original_rights: rights::ORIGINAL,
        reasons: rights::REASONS,
        reserves: rights::RESERVES,
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
        ("DEFAULT_DOMAIN", config.default_domain.clone().unwrap_or_default()),
        ("ENABLE_WEBHOOKS", word(config.webhooks)),
    ];
    // Only with the rights that go with it.
    if let Some(versions) = &config.migration {
        env.push(("STORAGE_MIGRATION_SOURCE_VERSION", versions.source.clone()));
        env.push(("STORAGE_MIGRATION_TARGET_VERSION", versions.target.clone()));
    }
    // What the original's install leaves to its defaults is told only where it differs.
    let (user, database) = (config.catalog.user.clone(), config.catalog.database.clone());
    let named = [("CATALOG_POSTGRES_USER", user), ("CATALOG_POSTGRES_DATABASE", database)];
    let defaults = [CATALOG_DATABASE.0, CATALOG_DATABASE.1];
    let told = named.into_iter().zip(defaults).filter(|((_, value), default)| value != default);
    env.extend(told.map(|(setting, _)| setting));
    let switches = config.differences.switches(&DIFFERENCES);
    env.extend(switches.map(|switches| (Differences::VARIABLE.name, switches)));
    env
}

/// What the API server is told of the webhooks.
fn hooks() -> Hooks {
    let texts = |list: &[&str]| Some(list.iter().map(|&text| text.to_owned()).collect());
    let new = ModelRegistry::gvk();
    let rule = RuleWithOperations {
        api_groups: texts(&[&new.group]),
        api_versions: texts(&[&v1alpha1::ModelRegistry::gvk().version, &new.version]),
        operations: texts(&["CREATE", "UPDATE"]),
        resources: texts(&[&new.plural]),
        ..RuleWithOperations::default()
    };
    // The original names its own versions here; of them the API server knows v1beta1, and so reviews come in that.
    let reviews = &["v1beta1", "v1alpha1"];
    Hooks { rule, reviews, converted: vec![new.crd_name()], mount: WEBHOOK_MOUNT }
}

/// A role for people.
fn role(name: &str, verbs: &[&str]) -> ClusterRole {
    let gvk = ModelRegistry::gvk();
    let rule = |resource: String, verbs: &[&str]| PolicyRule {
        api_groups: Some(vec![gvk.group.clone()]),
        resources: Some(vec![resource]),
        verbs: verbs.iter().map(|&verb| verb.to_owned()).collect(),
        ..PolicyRule::default()
    };
    ClusterRole {
        metadata: ObjectMeta { name: Some(name.into()), ..ObjectMeta::default() },
        rules: Some(vec![rule(gvk.plural.clone(), verbs), rule(format!("{}/status", gvk.plural), &["get"])]),
        aggregation_rule: None,
    }
}

/// The template of a Job that users run; nothing of ours looks at it.
fn upload(site: &Site, labels: &Labels) -> Value {
    let mut template: Value = serde_saphyr::from_str(UPLOAD).expect("a fixed text, read by a test");
    template["metadata"]["namespace"] = json!(site.namespace);
    template["metadata"]["labels"] = json!(labels);
    let parameters = template["parameters"].as_array_mut().into_iter().flatten();
    for parameter in parameters.filter(|parameter| parameter["name"] == "JOB_IMAGE") {
        parameter["value"] = UPLOAD_IMAGE.into();
    }
    template
}

/// What the original's build copies into its manager's environment; platform operators rewrite it.
fn settings(site: &Site, config: &Config, labelled: &Labels) -> ConfigMap {
    let namespace = config.namespace.as_deref().unwrap_or_default();
    // Empty is how the original's build says "as it is by default".
    let unless = |is_default: bool, word: &'static str| if is_default { "" } else { word };
    let data = labels([
        ("IMAGES_MODELREGISTRY_OPERATOR", site.image.as_str()),
        ("IMAGES_REST_SERVICE", config.rest_image.as_str()),
        ("IMAGES_OAUTH_PROXY", OAUTH_PROXY_IMAGE),
        ("kube-rbac-proxy", config.proxy_image.as_str()),
        ("IMAGES_POSTGRES", config.postgres_image.as_str()),
        ("IMAGES_CATALOG_DATA", config.catalog.data_image.as_str()),
        ("IMAGES_BENCHMARK_DATA", config.catalog.benchmark_image.as_str()),
        ("IMAGES_JOBS_ASYNC_UPLOAD", UPLOAD_IMAGE),
        ("REGISTRIES_NAMESPACE", namespace),
        ("ENABLE_MODEL_CATALOG", unless(config.catalog.enabled, "false")),
        ("SKIP_MODEL_CATALOG_DB_CREATION", unless(!config.catalog.skip_database, "true")),
        ("CREATE_AUTH_RESOURCES", "true"),
        ("GATEWAY_DOMAIN", ""),
        ("DEFAULT_CERT", ""),
    ]);
    let metadata = ObjectMeta {
        name: Some(format!("{PREFIX}parameters")),
        labels: Some(labelled.clone()),
        ..ObjectMeta::default()
    };
    ConfigMap { metadata, data: Some(data), ..ConfigMap::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(platform: Platform) -> Site {
        Site { namespace: "home".into(), image: "i".into(), platform, webhook_url: None }
    }

    #[test]
    fn the_template_is_for_openshift_alone_and_names_the_jobs_image() {
        let config = Config::new(|_| None).unwrap();
        assert!(operator(&site(Platform::Kubernetes), &config).others.is_empty());
        let others = operator(&site(Platform::OpenShift), &config).others;
        assert_eq!(others[0]["metadata"]["namespace"], "home");
        assert_eq!(others[0]["parameters"][0]["value"], UPLOAD_IMAGE);
    }

    #[test]
    fn without_webhooks_nothing_is_told_of_them() {
        let off = Config::new(|name| (name == "ENABLE_WEBHOOKS").then(|| "false".into())).unwrap();
        let operator = operator(&site(Platform::Kubernetes), &off);
        assert!(operator.webhooks.is_none());
        assert!(operator.env.contains(&("ENABLE_WEBHOOKS", "false".into())));
    }
}
