//! What is refused, with the original's words; and what it lets in though nothing can come of it.

use std::fmt;

use kube::ResourceExt;
use quintet_api::model_registry::{ModelRegistry, Postgres};

use crate::{Config, parts::proxy::HEALTH_PORT, registry::Names};

/// Label values, and so names that are label values too, may be this long.
const LONGEST: usize = 63;
/// What the catalog's own objects are called.
const CATALOG: &str = "model-catalog";

/// A registry that cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    name: String,
    errors: Vec<String>,
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ModelRegistry.modelregistry.opendatahub.io {:?} is invalid: ", self.name)?;
        match self.errors.as_slice() {
            [only] => f.write_str(only),
            several => write!(f, "[{}]", several.join(", ")),
        }
    }
}

impl std::error::Error for Invalid {}

/// The registries there are, in all namespaces.
#[derive(Clone, Debug, Default)]
pub struct Others(Vec<Other>);

#[derive(Clone, Debug)]
struct Other {
    name: String,
    namespace: String,
    is_generating: bool,
}

impl<'a> FromIterator<&'a ModelRegistry> for Others {
    fn from_iter<I: IntoIterator<Item = &'a ModelRegistry>>(registries: I) -> Self {
        let other = |registry: &ModelRegistry| Other {
            name: registry.name_any(),
            namespace: registry.namespace().unwrap_or_default(),
            is_generating: registry.spec.postgres.as_ref().is_some_and(Postgres::is_generated),
        };
        Others(registries.into_iter().map(other).collect())
    }
}

/// Whether a registry may be made, beside those there are. It has been defaulted.
///
/// # Errors
/// If it may not; the text is what the user is shown.
pub fn validate_create(registry: &ModelRegistry, config: &Config, others: &Others) -> Result<(), Invalid> {
    let name = registry.name_any();
    if let Some(other) = others.0.iter().find(|other| other.name == name) {
        let taken = format!("registry named {name} already exists in namespace {}", other.namespace);
        return refuse(registry, vec![format!("metadata.name: Duplicate value: {taken:?}")]);
    }
    let mut errors = checks(registry, config);
    errors.extend(name_checks(registry, config, others));
    refuse(registry, errors)
}

/// Whether a registry may be changed so. One that is being deleted may: it only waits to be let go.
///
/// # Errors
/// If it may not; the text is what the user is shown.
pub fn validate_update(registry: &ModelRegistry, config: &Config) -> Result<(), Invalid> {
    if registry.metadata.deletion_timestamp.is_some() {
        return Ok(());
    }
    refuse(registry, checks(registry, config))
}

/// Whether children can be built from a stored registry.
pub(crate) fn sound(registry: &ModelRegistry, config: &Config) -> Result<(), Invalid> {
    let mut registry = registry.clone();
    super::default_spec(&mut registry.spec);
    let mut errors = checks(&registry, config);
    errors.extend(name_checks(&registry, config, &Others::default()));
    refuse(&registry, errors)
}

fn refuse(registry: &ModelRegistry, errors: Vec<String>) -> Result<(), Invalid> {
    if errors.is_empty() { Ok(()) } else { Err(Invalid { name: registry.name_any(), errors }) }
}

fn checks(registry: &ModelRegistry, config: &Config) -> Vec<String> {
    let (spec, namespace) = (&registry.spec, registry.namespace().unwrap_or_default());
    let mut errors = vec![];
    if let Some(allowed) = config.namespace.as_ref().filter(|allowed| **allowed != namespace) {
        errors.push(format!("metadata.namespace: Invalid value: {namespace:?}: namespace must be {allowed}"));
    }
    if spec.postgres.is_none() && spec.mysql.is_none() {
        let required = |field: &str| {
            format!("spec.{field}: Required value: required one of `postgres` or `mysql` database")
        };
        errors.extend([required("postgres"), required("mysql")]);
    }
    if let Some(postgres) =
        spec.postgres.as_ref().filter(|postgres| postgres.is_generated() && postgres.has_host())
    {
        let host = postgres.host.as_deref().unwrap_or_default();
        let text = "host should not be set when auto-provisioning is enabled";
        errors.push(format!("spec.postgres.host: Invalid value: {host:?}: {text}"));
    }
    if let Some(proxy) = &spec.kube_rbac_proxy {
        let port = spec.rest.port;
        for (taken, whose) in
            [(proxy.port, "the proxy's port"), (HEALTH_PORT, "the port of the proxy's health")]
        {
            if port == taken {
                errors.push(format!("spec.rest.port: Invalid value: {port}: is {whose}, choose another one"));
            }
        }
    }
    errors
}

