//! One Deployment per system, as its original had it: only the program inside is ours.

use super::webhooks::{self, Certificate};
use super::workload::{self, HEALTH, METRICS, Manager, Mounted, deployment, metrics_service};
use super::{Installed, Operator, Platform, Site, access, labelled, value};
use crate::rights::{Holder, rights};
use k8s_openapi::api::core::v1::{Container, EnvVar};
use serde_json::Value;

/// What one system needs, in order; its definitions and the namespace are not among it.
#[must_use]
pub fn split(site: &Site, (operator, rows): Installed<'_>) -> Vec<Value> {
    let account = operator.named("controller-manager");
    let holder = Holder { namespace: &site.namespace, account: &account };
    let named = |rest: &str| operator.named(rest);
    let mut objects = vec![access::account(holder, &operator.labels)];
    let (role, binding) = holder.within(
        &site.namespace,
        &named("leader-election-role"),
        &named("leader-election-rolebinding"),
        access::lease(operator.lease),
    );
    objects.extend([value(&role), value(&binding)].map(|object| labelled(object, &operator.labels)));
    let own = rights(rows).objects(&named("manager-role"), &named("manager-rolebinding"), holder);
    objects.extend(own.to_values().into_iter().map(|object| {
        let binds = object["kind"].as_str().is_some_and(|kind| kind.ends_with("Binding"));
        if binds { labelled(object, &operator.labels) } else { object } // as the originals do
    }));
    let review = named(operator.metrics.review_role);
    let (role, binding) = holder.everywhere(&review, &format!("{review}binding"), access::reviews());
    objects.extend([value(&role), value(&binding), access::metrics_reader(&named("metrics-reader"))]);
    let certificate = Certificate::of(site, &[(operator, rows)]);
    if certificate == Some(Certificate::Ours) {
        let (role, binding) = (named("webhook-certificates-role"), named("webhook-certificates-rolebinding"));
        let (names, all) = ((role.as_str(), binding.as_str()), &[(operator, rows)]);
        objects.extend(webhooks::rights(site, holder, &operator.hook_secret(), names, all));
    }
    objects.extend(operator.roles.iter().map(value));
    objects.push(settings(site, operator));
    objects.extend(operator.others.iter().cloned());
    objects.push(metrics_service(site, operator, &operator.selector));
    let called = |it| webhooks::service(site, (operator, rows), it, &operator.selector);
    objects.extend(certificate.and_then(called));
    objects.push(deployment(site, manager(site, operator, &account)));
    if site.platform == Platform::OpenShift {
        objects.push(workload::monitor(site, operator));
    }
    // Last, so that they go first when all is deleted: nobody would answer them any more.
    objects
        .extend(certificate.into_iter().flat_map(|it| webhooks::configurations(site, (operator, rows), it)));
    objects
}

pub(super) fn settings(site: &Site, operator: &Operator) -> Value {
    let mut settings = operator.settings.clone();
    settings.metadata.namespace = Some(site.namespace.clone());
    value(&settings)
}

fn manager<'a>(site: &Site, operator: &'a Operator, account: &'a str) -> Manager<'a> {
    let on_openshift = site.platform == Platform::OpenShift;
    let mut args = vec![
        "--leader-elect".to_owned(),
        format!("--health-probe-bind-address=:{HEALTH}"),
        format!("--metrics-bind-address=:{METRICS}"),
    ];
    if on_openshift {
        args.extend(operator.metrics.flags.iter().cloned());
    }
    args.extend(operator.args.iter().cloned());
    let variable = |(name, text): &(&str, String)| EnvVar {
        name: (*name).into(),
        value: Some(text.clone()),
        value_from: None,
    };
    let which = variable(&("QUINTET_SYSTEM", operator.system.to_owned()));
    let host = site.webhook_host().filter(|_| operator.webhooks.is_some());
    let host = host.map(|host| variable(&("QUINTET_WEBHOOK_HOST", host)));
    let container = Container {
        name: "manager".into(),
        command: Some(vec!["/manager".into()]),
        args: Some(args),
        env: Some(operator.env.iter().map(variable).chain([which]).chain(host).collect()),
        ports: workload::ports(operator.webhooks.is_some()),
        resources: Some(operator.resources.clone()),
        ..Container::default()
    };
    let webhooks = site.has_service_ca().then(|| Mounted::webhooks(operator)).flatten();
    let metrics = on_openshift.then(|| Mounted::metrics(operator));
    Manager {
        name: account, // the original calls both the same
        account,
        replicas: 1,
        labels: &operator.labels,
        selector: &operator.selector,
        grace: 10,
        container,
        certificates: webhooks.into_iter().chain(metrics).collect(),
    }
}
