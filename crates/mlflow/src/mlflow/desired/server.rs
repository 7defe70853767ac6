//! The tracking server.

use k8s_openapi::{
    api::{
        apps::v1::{Deployment, DeploymentSpec, DeploymentStrategy, RollingUpdateDeployment},
        core::v1::{
            Container, ContainerPort, HTTPGetAction, PodSpec, PodTemplateSpec, Probe, Volume, VolumeMount,
        },
    },
    apimachinery::pkg::{
        apis::meta::v1::{LabelSelector, ObjectMeta},
        util::intstr::IntOrString,
    },
};
use quintet_kit::{
    Child, WritePolicy,
    parts::{resources, volume},
};

use super::{environment, ours, plan::Plan};
use crate::mlflow::names::{PORT, TLS_SECRET};

/// The Deployment. As with the Service, a stray port of the same name makes the list of containers be written whole.
pub(super) fn deployment(plan: &Plan<'_>) -> Child {
    let child = ours(deployment_object(plan));
    if plan.inputs.stray_container_port {
        child.policy(WritePolicy::Exclusive(vec!["spec.template.spec.containers".into()]))
    } else {
        child
    }
}

fn deployment_object(plan: &Plan<'_>) -> Deployment {
    let mut pod = plan.pod(plan.service_account());
    pod.volumes = Some(volumes(plan));
    let server = container(plan);
    let sidecar = plan.ca.sidecar(&server);
    pod.containers = [server].into_iter().chain(sidecar).collect();
    Deployment {
        metadata: plan.meta(plan.names.server()),
        spec: Some(DeploymentSpec {
            replicas: Some(plan.mlflow.spec.replicas),
            strategy: Some(strategy(plan)),
            selector: LabelSelector { match_labels: Some(plan.names.selector()), match_expressions: None },
            template: template(plan, pod),
            ..DeploymentSpec::default()
        }),
        status: None,
    }
}

fn template(plan: &Plan<'_>, pod: PodSpec) -> PodTemplateSpec {
    let spec = &plan.mlflow.spec;
    // The selector's label is not the user's to change: the pods would no longer be the Deployment's.
    let added = spec.pod_labels.iter().flatten().filter(|(key, _)| *key != "app");
    let mut labels = plan.names.labels();
    labels.extend(added.map(|(key, value)| (key.clone(), value.clone())));
    PodTemplateSpec {
        metadata: Some(ObjectMeta {
            labels: Some(labels),
            annotations: spec.pod_annotations.clone().filter(|a| !a.is_empty()),
            ..ObjectMeta::default()
        }),
        spec: Some(pod),
    }
}

/// A volume of one node cannot be in an old pod and a new one at once.
fn strategy(plan: &Plan<'_>) -> DeploymentStrategy {
    if plan.mlflow.spec.storage.is_some() {
        return DeploymentStrategy { type_: Some("Recreate".into()), rolling_update: None };
    }
    DeploymentStrategy {
        type_: Some("RollingUpdate".into()),
        rolling_update: Some(RollingUpdateDeployment {
            max_surge: Some(IntOrString::Int(1)),
            max_unavailable: Some(IntOrString::Int(0)),
        }),
    }
}

fn container(plan: &Plan<'_>) -> Container {
    let amounts = resources::defaults(&[("cpu", "1"), ("memory", "2Gi")], &[("cpu", "4"), ("memory", "3Gi")]);
    Container {
        command: Some(vec!["mlflow".into()]),
        args: Some(arguments(plan)),
        env: Some(environment::server(plan)),
        env_from: environment::from(plan),
        ports: Some(vec![ContainerPort {
            name: Some("https".into()),
            container_port: PORT,
            ..ContainerPort::default()
        }]),
        volume_mounts: Some(mounts(plan)),
        liveness_probe: Some(probe(30, 10)),
        readiness_probe: Some(probe(5, 5)),
        resources: Some(resources::merge(amounts, plan.mlflow.spec.resources.as_ref())),
        ..plan.container("mlflow")
    }
}

fn arguments(plan: &Plan<'_>) -> Vec<String> {
    let spec = &plan.mlflow.spec;
    let mut arguments: Vec<String> = vec!["server".into()];
    if spec.serve_artifacts {
        let destination = spec.artifacts_destination.as_deref().unwrap_or("file:///mlflow/artifacts");
        arguments.extend(["--serve-artifacts".into(), format!("--artifacts-destination={destination}")]);
    } else {
        arguments.push("--no-serve-artifacts".into());
    }
    if let Some(root) = spec.default_artifact_root.as_ref().filter(|root| !root.is_empty()) {
        arguments.push(format!("--default-artifact-root={root}"));
    }
    arguments.extend([
        "--app-name=kubernetes-auth".into(),
        "--enable-workspaces".into(),
        "--workspace-store-uri=kubernetes://".into(),
        "--host=0.0.0.0".into(),
        format!("--port={PORT}"),
        format!("--workers={}", spec.workers),
        "--uvicorn-opts=--ssl-keyfile=/etc/tls/private/tls.key --ssl-certfile=/etc/tls/private/tls.crt --proxy-headers"
            .into(),
        "--allowed-hosts".into(),
        "*".into(),
        "--static-prefix=/mlflow".into(),
    ]);
    if plan.inputs.apis.service_monitor {
        arguments.push("--expose-prometheus=/prometheus".into());
    }
    arguments
}

fn volumes(plan: &Plan<'_>) -> Vec<Volume> {
    let mut volumes = plan.volumes();
    // OpenShift gives the pod a group of its own, elsewhere the key must be readable by all in the pod.
    let mode = if plan.openshift() { 0o640 } else { 0o644 };
    volumes.push(volume::secret("mlflow-tls", TLS_SECRET, mode));
    volumes.extend(plan.ca.volumes());
    if plan.inputs.apis.service_monitor {
        volumes.push(volume::scratch("metrics", Some("100Mi")));
    }
    volumes
}

fn mounts(plan: &Plan<'_>) -> Vec<VolumeMount> {
    let mut mounts = plan.mounts();
    mounts.push(volume::read_only("mlflow-tls", "/etc/tls/private"));
    mounts.extend(plan.ca.mount());
    if plan.inputs.apis.service_monitor {
        mounts.push(volume::mount("metrics", "/prometheus"));
    }
    mounts
}

fn probe(delay: i32, period: i32) -> Probe {
    Probe {
        http_get: Some(HTTPGetAction {
            path: Some("/mlflow/health".into()),
            port: IntOrString::String("https".into()),
            scheme: Some("HTTPS".into()),
            ..HTTPGetAction::default()
        }),
        initial_delay_seconds: Some(delay),
        timeout_seconds: Some(1),
        period_seconds: Some(period),
        success_threshold: Some(1),
        failure_threshold: Some(3),
        ..Probe::default()
    }
}
