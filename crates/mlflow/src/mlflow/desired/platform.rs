//! What ties the server into the platform: metrics, the console's menu, the gateway. Each only where its API is served.

use k8s_openapi::{
    api::core::v1::ConfigMapKeySelector,
    apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta},
};
use quintet_api::foreign::{
    console::{ApplicationMenu, ConsoleLink, ConsoleLinkSpec},
    gateway::{HTTPRoute, HTTPRouteSpec, ParentReference},
    monitoring::{Endpoint, SecretOrConfigMap, ServiceMonitor, ServiceMonitorSpec, TlsConfig},
};
use quintet_kit::parts::route;

use super::plan::Plan;
use crate::mlflow::names::{Names, PORT};

/// The menu entry's icon, the original's: consoles show the same.
const ICON: &str = include_str!("icon.txt");

/// Prometheus scrapes the server with its own certificate check: OpenShift's authority, or none.
pub(super) fn service_monitor(plan: &Plan<'_>) -> ServiceMonitor {
    let tls = if plan.openshift() {
        let authority = ConfigMapKeySelector {
            name: "openshift-service-ca.crt".into(),
            key: "service-ca.crt".into(),
            optional: None,
        };
        TlsConfig {
            ca: Some(SecretOrConfigMap { config_map: Some(authority), secret: None }),
            server_name: Some(plan.names.host()),
            ..TlsConfig::default()
        }
    } else {
        TlsConfig { insecure_skip_verify: Some(true), ..TlsConfig::default() }
    };
    ServiceMonitor {
        metadata: plan.meta(plan.names.monitor()),
        spec: ServiceMonitorSpec {
            endpoints: vec![Endpoint {
                path: Some("/metrics".into()),
                port: Some("https".into()),
                scheme: Some("https".into()),
                tls_config: Some(tls),
                ..Endpoint::default()
            }],
            selector: LabelSelector { match_labels: Some(plan.names.selector()), match_expressions: None },
            namespace_selector: None,
        },
    }
}

pub(super) fn console_link(plan: &Plan<'_>) -> ConsoleLink {
    let metadata = plan.meta(plan.names.server());
    ConsoleLink {
        metadata: ObjectMeta { namespace: None, labels: Some(Names::platform_labels()), ..metadata },
        spec: ConsoleLinkSpec {
            text: "MLflow".into(),
            href: format!("{}{}", plan.config.url.base, plan.names.path()),
            location: "ApplicationMenu".into(),
            application_menu: Some(ApplicationMenu {
                section: plan.config.section_title.clone(),
                image_url: ICON.trim_end().into(),
            }),
        },
    }
}

/// The server lives below its own path; its API is at the root of the server's.
pub(super) fn http_route(plan: &Plan<'_>) -> HTTPRoute {
    let (service, path) = (plan.names.server(), plan.names.path());
    let below = |sub: &str| route::prefix_rule(format!("{path}{sub}"), &service, PORT);
    let metadata = plan.meta(&service);
    HTTPRoute {
        metadata: ObjectMeta { labels: Some(Names::platform_labels()), ..metadata },
        spec: HTTPRouteSpec {
            parent_refs: vec![ParentReference {
                name: plan.config.gateway_name.clone(),
                namespace: Some("openshift-ingress".into()),
                ..ParentReference::default()
            }],
            hostnames: vec![],
            rules: vec![
                route::rewriting_to("/api", below("/api")),
                route::rewriting_to("/v1", below("/v1")),
                below(""),
            ],
        },
        status: None,
    }
}
