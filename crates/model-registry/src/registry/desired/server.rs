//! The REST server, and the proxy before it.

use k8s_openapi::api::{
    apps::v1::{Deployment, DeploymentSpec},
    core::v1::{ConfigMapVolumeSource, Container, PodSpec, PodTemplateSpec, Volume},
};
use quintet_api::model_registry::{KeyRef, Proxy};
use quintet_kit::{
    Child, OnImmutable,
    parts::{security, volume},
};

use super::{
    Plan,
    connection::{Connection, PRIVATE},
    mended,
};
use crate::{
    config::difference::PROXY_SECURITY,
    parts::{
        proxy,
        server::{container_security, http_probe, matching, pod_metadata, port, timed},
    },
    registry::names::REST_CONTAINER,
};

/// The Deployment. One that cannot be changed to what is wanted, since its selector is another, is made anew.
pub(super) fn deployment(plan: &Plan<'_>) -> Child {
    mended(object(plan), plan.inputs.mend, "spec.template.spec.containers")
        .on_immutable(OnImmutable::Recreate)
}

fn object(plan: &Plan<'_>) -> Deployment {
    let Connection { arguments, env, mut volumes, mounts } =
        Connection::of(plan.spec, plan.inputs.password_apart);
    let rest = Container {
        args: Some([rest_arguments(plan), arguments].concat()),
        env: Some(env).filter(|env| !env.is_empty()),
        volume_mounts: Some(mounts).filter(|mounts| !mounts.is_empty()),
        ..rest_container(plan)
    };
    let mut containers = vec![rest];
    if let Some(asked) = &plan.spec.kube_rbac_proxy {
        containers.push(proxy_container(plan, asked));
        volumes.extend(proxy_volumes(plan, asked));
    }
    let pod = PodSpec {
        security_context: Some(security::pod()),
        service_account_name: Some(plan.names.server().into()),
        containers,
        volumes: Some(volumes).filter(|volumes| !volumes.is_empty()),
        ..PodSpec::default()
    };
    let selector = plan.names.pods();
    Deployment {
        metadata: plan.meta(plan.names.server()),
        spec: Some(DeploymentSpec {
            replicas: Some(1),
            revision_history_limit: Some(0),
            selector: matching(selector.clone()),
            template: PodTemplateSpec { metadata: Some(pod_metadata(selector)), spec: Some(pod) },
            ..DeploymentSpec::default()
        }),
        status: None,
    }
}

fn rest_arguments(plan: &Plan<'_>) -> Vec<String> {
    vec!["--hostname=0.0.0.0".into(), format!("--port={}", plan.spec.rest.port)]
}

fn rest_container(plan: &Plan<'_>) -> Container {
    let rest = &plan.spec.rest;
    let dirty = || http_probe("/readyz/isDirty", "http-api", None);
    Container {
        name: REST_CONTAINER.into(),
        image: rest.image.clone(),
        command: Some(vec!["/model-registry".into(), "proxy".into()]),
        ports: Some(vec![port("http-api", rest.port)]),
        liveness_probe: Some(timed(dirty(), [30, 10, 5, 3])),
        startup_probe: Some(timed(dirty(), [10, 5, 5, 6])),
        readiness_probe: Some(timed(http_probe("/readyz/health", "http-api", None), [5, 10, 5, 3])),
        resources: rest.resources.clone(),
        security_context: Some(container_security()),
        ..Container::default()
    }
}

fn proxy_container(plan: &Plan<'_>, asked: &Proxy) -> Container {
    let file = |folder: &str, key: &Option<KeyRef>| {
        format!("/etc/tls/{folder}/{}", key.as_ref().map(|key| key.key.as_str()).unwrap_or_default())
    };
    proxy::container(proxy::Settings {
        image: asked.image.as_deref().unwrap_or_default(),
        port: asked.port,
        upstream: plan.spec.rest.port,
        certificate: file("private-cert", &asked.tls_certificate_secret),
        key: file("private-key", &asked.tls_key_secret),
        mounts: vec![
            volume::mount("kube-rbac-proxy-cert", "/etc/tls/private-cert"),
            volume::mount("kube-rbac-proxy-key", "/etc/tls/private-key"),
            volume::mount("kube-rbac-proxy-config", proxy::CONFIG_PATH),
        ],
        confined: plan.config.differences.has(PROXY_SECURITY),
    })
}

fn proxy_volumes(plan: &Plan<'_>, asked: &Proxy) -> [Volume; 3] {
    let secret = |name: &str, key: &Option<KeyRef>| {
        volume::secret(name, key.as_ref().map(|key| key.name.clone()).unwrap_or_default(), PRIVATE)
    };
    let config =
        ConfigMapVolumeSource { name: plan.names.proxy_config(), ..ConfigMapVolumeSource::default() };
    [
        secret("kube-rbac-proxy-cert", &asked.tls_certificate_secret),
        secret("kube-rbac-proxy-key", &asked.tls_key_secret),
        Volume { name: "kube-rbac-proxy-config".into(), config_map: Some(config), ..Volume::default() },
    ]
}
