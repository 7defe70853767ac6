//! One Deployment for all systems: one process, one cache, a lease for each.

use super::split::settings;
use super::webhooks::{self, Certificate};
use super::workload::{self, Manager, Mounted, deployment, metrics_service, monitor};
use super::{Installed, Labels, Operator, Platform, Site, access, value};
use crate::parts::{meta::labels, resources};
use crate::rights::{Holder, rights};
use k8s_openapi::api::core::v1::{Container, EnvVar, EnvVarSource, ObjectFieldSelector};
use serde_json::Value;

/// The one process that runs all systems.
#[derive(Clone, Debug)]
pub struct Process<'a> {
    /// Name of its account, Deployment and roles.
    pub name: &'a str,
    /// What it is started with, after the image's own entry point.
    pub args: Vec<String>,
    /// The variable of a system's setting.
    pub variable: fn(system: &str, name: &str) -> String,
    /// How many: one writes, the others stand by.
    pub replicas: i32,
}

impl Process<'_> {
    /// The Secret that it keeps the webhooks' certificates in, where the platform makes none.
    #[must_use]
    pub fn webhook_secret(&self) -> String {
        format!("{}-webhook-certificates", self.name)
    }
}

/// What all systems need, in order; definitions and the namespace are not among it.
#[must_use]
pub fn fused(site: &Site, process: &Process<'_>, systems: &[Installed<'_>]) -> Vec<Value> {
    let holder = Holder { namespace: &site.namespace, account: process.name };
    let own = labels([("app.kubernetes.io/name", process.name)]);
    let named = |rest: &str| format!("{}-{rest}", process.name);
    let (review, reviewing) = holder.everywhere(&named("reviews"), &named("reviews"), access::reviews());
    let certificate = Certificate::of(site, systems);
    let mut objects = vec![access::account(holder, &own), value(&review), value(&reviewing)];
    if certificate == Some(Certificate::Ours) {
        let name = process.webhook_secret();
        objects.extend(webhooks::rights(site, holder, &name, (&name, &name), systems));
    }
    objects.push(access::metrics_reader(&named("metrics-reader")));
    for (operator, rows) in systems {
        let (name, leasing) = (named(operator.system), named(&format!("{}-lease", operator.system)));
        let (role, binding) =
            holder.within(&site.namespace, &leasing, &leasing, access::lease(operator.lease));
        objects.extend([value(&role), value(&binding)]);
        objects.extend(rights(rows).objects(&name, &name, holder).to_values());
        objects.extend(operator.roles.iter().map(value));
        objects.push(settings(site, operator));
        objects.extend(operator.others.iter().cloned());
        objects.push(metrics_service(site, operator, &own));
        objects.extend(certificate.and_then(|it| webhooks::service(site, (operator, rows), it, &own)));
        if site.platform == Platform::OpenShift {
            objects.push(monitor(site, operator));
        }
    }
    objects.push(deployment(site, manager(site, process, &own, systems)));
    // Last, so that they go first when all is deleted: nobody would answer them any more.
    let hooked = |it| systems.iter().flat_map(move |system| webhooks::configurations(site, *system, it));
    objects.extend(certificate.into_iter().flat_map(hooked));
    objects
}

fn manager<'a>(
    site: &Site,
    process: &'a Process<'_>,
    own: &'a Labels,
    systems: &[Installed<'a>],
) -> Manager<'a> {
    let certificate = Certificate::of(site, systems);
    let mut args = process.args.clone();
    let mut certificates = vec![];
    if certificate == Some(Certificate::Platform) {
        certificates.extend(systems.iter().filter_map(|(operator, _)| Mounted::webhooks(operator)));
        args.extend(certificates.iter().map(|mounted| format!("--webhook-cert-dir={}", mounted.path)));
    }
    let host = site.webhook_host().filter(|_| certificate.is_some());
    args.extend(host.map(|host| format!("--webhook-host={host}")));
    let set = |operator: &Operator| {
        let variables = operator.env.clone();
        let system = operator.system;
        variables.into_iter().map(move |(name, text)| EnvVar {
            name: (process.variable)(system, name),
            value: Some(text),
            value_from: None,
        })
    };
    let pod_name = EnvVar {
        name: "POD_NAME".into(),
        value: None,
        value_from: Some(EnvVarSource {
            field_ref: Some(ObjectFieldSelector { field_path: "metadata.name".into(), api_version: None }),
            ..EnvVarSource::default()
        }),
    };
    let env = systems.iter().flat_map(|(operator, _)| set(operator)).chain([pod_name]);
    let container = Container {
        name: process.name.into(),
        args: Some(args),
        env: Some(env.collect()),
        ports: workload::ports(certificate.is_some()),
        resources: Some(resources::defaults(&[("cpu", "100m"), ("memory", "64Mi")], &[("memory", "512Mi")])),
        ..Container::default()
    };
    Manager {
        name: process.name,
        account: process.name,
        replicas: process.replicas,
        labels: own,
        selector: own,
        grace: 30,
        container,
        certificates,
    }
}
