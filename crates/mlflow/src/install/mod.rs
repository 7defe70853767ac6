//! How the operator is installed: the names, labels and settings of the original's manifests.

mod rights;

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use quintet_kit::config::Differences;
use quintet_kit::install::{Labels, Metrics, Operator, Site, settings_name};
use quintet_kit::parts::{meta::labels, resources};

use crate::config::{Config, DIFFERENCES};

const PREFIX: &str = "mlflow-operator-";
/// The original's leader election, so that it and we never write at once.
pub const LEASE: &str = "a5eb1b3b.opendatahub.io";
/// Stands for a public URL until the platform puts its own there.
const URL: &str = "https://www.gateway-hostname-placeholder-with-mlflow-path.com";

/// Where the manager finds the certificate of its metrics.
const METRICS_MOUNT: &str = "/etc/metrics-certs";

const OURS: &str = "mlflow.opendatahub.io";
/// Group of what MLflow's server asks access reviews about; only `mlflowconfigs` is served.
const SERVER: &str = "mlflow.kubeflow.org";

/// The operator's install at a site.
pub(crate) fn operator(site: &Site, config: &Config) -> Operator {
    let selector =
        labels([("app.kubernetes.io/name", "mlflow-operator"), ("control-plane", "controller-manager")]);
    let url = if config.url.configured { config.url.base.as_str() } else { URL };
    let mut env = vec![
        ("MLFLOW_IMAGE", config.image.clone()),
        ("GATEWAY_NAME", config.gateway_name.clone()),
        ("MLFLOW_URL", url.to_owned()),
        ("SECTION_TITLE", config.section_title.clone()),
    ];
    let switches = config.differences.switches(&DIFFERENCES);
    env.extend(switches.map(|switches| (Differences::VARIABLE.name, switches)));
    Operator {
        system: "mlflow",
        prefix: PREFIX,
        labels: managed(&selector),
        lease: LEASE,
        args: vec![format!("--namespace={}", site.namespace)],
        env,
        resources: resources::defaults(
            &[("cpu", "200m"), ("memory", "400Mi")],
            &[("cpu", "1"), ("memory", "4Gi")],
        ),
        settings: settings(site, config, url),
        metrics: Metrics {
            secret: "controller-manager-metrics-tls".into(),
            volume: "metrics-cert",
            mode: None,
            mount: METRICS_MOUNT,
            flags: vec![format!("--metrics-cert-path={METRICS_MOUNT}")],
            review_role: "metrics-auth-role",
            monitor: "controller-manager-metrics-monitor",
        },
        webhooks: None,
        roles: vec![view(), edit(), integration()],
        others: vec![],
        original_rights: rights::ORIGINAL,
        reasons: rights::REASONS,
        reserves: rights::RESERVES,
        selector,
    }
}

fn managed(selector: &Labels) -> Labels {
    selector.clone().into_iter().chain(labels([("app.kubernetes.io/managed-by", "kustomize")])).collect()
}

/// What the original's build copies into its manager's environment; platform operators rewrite it.
fn settings(site: &Site, config: &Config, url: &str) -> ConfigMap {
    let data = labels([
        ("MLFLOW_IMAGE", config.image.as_str()),
        ("MLFLOW_OPERATOR_IMAGE", site.image.as_str()),
        ("gateway-name", config.gateway_name.as_str()),
        ("mlflow-url", url),
        ("section-title", config.section_title.as_str()),
    ]);
    let name = settings_name(&format!("{PREFIX}operator-params"), &data);
    let metadata = ObjectMeta { name: Some(name), ..ObjectMeta::default() };
    ConfigMap { metadata, data: Some(data), ..ConfigMap::default() }
}

fn view() -> ClusterRole {
    let read: &[&str] = &["get", "list", "watch"];
    role(
        "mlflow-view",
        &["admin", "edit", "view"],
        vec![
            rule(OURS, &["mlflows", "mlflows/status"], read),
            rule(SERVER, &["mlflowconfigs"], read),
            rule(
                SERVER,
                &[
                    "datasets",
                    "experiments",
                    "registeredmodels",
                    "gatewayendpoints",
                    "gatewaymodeldefinitions",
                ],
                &["get", "list"],
            ),
        ],
    )
}

fn edit() -> ClusterRole {
    let change: &[&str] = &["create", "delete", "deletecollection", "patch", "update"];
    let all = [&["get", "list", "watch"], change].concat();
    role(
        "mlflow-edit",
        &["admin", "edit"],
        vec![
            rule(OURS, &["mlflows"], &all),
            rule(OURS, &["mlflows/finalizers"], &["patch", "update"]),
            rule(SERVER, &["mlflowconfigs"], change),
            rule(SERVER, &["gatewaysecrets"], &["get", "list"]),
            rule(
                SERVER,
                &[
                    "datasets",
                    "experiments",
                    "registeredmodels",
                    "gatewaysecrets",
                    "gatewayendpoints",
                    "gatewaymodeldefinitions",
                ],
                &["create", "update", "delete"],
            ),
            rule(
                SERVER,
                &["gatewaysecrets/use", "gatewayendpoints/use", "gatewaymodeldefinitions/use"],
                &["create"],
            ),
        ],
    )
}

/// For other components' service accounts, bound by whoever installs those.
fn integration() -> ClusterRole {
    let models: &[&str] = &["datasets", "experiments", "registeredmodels"];
    role(
        "mlflow-integration",
        &[],
        vec![
            rule(SERVER, models, &["get", "list", "create", "update"]),
            rule(SERVER, &["gatewayendpoints"], &["get", "list"]),
            rule(SERVER, &["gatewayendpoints/use"], &["create"]),
        ],
    )
}

/// A role for people; its rules also count for these of the cluster's own roles.
fn role(name: &str, aggregated_to: &[&str], rules: Vec<PolicyRule>) -> ClusterRole {
    let aggregated =
        aggregated_to.iter().map(|to| (format!("rbac.authorization.k8s.io/aggregate-to-{to}"), "true"));
    let metadata = ObjectMeta {
        name: Some(format!("{PREFIX}{name}")),
        labels: (!aggregated_to.is_empty()).then(|| labels(aggregated)),
        ..ObjectMeta::default()
    };
    ClusterRole { metadata, rules: Some(rules), aggregation_rule: None }
}

fn rule(group: &str, resources: &[&str], verbs: &[&str]) -> PolicyRule {
    let texts = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
    PolicyRule {
        api_groups: Some(vec![group.into()]),
        resources: Some(texts(resources)),
        verbs: texts(verbs),
        ..PolicyRule::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_kit::install::Platform;

    #[test]
    fn the_settings_are_called_as_the_originals_build_calls_them() {
        let site = Site {
            namespace: "opendatahub".into(),
            image: "quay.io/opendatahub/mlflow-operator:odh-stable".into(),
            platform: Platform::OpenShift,
            webhook_url: None,
        };
        let config = Config::new("opendatahub", |_| None).expect("a namespace is given");
        let name = operator(&site, &config).settings.metadata.name;
        assert_eq!(name.as_deref(), Some("mlflow-operator-operator-params-2t82tgfbmt"));
    }
}
