//! The operator's settings: the original's environment variables under the same names.

use quintet_kit::config::{Difference, DifferenceError, Differences, Variable};

/// User and name of the catalog's database, unless told otherwise.
pub(crate) const CATALOG_DATABASE: (&str, &str) = ("catalog_user", "model_catalog");

/// The variables that are read, under the original's names.
pub const VARIABLES: [Variable; 15] = [
    REST_IMAGE,
    KUBE_RBAC_PROXY_IMAGE,
    POSTGRES_IMAGE,
    CATALOG_DATA_IMAGE,
    BENCHMARK_DATA_IMAGE,
    REGISTRIES_NAMESPACE,
    ENABLE_WEBHOOKS,
    DEFAULT_DOMAIN,
    ENABLE_MODEL_CATALOG,
    SKIP_MODEL_CATALOG_DB_CREATION,
    CATALOG_POSTGRES_USER,
    CATALOG_POSTGRES_DATABASE,
    STORAGE_MIGRATION_SOURCE_VERSION,
    STORAGE_MIGRATION_TARGET_VERSION,
    Differences::VARIABLE,
];

const REST_IMAGE: Variable = Variable::new("REST_IMAGE", "image of the registries' and the catalog's server");
const KUBE_RBAC_PROXY_IMAGE: Variable =
    Variable::new("KUBE_RBAC_PROXY_IMAGE", "image of the proxy before a server");
const POSTGRES_IMAGE: Variable = Variable::new("POSTGRES_IMAGE", "image of databases that the operator runs");
const CATALOG_DATA_IMAGE: Variable =
    Variable::new("CATALOG_DATA_IMAGE", "image that brings the catalog's models");
const BENCHMARK_DATA_IMAGE: Variable =
    Variable::new("BENCHMARK_DATA_IMAGE", "image that brings the catalog's benchmarks");
const REGISTRIES_NAMESPACE: Variable = Variable::new(
    "REGISTRIES_NAMESPACE",
    "the one namespace of registries and catalog; empty: any, and no catalog",
);
const ENABLE_WEBHOOKS: Variable =
    Variable::new("ENABLE_WEBHOOKS", "webhooks are served unless this is false");
const DEFAULT_DOMAIN: Variable =
    Variable::new("DEFAULT_DOMAIN", "domain of Routes, in place of the cluster's");
const ENABLE_MODEL_CATALOG: Variable =
    Variable::new("ENABLE_MODEL_CATALOG", "the catalog is run unless this is false");
const SKIP_MODEL_CATALOG_DB_CREATION: Variable =
    Variable::new("SKIP_MODEL_CATALOG_DB_CREATION", "true: the catalog's database is somebody else's to run");
const CATALOG_POSTGRES_USER: Variable =
    Variable::new("CATALOG_POSTGRES_USER", "user of the catalog's database");
const CATALOG_POSTGRES_DATABASE: Variable =
    Variable::new("CATALOG_POSTGRES_DATABASE", "name of the catalog's database");
const STORAGE_MIGRATION_SOURCE_VERSION: Variable =
    Variable::new("STORAGE_MIGRATION_SOURCE_VERSION", "version in which stored objects shall not remain");
const STORAGE_MIGRATION_TARGET_VERSION: Variable =
    Variable::new("STORAGE_MIGRATION_TARGET_VERSION", "version in which they shall be stored");

/// Ids of differences from the original that can be switched; `docs/differences.md` says what each is.
pub mod difference {
    /// The catalog's database is kept in its pod: restarts it.
    pub const CATALOG_SCRATCH: &str = "registry-catalog-scratch";
    /// Failures and traps are told as events.
    pub const EVENTS: &str = "registry-events";
    /// Conditions carry `observedGeneration`.
    pub const GENERATION: &str = "registry-generation";
    /// A stored registry that is invalid says so in `Available`.
    pub const INVALID_STATUS: &str = "registry-invalid-status";
    /// Objects that the pods wait for are named in `Available`.
    pub const MISSING: &str = "registry-missing";
    /// The proxy's container may do no more than the server's: restarts servers that have one.
    pub const PROXY_SECURITY: &str = "registry-proxy-security";
    /// After a migration the definition tells of the old version no more.
    pub const STORED_VERSIONS: &str = "registry-stored-versions";
}

