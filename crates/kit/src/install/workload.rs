//! The Deployment of a manager, and how its metrics are reached.

use super::webhooks::SERVING_CERTIFICATE;
use super::{Labels, Operator, Platform, Site, value};
use crate::parts::security;
use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec};
use k8s_openapi::api::core::v1::{
    Container, ContainerPort, HTTPGetAction, PodSpec, PodTemplateSpec, Probe, SecretVolumeSource, Service,
    ServicePort, ServiceSpec, Volume, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde_json::{Value, json};

/// Where probes are answered.
pub(super) const HEALTH: i32 = 8081;
/// Where metrics are read, over TLS by those who may.
pub(super) const METRICS: i32 = 8443;
/// Where the API server calls webhooks.
pub(super) const WEBHOOKS: i32 = 9443;

/// A Secret with a certificate, and where it is mounted.
pub(super) struct Mounted<'a> {
    pub volume: &'a str,
    pub secret: String,
    pub path: &'a str,
    pub mode: Option<i32>,
}

impl<'a> Mounted<'a> {
    /// The certificate that a system's metrics are served with.
    pub(super) fn metrics(operator: &'a Operator) -> Self {
        let metrics = &operator.metrics;
        let secret = metrics.secret.clone();
        Mounted { volume: metrics.volume, secret, path: metrics.mount, mode: metrics.mode }
    }

    /// The certificate that a system's webhooks are served with; none if it has no webhooks.
    pub(super) fn webhooks(operator: &'a Operator) -> Option<Self> {
        let path = operator.webhooks.as_ref()?.mount;
        Some(Mounted { volume: "cert", secret: operator.hook_names().service, path, mode: Some(0o644) })
    }
}

/// The ports of a manager with webhooks, under the names that the originals give them.
pub(super) fn ports(has_webhooks: bool) -> Option<Vec<ContainerPort>> {
    let port = |name: &str, port: i32| ContainerPort {
        name: Some(name.into()),
        container_port: port,
        protocol: Some("TCP".into()),
        ..ContainerPort::default()
    };
    has_webhooks.then(|| vec![port("webhook-server", WEBHOOKS), port("https", METRICS)])
}

/// What is particular to one Deployment.
pub(super) struct Manager<'a> {
    pub name: &'a str,
    pub account: &'a str,
    pub replicas: i32,
    pub labels: &'a Labels,
    pub selector: &'a Labels,
    /// Seconds to finish what was begun.
    pub grace: i64,
    /// Its one container, so far without probes and security.
    pub container: Container,
    /// Certificates of the platform's.
    pub certificates: Vec<Mounted<'a>>,
}

/// A Deployment whose one container has probes, no privileges and a read-only root file system.
pub(super) fn deployment(site: &Site, manager: Manager<'_>) -> Value {
    let mounts = manager.certificates.iter().map(|mounted| VolumeMount {
        name: mounted.volume.into(),
        mount_path: mounted.path.into(),
        read_only: Some(true),
        ..VolumeMount::default()
    });
    let volumes = manager.certificates.iter().map(|mounted| Volume {
        name: mounted.volume.into(),
        secret: Some(SecretVolumeSource {
            secret_name: Some(mounted.secret.clone()),
            default_mode: mounted.mode,
            ..SecretVolumeSource::default()
        }),
        ..Volume::default()
    });
    let mounts: Vec<_> = mounts.collect();
    let volumes: Vec<_> = volumes.collect();
    let container = Container {
        image: Some(site.image.clone()),
        liveness_probe: Some(probe("/healthz", 15, 20)),
        readiness_probe: Some(probe("/readyz", 5, 10)),
        security_context: Some(security::container()),
        volume_mounts: (!mounts.is_empty()).then_some(mounts),
        ..manager.container
    };
    let annotation = ("kubectl.kubernetes.io/default-container".to_owned(), container.name.clone());
    let template = PodTemplateSpec {
        metadata: Some(ObjectMeta {
            annotations: Some([annotation].into()),
            labels: Some(manager.selector.clone()),
            ..ObjectMeta::default()
        }),
        spec: Some(PodSpec {
            service_account_name: Some(manager.account.into()),
            security_context: Some(security::pod()),
            termination_grace_period_seconds: Some(manager.grace),
            containers: vec![container],
            volumes: (!volumes.is_empty()).then_some(volumes),
            ..PodSpec::default()
        }),
    };
    let selector = LabelSelector { match_labels: Some(manager.selector.clone()), ..LabelSelector::default() };
    value(&Deployment {
        metadata: meta(site, manager.name, manager.labels),
        spec: Some(DeploymentSpec {
            replicas: Some(manager.replicas),
            selector,
            template,
            ..DeploymentSpec::default()
        }),
        status: None,
    })
}

/// The Service in front of a system's metrics, under the original's name.
pub(super) fn metrics_service(site: &Site, operator: &Operator, selector: &Labels) -> Value {
    let mut metadata = meta(site, &operator.metrics_service(), &operator.labels);
    if site.platform == Platform::OpenShift {
        let annotation = (SERVING_CERTIFICATE.to_owned(), operator.metrics.secret.clone());
        metadata.annotations = Some([annotation].into());
    }
    let port = ServicePort {
        name: Some("https".into()),
        port: METRICS,
        protocol: Some("TCP".into()),
        target_port: Some(IntOrString::Int(METRICS)),
        ..ServicePort::default()
    };
    let spec =
        ServiceSpec { ports: Some(vec![port]), selector: Some(selector.clone()), ..ServiceSpec::default() };
    value(&Service { metadata, spec: Some(spec), status: None })
}

/// Tells OpenShift's Prometheus to read the metrics, with its own token and the service CA.
pub(super) fn monitor(site: &Site, operator: &Operator) -> Value {
    let server = format!("{}.{}.svc", operator.metrics_service(), site.namespace);
    json!({
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "ServiceMonitor",
        "metadata": meta(site, operator.metrics.monitor, &operator.labels),
        "spec": {
            "endpoints": [{
                "bearerTokenFile": "/var/run/secrets/kubernetes.io/serviceaccount/token",
                "path": "/metrics",
                "port": "https",
                "scheme": "https",
                "tlsConfig": {
                    "ca": {"configMap": {"key": "service-ca.crt", "name": "openshift-service-ca.crt"}},
                    "serverName": server,
                },
            }],
            "selector": {"matchLabels": operator.selector},
        },
    })
}

pub(super) fn meta(site: &Site, name: &str, labels: &Labels) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.into()),
        namespace: Some(site.namespace.clone()),
        labels: Some(labels.clone()),
        ..ObjectMeta::default()
    }
}

fn probe(path: &str, delay: i32, period: i32) -> Probe {
    let http_get =
        HTTPGetAction { path: Some(path.into()), port: IntOrString::Int(HEALTH), ..HTTPGetAction::default() };
    Probe {
        http_get: Some(http_get),
        initial_delay_seconds: Some(delay),
        period_seconds: Some(period),
        ..Probe::default()
    }
}
