//! kube-rbac-proxy: lets those callers through who may `get` the server's Service.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, ContainerPort, Probe, VolumeMount};

use super::server::{container_security, default_resources, http_probe};

/// The proxy's container.
pub(crate) const NAME: &str = "kube-rbac-proxy";
/// The port at which the proxy tells of itself.
pub(crate) const HEALTH_PORT: i32 = 8888;
/// Where the proxy's configuration is mounted.
pub(crate) const CONFIG_PATH: &str = "/etc/kube-rbac-proxy";

/// What differs between one proxy and another.
pub(crate) struct Settings<'a> {
    pub(crate) image: &'a str,
    pub(crate) port: i32,
    pub(crate) upstream: i32,
    pub(crate) certificate: String,
    pub(crate) key: String,
    pub(crate) mounts: Vec<VolumeMount>,
    /// It may do no more than a server may. The original leaves that to the cluster.
    pub(crate) confined: bool,
}

pub(crate) fn container(settings: Settings<'_>) -> Container {
    let port = |name: &str, number: i32| ContainerPort {
        name: Some(name.into()),
        container_port: number,
        protocol: Some("TCP".into()),
        ..ContainerPort::default()
    };
    Container {
        name: NAME.into(),
        image: Some(settings.image.into()),
        args: Some(vec![
            format!("--secure-listen-address=0.0.0.0:{}", settings.port),
            format!("--upstream=http://127.0.0.1:{}/", settings.upstream),
            format!("--proxy-endpoints-port={HEALTH_PORT}"),
            "--logtostderr=true".into(),
            "--v=0".into(),
            format!("--config-file={CONFIG_PATH}/config-file.yaml"),
            format!("--tls-cert-file={}", settings.certificate),
            format!("--tls-private-key-file={}", settings.key),
        ]),
        ports: Some(vec![port("https-proxy", settings.port), port("proxy-healthz", HEALTH_PORT)]),
        liveness_probe: Some(probe(30)),
        readiness_probe: Some(probe(5)),
        resources: Some(default_resources()),
        volume_mounts: Some(settings.mounts),
        security_context: settings.confined.then(container_security),
        ..Container::default()
    }
}

fn probe(delay: i32) -> Probe {
    Probe {
        initial_delay_seconds: Some(delay),
        timeout_seconds: Some(1),
        period_seconds: Some(5),
        success_threshold: Some(1),
        failure_threshold: Some(3),
        ..http_probe("/healthz", "proxy-healthz", Some("HTTPS"))
    }
}

/// What the proxy asks about each caller.
pub(crate) fn config(namespace: &str, service: &str) -> BTreeMap<String, String> {
    let text = format!(
        "authorization:\n  resourceAttributes:\n    apiVersion: v1\n    resource: services\n    verb: get\n    \
         namespace: {namespace}\n    name: {service}\n"
    );
    [("config-file.yaml".to_owned(), text)].into()
}
