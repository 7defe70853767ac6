//! The environment of the server and of the garbage-collection job.

use k8s_openapi::api::core::v1::{EnvFromSource, EnvVar};
use quintet_kit::parts::{
    ca_bundle,
    env::{self, Environment},
};

use super::plan::{Plan, Store};
use crate::mlflow::names::PORT;

const BACKEND: &str = "MLFLOW_BACKEND_STORE_URI";
const CIPHERS: &str = "UVICORN_SSL_CIPHERS";
const WORKSPACES: &str = "MLFLOW_K8S_WORKSPACE_LABEL_SELECTOR";

/// The server's. An entry of the resource replaces the operator's of the same name, in its place.
pub(super) fn server(plan: &Plan<'_>) -> Vec<EnvVar> {
    let mut entries = Environment::new();
    entries.operator(env::value("MLFLOW_DISABLE_TELEMETRY", "true"));
    entries.operator(env::value("MLFLOW_SERVER_ENABLE_JOB_EXECUTION", "false"));
    entries.operator(store(BACKEND, &plan.backend));
    if let Some(registry) = &plan.registry {
        entries.operator(store("MLFLOW_REGISTRY_STORE_URI", registry));
    }
    entries.operator(env::value("MLFLOW_K8S_AUTH_AUTHORIZATION_MODE", "self_subject_access_review"));
    entries.operator(env::value("MLFLOW_SERVER_CORS_ALLOWED_ORIGINS", origins(plan)));
    workspaces(plan).into_iter().for_each(|entry| entries.operator(entry));
    plan.mlflow.spec.env.iter().flatten().for_each(|entry| entries.user(entry));
    if plan.openshift() && !entries.has(CIPHERS) {
        // OpenShift sets TLS policy for the whole system.
        entries.operator(env::value(CIPHERS, "PROFILE=SYSTEM"));
    }
    // Without it anybody could do anything; the definition refuses it too.
    entries.fixed(env::value("MLFLOW_SERVER_DISABLE_SECURITY_MIDDLEWARE", "false"));
    ca_bundle(plan).into_iter().for_each(|entry| entries.operator(entry));
    entries.build()
}

/// The job's. It does not get the resource's own entries.
pub(super) fn garbage_collection(plan: &Plan<'_>) -> Vec<EnvVar> {
    let mut entries = vec![
        env::value("MLFLOW_DISABLE_TELEMETRY", "true"),
        env::value("MLFLOW_ENABLE_WORKSPACES", "true"),
        env::value("MLFLOW_WORKSPACE_STORE_URI", "kubernetes://"),
    ];
    entries.extend(workspaces(plan));
    entries.extend([
        store(BACKEND, &plan.backend),
        env::value("MLFLOW_TRACKING_URI", plan.names.url()),
        env::value("MLFLOW_TRACKING_INSECURE_TLS", "false"),
        env::value("MLFLOW_TRACKING_AUTH", "kubernetes"),
    ]);
    entries.extend(ca_bundle(plan));
    entries
}

/// ConfigMaps and Secrets that both get.
pub(super) fn from(plan: &Plan<'_>) -> Option<Vec<EnvFromSource>> {
    plan.mlflow.spec.env_from.clone().filter(|sources| !sources.is_empty())
}

/// The backend's URI as an argument: from a Secret by way of the environment.
pub(super) fn backend_argument(plan: &Plan<'_>) -> String {
    match &plan.backend {
        Store::Secret(_) => format!("--backend-store-uri=$({BACKEND})"),
        Store::Inline(uri) => format!("--backend-store-uri={uri}"),
    }
}

fn store(name: &str, store: &Store) -> EnvVar {
    match store {
        Store::Inline(uri) => env::value(name, uri),
        Store::Secret(key) => env::secret(name, key.clone()),
    }
}

fn workspaces(plan: &Plan<'_>) -> Option<EnvVar> {
    plan.workspaces.as_ref().map(|selector| env::value(WORKSPACES, selector))
}

/// Points every library that speaks TLS to the combined bundle. Databases are then verified too.
fn ca_bundle(plan: &Plan<'_>) -> Vec<EnvVar> {
    if plan.ca.is_empty() {
        return vec![];
    }
    let bundle = |name: &str| env::value(name, ca_bundle::COMBINED);
    vec![
        bundle("SSL_CERT_FILE"),
        bundle("REQUESTS_CA_BUNDLE"),
        bundle("CURL_CA_BUNDLE"),
        bundle("AWS_CA_BUNDLE"),
        bundle("PGSSLROOTCERT"),
        env::value("PGSSLMODE", "verify-full"),
        bundle("MLFLOW_MYSQL_CA"),
        env::value("MLFLOW_S3_IGNORE_TLS", "false"),
    ]
}

/// From where browsers may call: the Service by its names, this machine, the gateway, and what the resource adds.
fn origins(plan: &Plan<'_>) -> String {
    let (name, host) = (plan.names.server(), plan.names.host());
    let fixed = [
        format!("https://{name}:{PORT}"),
        format!("https://{host}:{PORT}"),
        format!("https://{host}.cluster.local:{PORT}"),
        "localhost:*".into(),
        "127.0.0.1:*".into(),
    ];
    let added = plan.mlflow.spec.extra_allowed_origins.iter().flatten().map(|origin| origin.trim());
    let added = added.filter(|origin| !origin.is_empty() && !origin.contains(',')).map(str::to_owned);
    fixed.into_iter().chain(plan.config.url.origin()).chain(added).collect::<Vec<_>>().join(",")
}
