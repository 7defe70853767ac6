//! What tells the API server of a system's webhooks: a Service, two configurations, and the definitions' conversion.

use super::workload::{WEBHOOKS, meta};
use super::{Installed, Labels, Site, access, value};
use crate::rights::Holder;
use crate::wiring::{FailurePolicy, HookType, WebhookRow};
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhook, MutatingWebhookConfiguration, RuleWithOperations, ServiceReference, ValidatingWebhook,
    ValidatingWebhookConfiguration, WebhookClientConfig,
};
use k8s_openapi::api::core::v1::{Service, ServicePort, ServiceSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde_json::{Value, json};

/// Has OpenShift's service CA make a certificate for a Service.
pub(super) const SERVING_CERTIFICATE: &str = "service.beta.openshift.io/serving-cert-secret-name";
/// Has it tell whoever is annotated so whom to trust.
const INJECT: &str = "service.beta.openshift.io/inject-cabundle";

/// What the objects round a system's webhooks are called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookNames {
    /// The Service that the API server calls.
    pub service: String,
    /// The MutatingWebhookConfiguration.
    pub mutating: String,
    /// The ValidatingWebhookConfiguration.
    pub validating: String,
}

impl HookNames {
    /// As kubebuilder calls them, after this prefix.
    #[must_use]
    pub fn of(prefix: &str) -> Self {
        let named = |rest: &str| format!("{prefix}{rest}");
        HookNames {
            service: named("webhook-service"),
            mutating: named("mutating-webhook-configuration"),
            validating: named("validating-webhook-configuration"),
        }
    }
}

/// A system's webhooks, beyond what its rows say of them.
#[derive(Clone, Debug)]
pub struct Hooks {
    /// What admission is asked about.
    pub rule: RuleWithOperations,
    /// The versions of reviews, the best liked first.
    pub reviews: &'static [&'static str],
    /// The definitions whose versions are converted.
    pub converted: Vec<String>,
    /// Where the original's manager finds its certificate.
    pub mount: &'static str,
}

/// Whose certificate a process serves its webhooks with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Certificate {
    /// The platform's: a mounted Secret.
    Platform,
    /// One of our own authority, which we keep in a Secret and tell the API server to trust.
    Ours,
}

