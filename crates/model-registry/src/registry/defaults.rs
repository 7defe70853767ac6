//! What the operator adds to a registry's specification before it builds anything from it. Nothing of this is stored.

use k8s_openapi::api::core::v1::ResourceRequirements;
use quintet_api::model_registry::{KeyRef, ModelRegistry, ModelRegistrySpec, Postgres, Proxy};

use super::names::Names;
use crate::{
    Config,
    parts::{database, server},
    webhook,
};

/// User of the database that the operator runs.
pub(super) const DATABASE_USER: &str = "modelregistry";
/// Name of the database that the operator runs.
pub(super) const DATABASE: &str = "model_registry";

/// The specification that children are built from.
pub(super) fn effective(
    registry: &ModelRegistry,
    config: &Config,
    domain: Option<&str>,
) -> ModelRegistrySpec {
    let names = Names::of(registry);
    let mut spec = registry.spec.clone();
    webhook::default_spec(&mut spec);
    // Nothing comes of claims: the pods declare none.
    spec.rest.resources = Some(match spec.rest.resources.take() {
        None => server::default_resources(),
        Some(asked) => ResourceRequirements { claims: None, ..asked },
    });
    set_image(&mut spec.rest.image, &config.rest_image);
    if let Some(postgres) = &mut spec.postgres {
        set_image(&mut postgres.image, &config.postgres_image);
    }
    if let Some(proxy) = &mut spec.kube_rbac_proxy {
        proxy_defaults(proxy, &names, config, domain);
    }
    spec
}

/// The specification in which the database that the operator runs has taken the place of the wish for one.
pub(super) fn connected(spec: &ModelRegistrySpec, names: &Names) -> ModelRegistrySpec {
    let mut spec = spec.clone();
    if spec.postgres.as_ref().is_some_and(Postgres::is_generated) {
        spec.postgres = Some(Postgres {
            host: Some(names.database()),
            port: database::PORT,
            username: Some(DATABASE_USER.into()),
            database: Some(DATABASE.into()),
            password_secret: Some(KeyRef { name: names.database_credentials(), key: "password".into() }),
            ssl_mode: None,
            ..Postgres::default()
        });
    }
    spec
}

fn proxy_defaults(proxy: &mut Proxy, names: &Names, config: &Config, domain: Option<&str>) {
    if proxy.tls_certificate_secret.is_none() {
        let key = |key: &str| Some(KeyRef { name: names.proxy_certificate(), key: key.into() });
        (proxy.tls_certificate_secret, proxy.tls_key_secret) = (key("tls.crt"), key("tls.key"));
    }
    if proxy.domain.as_ref().is_none_or(String::is_empty) {
        proxy.domain = domain.map(Into::into);
    }
    set_image(&mut proxy.image, &config.proxy_image);
}

fn set_image(image: &mut Option<String>, default: &str) {
    if image.as_ref().is_none_or(String::is_empty) {
        *image = Some(default.into());
    }
}
