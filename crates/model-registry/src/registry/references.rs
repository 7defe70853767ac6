//! Secrets and ConfigMaps that a registry's pods cannot start without.

use std::{collections::BTreeSet, fmt};

use quintet_api::model_registry::{KeyRef, ModelRegistrySpec, Postgres};

/// An object that a registry names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reference {
    /// A Secret.
    Secret(String),
    /// A ConfigMap.
    ConfigMap(String),
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reference::Secret(name) => write!(f, "Secret {name:?}"),
            Reference::ConfigMap(name) => write!(f, "ConfigMap {name:?}"),
        }
    }
}

/// What the specification names, each once. `spec` has all defaults.
pub(crate) fn references(spec: &ModelRegistrySpec) -> BTreeSet<Reference> {
    let (mut secrets, mut maps): (Vec<&Option<KeyRef>>, Vec<&Option<KeyRef>>) = (vec![], vec![]);
    let mut found = BTreeSet::new();
    if let Some(postgres) = spec.postgres.as_ref().filter(|postgres| !Postgres::is_generated(postgres)) {
        secrets.extend([
            &postgres.password_secret,
            &postgres.ssl_certificate_secret,
            &postgres.ssl_key_secret,
            &postgres.ssl_password_secret,
        ]);
        root(
            (&postgres.ssl_root_certificate_config_map, &postgres.ssl_root_certificate_secret),
            (&mut maps, &mut secrets),
        );
    } else if let Some(mysql) = spec.mysql.as_ref().filter(|_| spec.postgres.is_none()) {
        secrets.extend([&mysql.password_secret, &mysql.ssl_certificate_secret, &mysql.ssl_key_secret]);
        root(
            (&mysql.ssl_root_certificate_config_map, &mysql.ssl_root_certificate_secret),
            (&mut maps, &mut secrets),
        );
        match (&mysql.ssl_root_certificates_config_map_name, &mysql.ssl_root_certificates_secret_name) {
            (Some(map), _) => drop(found.insert(Reference::ConfigMap(map.clone()))),
            (None, Some(secret)) => drop(found.insert(Reference::Secret(secret.clone()))),
            (None, None) => {}
        }
    }
    if let Some(proxy) = &spec.kube_rbac_proxy {
        secrets.extend([&proxy.tls_certificate_secret, &proxy.tls_key_secret]);
    }
    found.extend(secrets.into_iter().flatten().map(|key| Reference::Secret(key.name.clone())));
    found.extend(maps.into_iter().flatten().map(|key| Reference::ConfigMap(key.name.clone())));
    found
}

/// The ConfigMap wins over the Secret.
fn root<'a>(
    (map, secret): (&'a Option<KeyRef>, &'a Option<KeyRef>),
    (maps, secrets): (&mut Vec<&'a Option<KeyRef>>, &mut Vec<&'a Option<KeyRef>>),
) {
    if map.is_some() { maps.push(map) } else { secrets.push(secret) }
}