impl Certificate {
    /// Of the process that runs these systems; none if it has no webhooks. The platform makes one for each Service:
    /// where several lead to one process, only one of our own is good for all of them.
    pub(super) fn of(site: &Site, systems: &[Installed<'_>]) -> Option<Self> {
        match systems.iter().filter(|(operator, _)| operator.webhooks.is_some()).count() {
            0 => None,
            1 if site.has_service_ca() => Some(Certificate::Platform),
            _ => Some(Certificate::Ours),
        }
    }
}

/// True if the process that runs these systems keeps certificates of its own.
#[must_use]
pub fn keeps_certificates(site: &Site, systems: &[Installed<'_>]) -> bool {
    Certificate::of(site, systems) == Some(Certificate::Ours)
}

/// The Service in front of a system's webhooks; none if it has none, or they are called by a URL.
pub(super) fn service(
    site: &Site,
    (operator, _): Installed<'_>,
    certificate: Certificate,
    selector: &Labels,
) -> Option<Value> {
    if operator.webhooks.is_none() || site.webhook_url.is_some() {
        return None;
    }
    let name = operator.hook_names().service;
    let mut metadata = meta(site, &name, &operator.labels);
    if certificate == Certificate::Platform {
        metadata.annotations = Some([(SERVING_CERTIFICATE.to_owned(), name)].into());
    }
    let port = ServicePort {
        port: 443,
        protocol: Some("TCP".into()),
        target_port: Some(IntOrString::Int(WEBHOOKS)),
        ..ServicePort::default()
    };
    let spec =
        ServiceSpec { ports: Some(vec![port]), selector: Some(selector.clone()), ..ServiceSpec::default() };
    Some(value(&Service { metadata, spec: Some(spec), status: None }))
}

/// The configurations of a system's admission webhooks.
pub(super) fn configurations(
    site: &Site,
    (operator, rows): Installed<'_>,
    certificate: Certificate,
) -> Vec<Value> {
    let Some(hooks) = &operator.webhooks else { return vec![] };
    let names = operator.hook_names();
    let metadata = |name: &str| ObjectMeta {
        name: Some(name.into()),
        labels: Some(operator.labels.clone()),
        annotations: (certificate == Certificate::Platform).then(|| [injected()].into()),
        ..ObjectMeta::default()
    };
    let of = |type_: HookType| rows.webhooks.iter().filter(move |row| row.type_ == type_);
    let reviews = || hooks.reviews.iter().map(|&version| version.to_owned()).collect::<Vec<_>>();
    let mutating = of(HookType::Mutating).map(|row| MutatingWebhook {
        name: row.name.clone(),
        admission_review_versions: reviews(),
        client_config: client(site, &names.service, &row.path),
        failure_policy: Some(policy(row)),
        match_policy: Some("Equivalent".into()),
        rules: Some(vec![hooks.rule.clone()]),
        side_effects: "None".into(),
        ..MutatingWebhook::default()
    });
    let validating = of(HookType::Validating).map(|row| ValidatingWebhook {
        name: row.name.clone(),
        admission_review_versions: reviews(),
        client_config: client(site, &names.service, &row.path),
        failure_policy: Some(policy(row)),
        match_policy: Some("Equivalent".into()),
        rules: Some(vec![hooks.rule.clone()]),
        side_effects: "None".into(),
        ..ValidatingWebhook::default()
    });
    let (mutating, validating): (Vec<_>, Vec<_>) = (mutating.collect(), validating.collect());
    let mut objects = vec![];
    if !mutating.is_empty() {
        let metadata = metadata(&names.mutating);
        objects.push(value(&MutatingWebhookConfiguration { metadata, webhooks: Some(mutating) }));
    }
    if !validating.is_empty() {
        let metadata = metadata(&names.validating);
        objects.push(value(&ValidatingWebhookConfiguration { metadata, webhooks: Some(validating) }));
    }
    objects
}

/// Only what tells the API server of a system's webhooks, for a process that needs no certificate: the Service, with what
/// stands behind it, and the configurations.
#[must_use]
pub fn announced(site: &Site, system: Installed<'_>, selector: &Labels) -> Vec<Value> {
    let service = service(site, system, Certificate::Ours, selector);
    service.into_iter().chain(configurations(site, system, Certificate::Ours)).collect()
}

/// A definition, converted by a webhook of the process that runs these systems, if one of them has one for it.
#[must_use]
pub fn converted(site: &Site, systems: &[Installed<'_>], mut definition: Value) -> Value {
    let name = definition["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let found = systems.iter().find_map(|(operator, rows)| {
        let hooks = operator.webhooks.as_ref().filter(|hooks| hooks.converted.contains(&name))?;
        let row = rows.webhooks.iter().find(|row| row.type_ == HookType::Conversion)?;
        Some((operator, hooks, row))
    });
    let Some((operator, hooks, row)) = found else { return definition };
    definition["spec"]["conversion"] = json!({
        "strategy": "Webhook",
        "webhook": {
            "clientConfig": client(site, &operator.hook_names().service, &row.path),
            "conversionReviewVersions": hooks.reviews,
        },
    });
    if Certificate::of(site, systems) == Some(Certificate::Platform) {
        let (key, value) = injected();
        definition["metadata"]["annotations"][key] = value.into();
    }
    definition
}

/// The rights to keep certificates of our own in a Secret, and to have the API server trust them, everywhere by name.
pub(super) fn rights(
    site: &Site,
    holder: Holder<'_>,
    secret: &str,
    (role, binding): (&str, &str),
    systems: &[Installed<'_>],
) -> Vec<Value> {
    let hooked = || systems.iter().filter_map(|(operator, _)| Some((operator, operator.webhooks.as_ref()?)));
    let names = || hooked().map(|(operator, _)| operator.hook_names());
    let trust = access::trust(
        names().map(|names| names.mutating).collect(),
        names().map(|names| names.validating).collect(),
        hooked().flat_map(|(_, hooks)| hooks.converted.clone()).collect(),
    );
    let (kept, keeping) = holder.within(&site.namespace, role, binding, access::certificates(secret));
    let (trusted, trusting) = holder.everywhere(role, binding, trust);
    vec![value(&kept), value(&keeping), value(&trusted), value(&trusting)]
}

fn injected() -> (String, String) {
    (INJECT.into(), "true".into())
}

fn policy(row: &WebhookRow) -> String {
    match row.failure_policy {
        FailurePolicy::Fail => "Fail",
        FailurePolicy::Ignore => "Ignore",
    }
    .into()
}

/// How the API server reaches a webhook.
fn client(site: &Site, service: &str, path: &str) -> WebhookClientConfig {
    match &site.webhook_url {
        Some(url) => WebhookClientConfig {
            url: Some(format!("{}{path}", url.trim_end_matches('/'))),
            ..WebhookClientConfig::default()
        },
        None => WebhookClientConfig {
            service: Some(ServiceReference {
                name: service.into(),
                namespace: site.namespace.clone(),
                path: Some(path.into()),
                port: None,
            }),
            ..WebhookClientConfig::default()
        },
    }
}
