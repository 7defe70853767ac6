//! The catalog's server, the proxy before it, and what brings the platform's own models and benchmarks.

use k8s_openapi::{
    api::{
        apps::v1::{Deployment, DeploymentSpec},
        core::v1::{
            ConfigMapVolumeSource, Container, PodSpec, PodTemplateSpec, Probe, TCPSocketAction, Volume,
            VolumeMount,
        },
    },
    apimachinery::pkg::util::intstr::IntOrString,
};
use quintet_kit::{
    Child, OnImmutable,
    parts::{env, security, volume},
};

use super::{Plan, mended, network};
use crate::{
    catalog::names::{DATABASE, NAME, PROXY_CERTIFICATE, PROXY_CONFIG, pods},
    config::difference::PROXY_SECURITY,
    parts::{
        database::from_secret,
        proxy,
        server::{container_security, default_resources, matching, pod_metadata, port},
    },
};

/// The server's own port, inside its pod.
const PORT: i32 = 8080;
/// Where the platform's own models are.
const MODELS: (&str, &str) = ("catalog-data", "/shared-data");
/// Where the platform's own benchmarks are.
const BENCHMARKS: (&str, &str) = ("benchmark-data", "/shared-benchmark-data");
/// Volumes of sources, with the ConfigMap of each, in the order in which they are read.
const SOURCES: [(&str, &str); 3] = [
    ("user-model-sources", "model-catalog-sources"),
    ("user-mcp-sources", "mcp-catalog-sources"),
    ("default-sources", "default-catalog-sources"),
];

/// The Deployment. One that cannot be changed to what is wanted, since its selector is another, is made anew.
pub(super) fn deployment(plan: &Plan<'_>) -> Child {
    mended(object(plan), plan.inputs.mend, "spec.template.spec.containers")
        .on_immutable(OnImmutable::Recreate)
}

fn object(plan: &Plan<'_>) -> Deployment {
    let catalog = &plan.config.catalog;
    let pod = PodSpec {
        security_context: Some(security::pod()),
        service_account_name: Some(NAME.into()),
        volumes: Some(volumes(plan)),
        init_containers: Some(vec![
            bringing("catalog-data-init", &catalog.data_image, "cp /app/data/*.yaml /shared-data/", MODELS),
            bringing(
                "benchmark-data-init",
                &catalog.benchmark_image,
                "cp -r /app/benchmarks/* /shared-benchmark-data/ || true",
                BENCHMARKS,
            ),
        ]),
        containers: vec![server(plan), proxy_container(plan)],
        ..PodSpec::default()
    };
    Deployment {
        metadata: plan.meta(NAME),
        spec: Some(DeploymentSpec {
            replicas: Some(1),
            revision_history_limit: Some(0),
            selector: matching(pods()),
            template: PodTemplateSpec { metadata: Some(pod_metadata(pods())), spec: Some(pod) },
            ..DeploymentSpec::default()
        }),
        status: None,
    }
}

fn bringing(name: &str, image: &str, script: &str, (volume, path): (&str, &str)) -> Container {
    Container {
        name: name.into(),
        image: Some(image.into()),
        command: Some(vec!["/bin/sh".into(), "-c".into(), script.into()]),
        volume_mounts: Some(vec![volume::mount(volume, path)]),
        security_context: Some(container_security()),
        ..Container::default()
    }
}

fn server(plan: &Plan<'_>) -> Container {
    Container {
        name: "catalog".into(),
        image: Some(plan.config.rest_image.clone()),
        command: Some(vec!["/model-registry".into(), "catalog".into()]),
        args: Some(arguments(plan)),
        ports: Some(vec![port("http-api", PORT)]),
        liveness_probe: Some(probe(30)),
        readiness_probe: Some(probe(3)),
        resources: Some(default_resources()),
        security_context: Some(container_security()),
        volume_mounts: Some(mounts(plan)),
        env: Some(vec![
            env::value("PGHOST", DATABASE),
            from_secret("PGDATABASE", DATABASE, "database-name"),
            from_secret("PGUSER", DATABASE, "database-user"),
            from_secret("PGPASSWORD", DATABASE, "database-password"),
        ]),
        ..Container::default()
    }
}

fn arguments(plan: &Plan<'_>) -> Vec<String> {
    let path = |folder: &str| format!("--catalogs-path=/data/{folder}/sources.yaml");
    let fixed = ["default-sources", "user-model-sources", "user-mcp-sources"].map(path);
    let labelled = plan.inputs.sources.iter().map(|source| path(&format!("labeled-sources/{source}")));
    [format!("--listen=0.0.0.0:{PORT}")]
        .into_iter()
        .chain(fixed)
        .chain(labelled)
        .chain([format!("--performance-metrics={}", BENCHMARKS.1)])
        .collect()
}

fn mounts(plan: &Plan<'_>) -> Vec<VolumeMount> {
    let fixed = SOURCES.into_iter().map(|(name, _)| volume::mount(name, &format!("/data/{name}")));
    let data = [MODELS, BENCHMARKS].map(|(name, path)| volume::mount(name, path));
    let labelled =
        plan.inputs.sources.iter().map(|source| {
            volume::mount(format!("labeled-{source}"), &format!("/data/labeled-sources/{source}"))
        });
    fixed.chain(data).chain(labelled).collect()
}

fn volumes(plan: &Plan<'_>) -> Vec<Volume> {
    let fixed = SOURCES.into_iter().map(|(name, map)| config_map(name, map));
    let data = [MODELS, BENCHMARKS].map(|(name, _)| volume::scratch(name, None));
    let labelled = plan.inputs.sources.iter().map(|source| config_map(&format!("labeled-{source}"), source));
    let proxy = [
        volume::secret("kube-rbac-proxy-tls", PROXY_CERTIFICATE, 0o600),
        config_map("kube-rbac-proxy-config", PROXY_CONFIG),
    ];
    fixed.chain(data).chain(labelled).chain(proxy).collect()
}

fn config_map(name: &str, map: &str) -> Volume {
    let source = ConfigMapVolumeSource { name: map.into(), ..ConfigMapVolumeSource::default() };
    Volume { name: name.into(), config_map: Some(source), ..Volume::default() }
}

fn proxy_container(plan: &Plan<'_>) -> Container {
    proxy::container(proxy::Settings {
        image: &plan.config.proxy_image,
        port: network::PORT,
        upstream: PORT,
        certificate: "/etc/tls/tls.crt".into(),
        key: "/etc/tls/tls.key".into(),
        mounts: vec![
            volume::mount("kube-rbac-proxy-tls", "/etc/tls"),
            volume::mount("kube-rbac-proxy-config", proxy::CONFIG_PATH),
        ],
        confined: plan.config.differences.has(PROXY_SECURITY),
    })
}

fn probe(delay: i32) -> Probe {
    Probe {
        tcp_socket: Some(TCPSocketAction { port: IntOrString::String("http-api".into()), host: None }),
        initial_delay_seconds: Some(delay),
        period_seconds: Some(5),
        timeout_seconds: Some(2),
        ..Probe::default()
    }
}
