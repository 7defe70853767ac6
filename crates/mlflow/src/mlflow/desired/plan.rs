//! What several children need, worked out once: names, stores, CA bundles, the parts that all pods share.

use k8s_openapi::{
    api::core::v1::{Container, PodSpec, SecretKeySelector, Volume, VolumeMount},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use quintet_api::mlflow::{DEFAULT_SERVICE_ACCOUNT, ImagePullPolicy, MLflow};
use quintet_kit::parts::{
    ca_bundle::{CaBundles, Source},
    meta, security,
    selector::{self, SelectorError},
    volume,
};

use crate::{
    Config,
    config::{PLATFORM_CA_BUNDLE, difference},
    mlflow::{
        names::{GC_SERVICE_ACCOUNT, Names},
        read::Inputs,
    },
};

/// The volume with databases and artifacts in files.
const STORAGE: &str = "mlflow-storage";

/// Why the children of a resource cannot be built. The texts up to the colon are the original's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// The selector of workspaces is none.
    #[error("failed to convert MLflow spec to Helm values: invalid workspaceLabelSelector: {0}")]
    WorkspaceSelector(#[from] SelectorError),
    /// A resource stored before the definition asked for a backend, with an empty one.
    #[error("failed to render templates: mlflow.backendStoreUri or mlflow.backendStoreUriFrom must be set")]
    NoBackend,
    /// A Secret without name or key.
    #[error("failed to render templates: mlflow.{0}.secretKeyRef must include non-empty 'name' and 'key'")]
    SecretKey(&'static str),
    /// One account cannot be both the server's and the job's.
    #[error(
        "serviceAccountName must not be {GC_SERVICE_ACCOUNT:?} while garbageCollection is set: \
         the garbage-collection job has an account of that name; choose another name"
    )]
    AccountTaken,
    /// The pods declare no resource claims.
    #[error(
        "{0}.claims is not supported: the pods that the operator makes declare no resource claims; remove it"
    )]
    Claims(&'static str),
}

/// Where a store's URI comes from.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Store {
    /// The resource itself.
    Inline(String),
    /// A Secret.
    Secret(SecretKeySelector),
}

/// A resource that can be built, with what several children need.
pub(super) struct Plan<'a> {
    pub(super) mlflow: &'a MLflow,
    pub(super) config: &'a Config,
    pub(super) inputs: &'a Inputs,
    pub(super) names: Names,
    pub(super) ca: CaBundles,
    pub(super) backend: Store,
    /// None if the resource sets an empty one.
    pub(super) registry: Option<Store>,
    /// None if every namespace is a workspace.
    pub(super) workspaces: Option<String>,
}

impl<'a> Plan<'a> {
    pub(super) fn new(
        mlflow: &'a MLflow,
        config: &'a Config,
        inputs: &'a Inputs,
    ) -> Result<Self, RenderError> {
        let spec = &mlflow.spec;
        let (backend, registry) = stores(mlflow)?;
        let workspaces = spec.workspace_label_selector.as_ref().map(selector::text).transpose()?;
        let claims = |r: &Option<k8s_openapi::api::core::v1::ResourceRequirements>| {
            r.as_ref().and_then(|r| r.claims.as_ref()).is_some_and(|claims| !claims.is_empty())
        };
        if claims(&spec.resources) {
            return Err(RenderError::Claims("resources"));
        }
        if spec.garbage_collection.as_ref().is_some_and(|gc| claims(&gc.resources)) {
            return Err(RenderError::Claims("garbageCollection.resources"));
        }
        if spec.garbage_collection.is_some() && spec.service_account_name == GC_SERVICE_ACCOUNT {
            return Err(RenderError::AccountTaken);
        }
        let platform = inputs.platform_ca.then(|| Source {
            config_map: PLATFORM_CA_BUNDLE.into(),
            directory: "/etc/pki/tls/certs/platform",
        });
        let custom = spec
            .ca_bundle_config_map
            .as_ref()
            .map(|bundle| Source { config_map: bundle.name.clone(), directory: "/etc/pki/tls/certs/custom" });
        // Another text in the pod template would restart the servers that the original made.
        let kept = inputs.original_scripts.clone();
        let kept = kept.filter(|_| !config.differences.has(difference::CA_SCRIPTS));
        let scripts = kept.unwrap_or_default();
        Ok(Plan {
            mlflow,
            config,
            inputs,
            names: Names::of(mlflow, &config.namespace),
            ca: platform.into_iter().chain(custom).collect::<CaBundles>().with_scripts(scripts),
            backend,
            registry,
            workspaces: workspaces.filter(|text| !text.is_empty()),
        })
    }

