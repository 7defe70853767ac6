//! What this process watches, serves and is configured by, for `quintet dataflow`.

use k8s_openapi::api::core::v1::{ConfigMap, Secret, Service, ServicePort, ServiceSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use quintet_api::maas::ExternalModel;
use quintet_kit::Kind;
use quintet_kit::wiring::{
    ConfigRow, ControllerRows, Edge, EndpointRow, Origin, Select, ServiceRow, SystemRows, WatchRow,
};

use crate::watch::{LABEL, Needs};

/// The name of the Deployment, its Service and its ServiceAccount.
pub const NAME: &str = "payload-processing";

/// The port of the ext_proc service.
pub const PORT: i32 = 9004;

/// The Service in front of the ext_proc port. Its one port has no name.
pub fn service(namespace: &str) -> Service {
    let label = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let labels = [
        label("app.kubernetes.io/component", NAME),
        label("app.kubernetes.io/name", NAME),
        label("app.kubernetes.io/part-of", "models-as-a-service"),
    ];
    let port = ServicePort {
        port: PORT,
        target_port: Some(IntOrString::Int(PORT)),
        protocol: Some("TCP".into()),
        app_protocol: Some("HTTP2".into()),
        ..ServicePort::default()
    };
    Service {
        metadata: ObjectMeta {
            name: Some(NAME.into()),
            namespace: Some(namespace.into()),
            labels: Some(labels.clone().into()),
            ..ObjectMeta::default()
        },
        spec: Some(ServiceSpec {
            type_: Some("ClusterIP".into()),
            selector: Some([label("app", NAME)].into_iter().chain(labels).collect()),
            ports: Some(vec![port]),
            ..ServiceSpec::default()
        }),
        status: None,
    }
}

/// The rows of a process that needs these kinds.
pub fn rows(needs: Needs) -> SystemRows {
    let labelled = || Select::all().labels(LABEL);
    let mut watches = Vec::new();
    if needs.models {
        watches.push(watch::<ExternalModel>(Select::all(), true, "model-provider-resolver"));
    }
    if needs.credentials {
        watches.push(watch::<Secret>(labelled(), false, "apikey-injection"));
    }
    if needs.base_models {
        watches.push(watch::<ConfigMap>(labelled(), false, "base-model-to-header"));
    }
    SystemRows {
        system: NAME.into(),
        controllers: vec![ControllerRows { controller: NAME.into(), watches, ..ControllerRows::default() }],
        services: ServiceRow::of(&service("openshift-ingress"), Origin::Install),
        endpoints: vec![EndpointRow::new("GET", "/metrics")],
        config: vec![
            ConfigRow { kind: "Environment".into(), name: String::new(), keys: vec!["NAMESPACE".into()] },
            ConfigRow {
                kind: "ConfigMap".into(),
                name: "payload-processing-plugins".into(),
                keys: ["api-translation", "apikey-injection", "model-provider-resolver", "model-to-header"]
                    .map(|plugin| format!("{plugin}-plugin"))
                    .into(),
            },
        ],
        ..SystemRows::default()
    }
}

/// A watch that fills a store; no reconcile follows.
fn watch<K: Kind>(select: Select, optional: bool, plugin: &str) -> WatchRow {
    WatchRow {
        edge: Edge::Watches,
        kind: K::gvk(),
        controller: NAME.into(),
        select,
        metadata_only: false,
        fetched: false,
        optional,
        when: format!("plugin {plugin}"),
        predicate: String::new(),
        mapping: "store".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::PluginSpec;

    #[test]
    fn the_seed_pages_row_comes_from_the_service() {
        let rows = rows(Needs::of(&PluginSpec::maas()));
        let service = &rows.services[0];
        assert_eq!(
            (service.name.as_str(), service.port, service.port_name.as_str()),
            ("payload-processing", 9004, "")
        );
        let watched: Vec<_> =
            rows.controllers[0].watches.iter().map(|watch| watch.kind.plural.as_str()).collect();
        assert_eq!(watched, ["externalmodels", "secrets"]);
    }
}