/// The switches, and what holds unless they are used. What restarts pods is off.
pub const DIFFERENCES: [Difference; 7] = [
    Difference::off(difference::CATALOG_SCRATCH),
    Difference::on(difference::EVENTS),
    Difference::on(difference::GENERATION),
    Difference::on(difference::INVALID_STATUS),
    Difference::on(difference::MISSING),
    Difference::off(difference::PROXY_SECURITY),
    Difference::on(difference::STORED_VERSIONS),
];

/// What the operator is told at its start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The one namespace of registries and catalog; none means that registries may be anywhere.
    pub namespace: Option<String>,
    /// Image of the registries' and the catalog's server.
    pub rest_image: String,
    /// Image of the proxy before a server.
    pub proxy_image: String,
    /// Image of databases that the operator runs.
    pub postgres_image: String,
    /// Domain of Routes, in place of the cluster's.
    pub default_domain: Option<String>,
    /// Webhooks are served.
    pub webhooks: bool,
    /// The catalog.
    pub catalog: CatalogConfig,
    /// Stored objects are to be moved from one version to another.
    pub migration: Option<Versions>,
    /// Which differences from the original are on (`QUINTET_DIFFERENCES`).
    pub differences: Differences,
}

/// What the operator is told of the catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogConfig {
    /// It is run; otherwise what there is of it is removed.
    pub enabled: bool,
    /// Where it is; without a place it is neither run nor removed.
    pub namespace: Option<String>,
    /// Its database is somebody else's to run.
    pub skip_database: bool,
    /// User of its database.
    pub user: String,
    /// Name of its database.
    pub database: String,
    /// Image that brings its models.
    pub data_image: String,
    /// Image that brings its benchmarks.
    pub benchmark_image: String,
}

/// From which version to which.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Versions {
    /// The version in which objects shall not remain.
    pub source: String,
    /// The version in which they shall be stored.
    pub target: String,
    /// Afterwards the definition tells of the first one no more.
    pub forget: bool,
}

/// Settings that the operator cannot start with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// Not a name that a namespace can have.
    #[error(
        "REGISTRIES_NAMESPACE={0:?} is not the name of a namespace: use lower-case letters, digits and dashes"
    )]
    Namespace(String),
    /// `QUINTET_DIFFERENCES` with something that cannot be switched.
    #[error("QUINTET_DIFFERENCES: {0}")]
    Differences(#[from] DifferenceError),
}

impl Config {
    /// Settings from a way to look up environment variables. A variable that is set but empty counts as not set.
    ///
    /// # Errors
    /// If `REGISTRIES_NAMESPACE` is not a name that a namespace can have (the original drops it silently), or a switch unknown.
    pub fn new(variable: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let get = |it: Variable| variable(it.name).filter(|value| !value.is_empty());
        let or = |it: Variable, default: &str| get(it).unwrap_or_else(|| default.to_owned());
        let namespace =
            get(REGISTRIES_NAMESPACE).map(|name| name.trim().to_owned()).filter(|n| !n.is_empty());
        if let Some(name) = namespace.as_ref().filter(|name| !is_label(name)) {
            return Err(ConfigError::Namespace(name.clone()));
        }
        let differences = Differences::parse("registry", &DIFFERENCES, &or(Differences::VARIABLE, ""))?;
        let metadata = "quay.io/opendatahub/odh-model-metadata-collection:latest";
        let versions = Versions {
            source: or(STORAGE_MIGRATION_SOURCE_VERSION, ""),
            target: or(STORAGE_MIGRATION_TARGET_VERSION, ""),
            forget: differences.has(difference::STORED_VERSIONS),
        };
        Ok(Config {
            namespace: namespace.clone(),
            rest_image: or(REST_IMAGE, "quay.io/opendatahub/model-registry:latest"),
            proxy_image: or(KUBE_RBAC_PROXY_IMAGE, "quay.io/openshift/origin-kube-rbac-proxy:latest"),
            postgres_image: or(POSTGRES_IMAGE, "quay.io/sclorg/postgresql-16-c10s:latest"),
            default_domain: get(DEFAULT_DOMAIN),
            webhooks: get(ENABLE_WEBHOOKS).as_deref() != Some("false"),
            catalog: CatalogConfig {
                enabled: get(ENABLE_MODEL_CATALOG).as_deref() != Some("false"),
                namespace,
                skip_database: get(SKIP_MODEL_CATALOG_DB_CREATION).as_deref() == Some("true"),
                user: or(CATALOG_POSTGRES_USER, CATALOG_DATABASE.0),
                database: or(CATALOG_POSTGRES_DATABASE, CATALOG_DATABASE.1),
                data_image: or(CATALOG_DATA_IMAGE, metadata),
                benchmark_image: or(BENCHMARK_DATA_IMAGE, metadata),
            },
            migration: Some(versions).filter(|versions| versions.source != versions.target),
            differences,
        })
    }

