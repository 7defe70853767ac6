//! The operator's settings: the original's environment variables under the same names.

use quintet_kit::config::{Difference, DifferenceError, Differences, Variable};

/// The platform's CA bundle, if the namespace has one.
pub const PLATFORM_CA_BUNDLE: &str = "odh-trusted-ca-bundle";

/// The variables that are read, under the original's names.
pub const VARIABLES: [Variable; 5] = [
    Variable::new("MLFLOW_IMAGE", "image of every container whose MLflow names none"),
    Variable::new("GATEWAY_NAME", "the gateway that routes attach to"),
    Variable::new("MLFLOW_URL", "where people reach the gateway, without a path"),
    Variable::new("SECTION_TITLE", "section of the console's application menu"),
    Differences::VARIABLE,
];

/// Ids of differences from the original that can be switched; `docs/differences.md` says what each is.
pub mod difference {
    /// Our own shell programs in servers that the original made: restarts them.
    pub const CA_SCRIPTS: &str = "mlflow-ca-scripts";
    /// Failures and traps are told as events.
    pub const EVENTS: &str = "mlflow-events";
    /// The operator holds the rights that the garbage-collection job gets.
    pub const GC_RIGHTS: &str = "mlflow-gc-rights";
    /// Conditions carry `observedGeneration`.
    pub const GENERATION: &str = "mlflow-generation";
    /// Only pods of the last version count as ready.
    pub const ROLLOUT_READY: &str = "mlflow-rollout-ready";
    /// A condition says what the gateway made of the route.
    pub const ROUTE_CONDITION: &str = "mlflow-route-condition";
}

/// The switches, and what holds unless they are used. What restarts pods is off.
pub const DIFFERENCES: [Difference; 6] = [
    Difference::off(difference::CA_SCRIPTS),
    Difference::on(difference::EVENTS),
    Difference::on(difference::GC_RIGHTS),
    Difference::on(difference::GENERATION),
    Difference::on(difference::ROLLOUT_READY),
    Difference::on(difference::ROUTE_CONDITION),
];

/// What the operator is told at its start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Namespace of everything that is not cluster-scoped (`--namespace`).
    pub namespace: String,
    /// Image of every container whose custom resource names none (`MLFLOW_IMAGE`).
    pub image: String,
    /// The gateway that routes attach to (`GATEWAY_NAME`).
    pub gateway_name: String,
    /// Where people reach the gateway (`MLFLOW_URL`).
    pub url: PublicUrl,
    /// Section of the console's application menu (`SECTION_TITLE`).
    pub section_title: String,
    /// Which differences from the original are on (`QUINTET_DIFFERENCES`).
    pub differences: Differences,
}

/// The gateway's public URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicUrl {
    /// The URL, or a placeholder.
    pub base: String,
    /// True if `MLFLOW_URL` is in the environment at all, be it empty: only then is it shown in status.
    pub configured: bool,
}

/// Settings that the operator cannot start with.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ConfigError {
    /// `--namespace=`.
    #[error("namespace must be specified: set --namespace to the namespace that MLflow shall run in")]
    NoNamespace,
    /// `QUINTET_DIFFERENCES` with something that cannot be switched.
    #[error("QUINTET_DIFFERENCES: {0}")]
    Differences(#[from] DifferenceError),
}

impl Config {
    /// Settings from a namespace and a way to look up environment variables. A variable that is set but empty counts as
    /// not set.
    ///
    /// # Errors
    /// If the namespace is empty, or a switch unknown.
    pub fn new(namespace: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        if namespace.is_empty() {
            return Err(ConfigError::NoNamespace);
        }
        let or = |name: &str, default: &str| {
            variable(name).filter(|value| !value.is_empty()).unwrap_or_else(|| default.to_owned())
        };
        Ok(Config {
            namespace: namespace.to_owned(),
            image: or("MLFLOW_IMAGE", "quay.io/opendatahub/mlflow:odh-stable"),
            gateway_name: or("GATEWAY_NAME", "data-science-gateway"),
            url: PublicUrl {
                base: or("MLFLOW_URL", "https://mlflow.example.com"),
                configured: variable("MLFLOW_URL").is_some(),
            },
            section_title: or("SECTION_TITLE", "MLflow"),
            differences: Differences::parse("mlflow", &DIFFERENCES, &or(Differences::VARIABLE.name, ""))?,
        })
    }
}

