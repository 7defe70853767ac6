//! The catalog's database.

use std::collections::BTreeMap;

use k8s_openapi::{
    ByteString,
    api::{
        apps::v1::{Deployment, DeploymentSpec, DeploymentStrategy},
        core::v1::{
            Capabilities, Container, ContainerPort, ExecAction, PodSpec, PodTemplateSpec, Probe, Secret,
            SecurityContext, Service, ServicePort, ServiceSpec,
        },
        networking::v1::NetworkPolicy,
    },
    apimachinery::pkg::{apis::meta::v1::ObjectMeta, util::intstr::IntOrString},
};
use quintet_kit::{
    Child, Desired, OnImmutable,
    parts::{env, meta, volume},
};

use super::{Plan, ours, owner_of};
use crate::{
    catalog::names::{DATABASE, database_family, database_pods, database_server_family, pods},
    config::difference::CATALOG_SCRATCH,
    parts::{
        database::{PORT, amounts, claim, from_secret},
        ingress,
        labels::CREATED_BY,
        server::matching,
    },
};

/// The keys of the Secret: name, user and password.
const KEYS: [&str; 3] = ["database-name", "database-user", "database-password"];
const VOLUME: &str = "model-catalog-postgres-data";

/// The database's objects, in the order in which they are applied.
pub(super) fn all(plan: &Plan<'_>) -> Desired {
    let metadata = plan.owned(database_family().labels(DATABASE), DATABASE, plan.inputs.owner.clone());
    let claim = claim(metadata, plan.inputs.claim.as_ref());
    Desired::new()
        .with(secret(plan))
        .with_some((!is_scratch(plan)).then(|| ours(claim)))
        .with(ours(deployment(plan)).on_immutable(OnImmutable::Recreate))
        .with_some(service(plan).map(ours))
        .with_some(policy(plan).map(ours))
}

/// What the database holds is made anew at every start of the catalog, and its image keeps it elsewhere than the original
/// mounts the claim.
fn is_scratch(plan: &Plan<'_>) -> bool {
    plan.config.differences.has(CATALOG_SCRATCH)
}

/// What the Secret holds stays as it is, whoever wrote it; what is missing is added.
fn secret(plan: &Plan<'_>) -> Child {
    let catalog = &plan.config.catalog;
    let new = [catalog.database.as_str(), &catalog.user, &plan.inputs.password];
    let held = |key: &str| plan.inputs.credentials.get(key).cloned();
    let entry =
        |(key, new): (&str, &str)| (key.to_owned(), ByteString(held(key).unwrap_or_else(|| new.into())));
    let data: BTreeMap<String, ByteString> = KEYS.into_iter().zip(new).map(entry).collect();
    let labels = meta::labels([("component", DATABASE), CREATED_BY]);
    let metadata = plan.owned(labels, DATABASE, plan.inputs.owner.clone());
    ours(Secret { metadata, data: Some(data), ..Secret::default() })
}

fn deployment(plan: &Plan<'_>) -> Deployment {
    let annotations = [("template.alpha.openshift.io/wait-for-ready".to_owned(), "true".to_owned())];
    let labels = database_server_family().labels(DATABASE);
    let mut pod_labels = database_pods();
    pod_labels.insert("sidecar.istio.io/inject".into(), "false".into());
    let pod = PodSpec {
        dns_policy: Some("ClusterFirst".into()),
        restart_policy: Some("Always".into()),
        containers: vec![container(plan)],
        volumes: Some(vec![match is_scratch(plan) {
            true => volume::scratch(VOLUME, None),
            false => volume::claim(VOLUME, DATABASE),
        }]),
        ..PodSpec::default()
    };
    Deployment {
        metadata: ObjectMeta {
            annotations: Some(annotations.into()),
            ..plan.owned(labels, DATABASE, plan.inputs.owner.clone())
        },
        spec: Some(DeploymentSpec {
            replicas: Some(1),
            revision_history_limit: Some(0),
            strategy: Some(DeploymentStrategy { type_: Some("Recreate".into()), rolling_update: None }),
            selector: matching(database_pods()),
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta { labels: Some(pod_labels), ..ObjectMeta::default() }),
                spec: Some(pod),
            },
            ..DeploymentSpec::default()
        }),
        status: None,
    }
}

fn container(plan: &Plan<'_>) -> Container {
    let [name, user, password] = KEYS;
    Container {
        name: "postgresql".into(),
        image: Some(plan.config.postgres_image.clone()),
        image_pull_policy: Some("IfNotPresent".into()),
        env: Some(vec![
            from_secret("POSTGRESQL_USER", DATABASE, user),
            from_secret("POSTGRESQL_PASSWORD", DATABASE, password),
            from_secret("POSTGRESQL_DATABASE", DATABASE, name),
            env::value("PGDATA", "/var/lib/postgresql/data/pgdata"),
        ]),
        liveness_probe: Some(probe("/usr/bin/pg_isready -U $POSTGRESQL_USER -d $POSTGRESQL_DATABASE", 30, 2)),
        readiness_probe: Some(probe(
            "psql -w -U $POSTGRESQL_USER -d $POSTGRESQL_DATABASE -c 'SELECT 1'",
            10,
            5,
        )),
        ports: Some(vec![ContainerPort {
            container_port: PORT,
            protocol: Some("TCP".into()),
            ..ContainerPort::default()
        }]),
        resources: Some(amounts()),
        security_context: Some(SecurityContext {
            capabilities: Some(Capabilities::default()),
            privileged: Some(false),
            ..SecurityContext::default()
        }),
        termination_message_path: Some("/dev/termination-log".into()),
        volume_mounts: Some(vec![volume::mount(VOLUME, "/var/lib/postgresql/data")]),
        ..Container::default()
    }
}

fn probe(script: &str, delay: i32, timeout: i32) -> Probe {
    let command = ["bash", "-c", script].map(Into::into).into();
    Probe {
        exec: Some(ExecAction { command: Some(command) }),
        initial_delay_seconds: Some(delay),
        timeout_seconds: Some(timeout),
        ..Probe::default()
    }
}

/// Metadata of what goes with the database's Deployment; none before that exists.
fn of_database(plan: &Plan<'_>, labels: BTreeMap<String, String>) -> Option<ObjectMeta> {
    let owner = plan.inputs.database.as_ref().and_then(owner_of)?;
    Some(plan.owned(labels, DATABASE, Some(owner)))
}

fn service(plan: &Plan<'_>) -> Option<Service> {
    let uri = r#"postgres://{.spec.clusterIP}:{.spec.ports[?(@.name=="postgresql")].port}"#;
    let annotations = [("template.openshift.io/expose-uri".to_owned(), uri.to_owned())];
    let metadata = of_database(plan, database_family().labels(DATABASE))?;
    let port = ServicePort {
        name: Some("postgresql".into()),
        port: PORT,
        app_protocol: Some("tcp".into()),
        target_port: Some(IntOrString::Int(PORT)),
        ..ServicePort::default()
    };
    let mut selected = database_pods();
    selected.remove("component");
    let mut service = ingress::service(
        ObjectMeta { annotations: Some(annotations.into()), ..metadata },
        Some("ClusterIP"),
        port,
        selected,
    );
    service.spec = service.spec.map(|spec| ServiceSpec { session_affinity: Some("None".into()), ..spec });
    Some(service)
}

fn policy(plan: &Plan<'_>) -> Option<NetworkPolicy> {
    let metadata = of_database(plan, database_server_family().labels(DATABASE))?;
    Some(ingress::from_pods(metadata, database_pods(), pods(), PORT))
}
