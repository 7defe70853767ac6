//! A database that the operator runs for a registry.

use k8s_openapi::{
    api::{
        apps::v1::{Deployment, DeploymentSpec, DeploymentStrategy},
        core::v1::{
            Container, ContainerPort, ExecAction, PodSpec, PodTemplateSpec, Probe, Secret, Service,
            ServicePort,
        },
    },
    apimachinery::pkg::{apis::meta::v1::ObjectMeta, util::intstr::IntOrString},
};
use quintet_kit::{
    Adopt, Child, Desired, OnImmutable, WritePolicy,
    parts::{env, meta, security, volume},
};

use super::{Plan, ours};
use crate::{
    parts::{
        database::{PORT, amounts, claim, from_secret, secret_data},
        ingress,
        server::{container_security, matching, timed},
    },
    registry::defaults::{DATABASE, DATABASE_USER},
};

/// The database's objects, in the order in which they are applied.
pub(super) fn all(plan: &Plan<'_>, image: String) -> Desired {
    let claim = claim(database_meta(plan, plan.names.database_storage()), plan.inputs.claim.as_ref());
    let clients = plan.names.pods();
    let metadata = database_meta(plan, plan.names.database());
    let policy = ingress::from_pods(metadata, plan.names.database_pods(), clients, PORT);
    Desired::new()
        .with_some(plan.inputs.password.as_ref().map(|password| credentials(plan, password)))
        .with(ours(claim))
        .with(ours(deployment(plan, image)).on_immutable(OnImmutable::Recreate))
        .with(ours(service(plan)))
        .with(ours(policy))
}

/// All of the database's objects have the labels of the Deployment, whatever their own name is.
fn database_meta(plan: &Plan<'_>, name: String) -> ObjectMeta {
    let family = plan.names.database_family();
    ObjectMeta { labels: Some(family.labels(&plan.names.database())), ..plan.of(&family, name) }
}

/// Made once: whoever has the database knows the password.
fn credentials(plan: &Plan<'_>, password: &str) -> Child {
    let metadata = ObjectMeta {
        name: Some(plan.names.database_credentials()),
        namespace: Some(plan.names.namespace().into()),
        owner_references: Some(vec![meta::controller_of(plan.registry)]),
        ..ObjectMeta::default()
    };
    let data = secret_data([("username", DATABASE_USER), ("password", password)]);
    Child::new(Secret { metadata, data: Some(data), ..Secret::default() })
        .policy(WritePolicy::CreateOnly)
        .adopt(Adopt::Always)
}

fn deployment(plan: &Plan<'_>, image: String) -> Deployment {
    let storage = plan.names.database_storage();
    let pods = plan.names.database_pods();
    let pod = PodSpec {
        security_context: Some(security::pod()),
        containers: vec![container(plan, image)],
        volumes: Some(vec![volume::claim("postgres-storage", storage)]),
        ..PodSpec::default()
    };
    let labels = ObjectMeta { labels: Some(pods.clone()), ..ObjectMeta::default() };
    Deployment {
        metadata: database_meta(plan, plan.names.database()),
        spec: Some(DeploymentSpec {
            replicas: Some(1),
            // The volume cannot be in an old pod and a new one at once.
            strategy: Some(DeploymentStrategy { type_: Some("Recreate".into()), rolling_update: None }),
            selector: matching(pods),
            template: PodTemplateSpec { metadata: Some(labels), spec: Some(pod) },
            ..DeploymentSpec::default()
        }),
        status: None,
    }
}

fn container(plan: &Plan<'_>, image: String) -> Container {
    let secret = plan.names.database_credentials();
    Container {
        name: "postgres".into(),
        image: Some(image),
        resources: Some(amounts()),
        security_context: Some(container_security()),
        ports: Some(vec![ContainerPort { container_port: PORT, ..ContainerPort::default() }]),
        env: Some(vec![
            env::value("POSTGRESQL_DATABASE", DATABASE),
            from_secret("POSTGRESQL_USER", &secret, "username"),
            from_secret("POSTGRESQL_PASSWORD", &secret, "password"),
        ]),
        volume_mounts: Some(vec![volume::mount("postgres-storage", "/var/lib/pgsql/data")]),
        readiness_probe: Some(timed(check(&[]), [5, 10, 5, 3])),
        liveness_probe: Some(timed(check(&["--live"]), [30, 10, 5, 3])),
        ..Container::default()
    }
}

/// The image's own check.
fn check(arguments: &[&str]) -> Probe {
    let command = ["/usr/libexec/check-container"].iter().chain(arguments).map(|&word| word.to_owned());
    Probe { exec: Some(ExecAction { command: Some(command.collect()) }), ..Probe::default() }
}

fn service(plan: &Plan<'_>) -> Service {
    let mut pods = plan.names.database_pods();
    pods.remove("component");
    let port =
        ServicePort { port: PORT, target_port: Some(IntOrString::Int(PORT)), ..ServicePort::default() };
    ingress::service(database_meta(plan, plan.names.database()), None, port, pods)
}