/// Names from which no children can be made, or only such as others have.
fn name_checks(registry: &ModelRegistry, config: &Config, others: &Others) -> Vec<String> {
    let (names, name) = (Names::of(registry), registry.name_any());
    let mut problems = vec![];
    if !is_service_name(&name) {
        problems.push(
            "a Service cannot have this name: use lower-case letters, digits and dashes, a letter first"
                .into(),
        );
    }
    let longest = match registry.spec.kube_rbac_proxy {
        Some(_) => names.proxy_config(),
        None => names.user_role(),
    };
    if longest.len() > LONGEST {
        let most = LONGEST + name.len() - longest.len();
        problems.push(format!("is too long for its children's labels: use at most {most} characters"));
    }
    if name == CATALOG && config.catalog.namespace.as_deref() == Some(names.namespace()) {
        problems.push("the model catalog has objects of this name".into());
    }
    let database_of = |other: &&Other| {
        other.is_generating
            && other.namespace == names.namespace()
            && format!("{}-postgres", other.name) == name
    };
    if let Some(other) = others.0.iter().find(database_of) {
        problems.push(format!("the database of registry {} has objects of this name", other.name));
    }
    let is_generating = registry.spec.postgres.as_ref().is_some_and(Postgres::is_generated);
    let is_taken = |other: &&Other| other.namespace == names.namespace() && other.name == names.database();
    if let Some(other) = others.0.iter().find(is_taken).filter(|_| is_generating) {
        problems.push(format!("its database would have the name of registry {}", other.name));
    }
    problems.into_iter().map(|problem| format!("metadata.name: Invalid value: {name:?}: {problem}")).collect()
}