    /// The same for an operator that has a home: there the catalog is, if it is nowhere else.
    #[must_use]
    pub fn at_home(mut self, namespace: &str) -> Self {
        self.catalog.namespace.get_or_insert_with(|| namespace.to_owned());
        self
    }
}

fn is_label(name: &str) -> bool {
    let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    name.len() <= 63
        && name.starts_with(is_inner)
        && name.ends_with(is_inner)
        && name.chars().all(|c| is_inner(c) || c == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(variables: &[(&str, &str)]) -> Result<Config, ConfigError> {
        Config::new(|name| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn a_namespace_is_trimmed_checked_and_may_be_absent() {
        assert_eq!(config(&[("REGISTRIES_NAMESPACE", " ns-1 ")]).unwrap().namespace.as_deref(), Some("ns-1"));
        assert_eq!(config(&[]).unwrap().namespace, None);
        let home = config(&[]).unwrap().at_home("home");
        assert_eq!((home.namespace, home.catalog.namespace.as_deref()), (None, Some("home")));
        let told = config(&[("REGISTRIES_NAMESPACE", "ns-1")]).unwrap().at_home("home");
        assert_eq!(told.catalog.namespace.as_deref(), Some("ns-1"));
        for bad in ["A", "a.b", "-a", "a_b"] {
            assert_eq!(config(&[("REGISTRIES_NAMESPACE", bad)]), Err(ConfigError::Namespace(bad.into())));
        }
    }

    #[test]
    fn switches_turn_only_at_the_exact_word() {
        let catalog = |variables| config(variables).unwrap().catalog;
        assert!(catalog(&[("ENABLE_MODEL_CATALOG", "no")]).enabled);
        assert!(!catalog(&[("ENABLE_MODEL_CATALOG", "false")]).enabled);
        assert!(!catalog(&[("SKIP_MODEL_CATALOG_DB_CREATION", "yes")]).skip_database);
        assert!(catalog(&[("SKIP_MODEL_CATALOG_DB_CREATION", "true")]).skip_database);
        assert!(!config(&[("ENABLE_WEBHOOKS", "false")]).unwrap().webhooks);
        assert!(config(&[("ENABLE_WEBHOOKS", "False")]).unwrap().webhooks);
    }

    #[test]
    fn what_can_be_noticed_can_be_switched_and_what_restarts_pods_is_off() {
        let page = include_str!("../../../docs/differences.md");
        let rows = page.lines().map(|line| line.split('|').map(str::trim).collect::<Vec<_>>());
        let mut listed: Vec<(&str, bool)> = vec![];
        for row in rows.filter(|row| row.get(2) == Some(&"model-registry")) {
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

    #[test]
    fn a_switch_that_there_is_not_is_refused() {
        let refused = config(&[("QUINTET_DIFFERENCES", "registry-event=off")]).unwrap_err().to_string();
        let text = "QUINTET_DIFFERENCES: registry-event cannot be switched: did you mean registry-events?";
        assert_eq!(refused, text);
    }

    #[test]
    fn one_version_is_no_migration() {
        let (source, target) = ("STORAGE_MIGRATION_SOURCE_VERSION", "STORAGE_MIGRATION_TARGET_VERSION");
        assert_eq!(config(&[(source, "v1"), (target, "v1")]).unwrap().migration, None);
        let versions = config(&[(source, "v1alpha1"), (target, "v1beta1")]).unwrap().migration.unwrap();
        assert_eq!((versions.source.as_str(), versions.target.as_str()), ("v1alpha1", "v1beta1"));
    }
}