    /// True on OpenShift.
    pub(super) fn openshift(&self) -> bool {
        self.inputs.apis.console_link
    }

    /// The server's account; an empty name is none.
    pub(super) fn service_account(&self) -> &'a str {
        Some(self.mlflow.spec.service_account_name.as_str())
            .filter(|name| !name.is_empty())
            .unwrap_or(DEFAULT_SERVICE_ACCOUNT)
    }

    /// Metadata of one of the server's objects in the operator's namespace.
    pub(super) fn meta(&self, name: impl Into<String>) -> ObjectMeta {
        let owner = meta::controller_of(self.mlflow);
        meta::child(name, Some(&self.config.namespace), self.names.labels(), owner)
    }

    /// Metadata of one of the garbage collection's objects in the operator's namespace.
    pub(super) fn gc_meta(&self, name: impl Into<String>) -> ObjectMeta {
        ObjectMeta { labels: Some(self.names.gc_labels()), ..self.meta(name) }
    }

    /// Volumes of either pod, to begin with: scratch space, and the claim.
    pub(super) fn volumes(&self) -> Vec<Volume> {
        let claim = self.mlflow.spec.storage.as_ref().map(|_| volume::claim(STORAGE, self.names.claim()));
        [volume::scratch("tmp", Some("128Mi"))].into_iter().chain(claim).collect()
    }

    /// Where they are mounted.
    pub(super) fn mounts(&self) -> Vec<VolumeMount> {
        let claim = self.mlflow.spec.storage.as_ref().map(|_| volume::mount(STORAGE, "/mlflow"));
        [volume::mount("tmp", "/tmp")].into_iter().chain(claim).collect()
    }

    /// A container of either pod: image, pull policy and security context.
    pub(super) fn container(&self, name: &str) -> Container {
        let spec = &self.mlflow.spec;
        let image = spec.image.as_ref().and_then(|i| i.image.clone()).filter(|image| !image.is_empty());
        let policy = spec.image.as_ref().and_then(|i| i.image_pull_policy);
        Container {
            name: name.into(),
            image: Some(image.unwrap_or_else(|| self.config.image.clone())),
            image_pull_policy: policy.map(ImagePullPolicy::as_str).map(Into::into),
            security_context: Some(spec.security_context.clone().unwrap_or_else(security::container)),
            ..Container::default()
        }
    }

    /// What the server's pod and the job's have in common: where they run, as whom, and the step that combines CA
    /// bundles.
    pub(super) fn pod(&self, service_account: &str) -> PodSpec {
        let spec = &self.mlflow.spec;
        PodSpec {
            service_account_name: Some(service_account.into()),
            automount_service_account_token: Some(true),
            security_context: Some(spec.pod_security_context.clone().unwrap_or_else(security::pod)),
            node_selector: spec.node_selector.clone().filter(|s| !s.is_empty()),
            affinity: spec.affinity.clone(),
            tolerations: spec.tolerations.clone().filter(|t| !t.is_empty()),
            init_containers: self.ca.init_container(&self.container("")).map(|container| vec![container]),
            ..PodSpec::default()
        }
    }
}

/// The backend's store and the registry's. A Secret wins over a value; without a registry, the backend's serves.
fn stores(mlflow: &MLflow) -> Result<(Store, Option<Store>), RenderError> {
    let spec = &mlflow.spec;
    let secret = |key: &SecretKeySelector, field| {
        let complete = !key.name.is_empty() && !key.key.is_empty();
        if complete { Ok(Store::Secret(key.clone())) } else { Err(RenderError::SecretKey(field)) }
    };
    let backend = match (&spec.backend_store_uri_from, &spec.backend_store_uri) {
        (Some(key), _) => secret(key, "backendStoreUriFrom")?,
        (None, Some(uri)) if uri.is_empty() => return Err(RenderError::NoBackend),
        (None, Some(uri)) => Store::Inline(uri.clone()),
        (None, None) => Store::Inline("sqlite:////mlflow/mlflow.db".into()),
    };
    let registry = match (&spec.registry_store_uri_from, &spec.registry_store_uri) {
        (Some(key), _) => Some(secret(key, "registryStoreUriFrom")?),
        (None, Some(uri)) => (!uri.is_empty()).then(|| Store::Inline(uri.clone())),
        (None, None) => Some(backend.clone()),
    };
    Ok((backend, registry))
}