/// What a Service can be called.
fn is_service_name(name: &str) -> bool {
    let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    name.len() <= LONGEST
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.ends_with(is_inner)
        && name.chars().all(|c| is_inner(c) || c == '-')
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn config(namespace: &str) -> Config {
        Config::new(|name| (name == "REGISTRIES_NAMESPACE").then(|| namespace.to_owned())).unwrap()
    }

    fn registry(namespace: &str, name: &str, spec: Value) -> ModelRegistry {
        let metadata = json!({ "name": name, "namespace": namespace });
        serde_json::from_value(json!({ "metadata": metadata, "spec": spec })).unwrap()
    }

    fn mysql() -> Value {
        json!({ "rest": {}, "mysql": { "host": "db", "database": "d", "username": "u" } })
    }

    fn with(more: Value) -> Value {
        let mut spec = mysql();
        more.as_object().unwrap().iter().for_each(|(name, value)| spec[name] = value.clone());
        spec
    }

    fn created(config: &Config, registry: &ModelRegistry, others: &[&ModelRegistry]) -> String {
        let others: Others = others.iter().copied().collect();
        validate_create(registry, config, &others)
            .map_or_else(|error| error.to_string(), |()| "allowed".into())
    }

    #[test]
    fn scenario_21_a_name_that_is_taken_anywhere_is_refused_alone() {
        let there = registry("a", "reg", mysql());
        let said = created(&config(""), &registry("b", "reg", json!({ "rest": {} })), &[&there]);
        assert_eq!(
            said,
            r#"ModelRegistry.modelregistry.opendatahub.io "reg" is invalid: metadata.name: Duplicate value: "registry named reg already exists in namespace a""#
        );
    }

    #[test]
    fn scenario_22_no_database_is_refused_on_create_and_on_update() {
        let none = registry("mr", "reg", json!({ "rest": {} }));
        let said = "ModelRegistry.modelregistry.opendatahub.io \"reg\" is invalid: [spec.postgres: Required value: required one of `postgres` or `mysql` database, spec.mysql: Required value: required one of `postgres` or `mysql` database]";
        assert_eq!(created(&config("mr"), &none, &[]), said);
        assert_eq!(validate_update(&none, &config("mr")).unwrap_err().to_string(), said);
        // As the API server sends it: the database without a place is dropped before.
        let empty = registry(
            "mr",
            "reg",
            json!({ "rest": {}, "mysql": { "host": "", "database": "d", "username": "u" } }),
        );
        assert_eq!(sound(&empty, &config("mr")).unwrap_err().to_string(), said);
    }

    #[test]
    fn scenario_23_another_namespace_is_refused() {
        let said = created(&config("mr"), &registry("other", "reg", mysql()), &[]);
        assert!(
            said.ends_with(r#"metadata.namespace: Invalid value: "other": namespace must be mr"#),
            "{said}"
        );
        assert_eq!(created(&config(""), &registry("other", "reg", mysql()), &[]), "allowed");
    }

    #[test]
    fn scenario_24_a_generated_database_has_no_host() {
        let both = json!({ "rest": {}, "postgres": { "generateDeployment": true, "host": "h" } });
        let said = created(&config("mr"), &registry("mr", "reg", both), &[]);
        let text = r#"spec.postgres.host: Invalid value: "h": host should not be set when auto-provisioning is enabled"#;
        assert!(said.ends_with(text), "{said}");
    }

    #[test]
    fn errors_come_in_the_order_namespace_postgres_mysql() {
        let said = created(&config("mr"), &registry("other", "reg", json!({ "rest": {} })), &[]);
        let places: Vec<_> =
            ["metadata.namespace", "spec.postgres", "spec.mysql"].map(|p| said.find(p).unwrap()).into();
        assert!(places.is_sorted() && said.contains(": ["), "{said}");
    }

    #[test]
    fn what_is_being_deleted_may_always_be_let_go() {
        let mut going = registry("other", "reg", json!({ "rest": {} }));
        assert!(validate_update(&going, &config("mr")).is_err());
        going.metadata.deletion_timestamp =
            Some(serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap());
        assert_eq!(validate_update(&going, &config("mr")), Ok(()));
    }

    #[test]
    fn names_from_which_no_children_can_be_made_are_refused() {
        let config = config("mr");
        let said = |name: &str, spec: Value| created(&config, &registry("mr", name, spec), &[]);
        assert!(said("a.b", mysql()).contains("a Service cannot have this name"));
        assert!(said("1a", mysql()).contains("a Service cannot have this name"));
        assert_eq!(said(&"a".repeat(49), mysql()), "allowed");
        assert!(said(&"a".repeat(50), mysql()).contains("at most 49 characters"));
        assert_eq!(said(&"a".repeat(40), with(json!({ "kubeRBACProxy": {} }))), "allowed");
        assert!(
            said(&"a".repeat(41), with(json!({ "kubeRBACProxy": {} }))).contains("at most 40 characters")
        );
    }

    #[test]
    fn names_of_others_objects_are_refused() {
        let config = config("mr");
        let generating = json!({ "rest": {}, "postgres": { "generateDeployment": true } });
        let x = registry("mr", "x", generating.clone());
        let said = |name: &str, spec: Value, others: &[&ModelRegistry]| {
            created(&config, &registry("mr", name, spec), others)
        };
        assert!(said("model-catalog", mysql(), &[]).contains("the model catalog has objects of this name"));
        assert_eq!(said("model", mysql(), &[]), "allowed");
        assert!(
            said("x-postgres", mysql(), &[&x])
                .contains("the database of registry x has objects of this name")
        );
        let taken = registry("mr", "x-postgres", mysql());
        assert!(
            said("x", generating, &[&taken])
                .contains("its database would have the name of registry x-postgres")
        );
    }

    #[test]
    fn ports_that_clash_are_refused() {
        let said = |port: i32| {
            let spec = with(json!({ "rest": { "port": port }, "kubeRBACProxy": {} }));
            created(&config("mr"), &registry("mr", "reg", spec), &[])
        };
        assert!(said(8443).contains("spec.rest.port: Invalid value: 8443: is the proxy's port"));
        assert!(said(8888).contains("is the port of the proxy's health"));
        assert_eq!(said(8080), "allowed");
    }
}