impl PublicUrl {
    /// Scheme, host and port, for the list of origins; none if the URL lacks a scheme or a host.
    pub fn origin(&self) -> Option<String> {
        let uri: http::Uri = self.base.parse().ok()?;
        let scheme = uri.scheme_str()?.to_ascii_lowercase();
        let authority = uri.authority()?.as_str();
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        (!host.is_empty()).then(|| format!("{scheme}://{host}"))
    }

    /// The URL with a path after it, if it was configured and is more than slashes.
    pub fn shown(&self, path: &str) -> Option<String> {
        let base = self.base.trim_end_matches('/');
        (self.configured && !base.is_empty()).then(|| format!("{base}{path}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(variables: &[(&str, &str)]) -> Config {
        let find =
            |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned());
        Config::new("opendatahub", find).expect("a namespace is given")
    }

    #[test]
    fn an_empty_namespace_is_refused() {
        assert_eq!(Config::new("", |_| None), Err(ConfigError::NoNamespace));
    }

    #[test]
    fn a_difference_that_cannot_be_switched_is_refused() {
        let refused =
            Config::new("x", |name| (name == "QUINTET_DIFFERENCES").then(|| "mlflow-event=off".into()));
        let text = "QUINTET_DIFFERENCES: mlflow-event cannot be switched: did you mean mlflow-events?";
        assert_eq!(refused.unwrap_err().to_string(), text);
    }

    #[test]
    fn an_empty_variable_counts_as_not_set_but_a_url_as_configured() {
        let empty = config(&[("MLFLOW_IMAGE", ""), ("MLFLOW_URL", "")]);
        assert_eq!(empty.image, config(&[]).image);
        assert_eq!(empty.url.shown("/mlflow").as_deref(), Some("https://mlflow.example.com/mlflow"));
        assert_eq!(config(&[]).url.shown("/mlflow"), None);
    }

    #[test]
    fn the_shown_url_keeps_a_path_and_loses_slashes_at_its_end() {
        let shown = |url| config(&[("MLFLOW_URL", url)]).url.shown("/mlflow");
        assert_eq!(shown("https://gw.test/base//").as_deref(), Some("https://gw.test/base/mlflow"));
        assert_eq!(shown("//"), None);
    }

    #[test]
    fn an_origin_is_scheme_host_and_port_as_written() {
        let origin = |url| config(&[("MLFLOW_URL", url)]).url.origin();
        assert_eq!(origin("https://gw.test:443/base?q#f").as_deref(), Some("https://gw.test:443"));
        assert_eq!(origin("HTTPS://user:word@GW.test/x").as_deref(), Some("https://GW.test"));
        assert_eq!(origin("https://[::1]:8443").as_deref(), Some("https://[::1]:8443"));
        assert_eq!(origin("gw.test"), None);
        assert_eq!(origin("/path"), None);
        assert_eq!(origin("http://bad host"), None);
    }

    #[test]
    fn what_can_be_noticed_can_be_switched_and_what_restarts_pods_is_off() {
        let page = include_str!("../../../docs/differences.md");
        let rows = page.lines().map(|line| line.split('|').map(str::trim).collect::<Vec<_>>());
        let mut listed: Vec<(&str, bool)> = vec![];
        for row in rows.filter(|row| row.get(2) == Some(&"mlflow")) {
            match row[3] {
                "visible" => listed.push((row[1], true)),
                "rollout" => listed.push((row[1], false)),
                class => assert_eq!(class, "safe", "{}", row[1]),
            }
        }
        listed.sort_unstable();
        let mut switches: Vec<(&str, bool)> = DIFFERENCES.iter().map(|d| (d.id, d.default)).collect();
        switches.sort_unstable();
        assert_eq!(switches, listed);
    }
}
