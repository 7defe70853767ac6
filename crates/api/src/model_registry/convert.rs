//! From one version of a `ModelRegistry` to the other.
//!
//! What only `v1beta1` can say is kept in an annotation while an object is shown as `v1alpha1`, so that an old client
//! that writes back what it read takes nothing away. (In the original such a write removes the proxy in front of the
//! server, and with it all authorisation.) What only `v1alpha1` can say, Istio's part, becomes a proxy and is gone.

use serde::{Deserialize, Serialize};

use super::{
    parts::{Proxy, ServiceRoute},
    v1alpha1, v1beta1,
};

/// Holds, in a `v1alpha1` object, what that version has no fields for.
pub const KEPT: &str = "modelregistry.opendatahub.io/v1beta1-fields";

/// What `v1alpha1` has no fields for.
#[derive(Serialize, Deserialize, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
struct Kept {
    #[serde(rename = "kubeRBACProxy", skip_serializing_if = "Option::is_none")]
    kube_rbac_proxy: Option<Proxy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    generate_deployment: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    postgres_image: Option<String>,
}

/// The object as `v1beta1`.
pub fn to_v1beta1(object: &v1alpha1::ModelRegistry) -> v1beta1::ModelRegistry {
    let mut metadata = object.metadata.clone();
    let kept = metadata.annotations.as_mut().and_then(|annotations| annotations.remove(KEPT));
    metadata.annotations = metadata.annotations.filter(|annotations| !annotations.is_empty());
    // An annotation that somebody spoilt says nothing.
    let kept: Kept = kept.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    let spec = &object.spec;
    let oauth_proxy = spec.istio.as_ref().map(proxy_instead_of).or_else(|| spec.oauth_proxy.clone());
    let postgres = spec.postgres.as_ref().map(|postgres| v1beta1::Postgres {
        generate_deployment: kept
            .generate_deployment
            .filter(|is_generated| !is_generated || !names_host(postgres)),
        image: kept.postgres_image.clone(),
        ..postgres_to_v1beta1(postgres)
    });
    v1beta1::ModelRegistry {
        metadata,
        spec: v1beta1::ModelRegistrySpec {
            rest: spec.rest.clone(),
            grpc: Some(spec.grpc.clone()),
            enable_database_upgrade: spec.enable_database_upgrade,
            downgrade_db_schema_version: spec.downgrade_db_schema_version,
            postgres,
            mysql: spec.mysql.clone(),
            // One proxy only: that which the client writes itself.
            kube_rbac_proxy: kept.kube_rbac_proxy.filter(|_| oauth_proxy.is_none()),
            oauth_proxy,
        },
        status: object.status.clone(),
    }
}

/// The object as `v1alpha1`.
pub fn to_v1alpha1(object: &v1beta1::ModelRegistry) -> v1alpha1::ModelRegistry {
    let spec = &object.spec;
    let postgres = spec.postgres.as_ref();
    let kept = Kept {
        kube_rbac_proxy: spec.kube_rbac_proxy.clone(),
        generate_deployment: postgres.and_then(|postgres| postgres.generate_deployment),
        postgres_image: postgres.and_then(|postgres| postgres.image.clone()),
    };
    let mut metadata = object.metadata.clone();
    if kept != Kept::default()
        && let Ok(text) = serde_json::to_string(&kept)
    {
        metadata.annotations.get_or_insert_default().insert(KEPT.into(), text);
    }
    v1alpha1::ModelRegistry {
        metadata,
        spec: v1alpha1::ModelRegistrySpec {
            rest: spec.rest.clone(),
            grpc: spec.grpc.clone().unwrap_or_default(),
            enable_database_upgrade: spec.enable_database_upgrade,
            downgrade_db_schema_version: spec.downgrade_db_schema_version,
            postgres: postgres.map(postgres_to_v1alpha1),
            mysql: spec.mysql.clone(),
            istio: None,
            oauth_proxy: spec.oauth_proxy.clone(),
        },
        status: object.status.clone(),
    }
}

/// The proxy that takes the place of Istio.
pub fn proxy_instead_of(istio: &v1alpha1::Istio) -> Proxy {
    let mut proxy = Proxy::default();
    let Some(gateway) = &istio.gateway else {
        proxy.service_route = ServiceRoute::Disabled;
        return proxy;
    };
    if gateway.rest.gateway_route == Some(ServiceRoute::Disabled) {
        proxy.service_route = ServiceRoute::Disabled;
    }
    proxy.domain = gateway.domain.clone().filter(|domain| !domain.is_empty());
    if let (Some(_), Some(port)) = (&gateway.rest.tls, gateway.rest.port) {
        proxy.route_port = port;
    }
    proxy
}

fn names_host(postgres: &v1alpha1::Postgres) -> bool {
    [&postgres.host, &postgres.host_address].into_iter().flatten().any(|host| !host.is_empty())
}

fn postgres_to_v1beta1(postgres: &v1alpha1::Postgres) -> v1beta1::Postgres {
    v1beta1::Postgres {
        generate_deployment: None,
        image: None,
        host: postgres.host.clone(),
        host_address: postgres.host_address.clone(),
        port: postgres.port,
        username: postgres.username.clone(),
        password_secret: postgres.password_secret.clone(),
        database: Some(postgres.database.clone()).filter(|database| !database.is_empty()),
        skip_db_creation: postgres.skip_db_creation,
        ssl_mode: postgres.ssl_mode,
        ssl_certificate_secret: postgres.ssl_certificate_secret.clone(),
        ssl_key_secret: postgres.ssl_key_secret.clone(),
        ssl_password_secret: postgres.ssl_password_secret.clone(),
        ssl_root_certificate_config_map: postgres.ssl_root_certificate_config_map.clone(),
        ssl_root_certificate_secret: postgres.ssl_root_certificate_secret.clone(),
    }
}

fn postgres_to_v1alpha1(postgres: &v1beta1::Postgres) -> v1alpha1::Postgres {
    v1alpha1::Postgres {
        host: postgres.host.clone(),
        host_address: postgres.host_address.clone(),
        port: postgres.port,
        username: postgres.username.clone(),
        password_secret: postgres.password_secret.clone(),
        database: postgres.database.clone().unwrap_or_default(),
        skip_db_creation: postgres.skip_db_creation,
        ssl_mode: postgres.ssl_mode,
        ssl_certificate_secret: postgres.ssl_certificate_secret.clone(),
        ssl_key_secret: postgres.ssl_key_secret.clone(),
        ssl_password_secret: postgres.ssl_password_secret.clone(),
        ssl_root_certificate_config_map: postgres.ssl_root_certificate_config_map.clone(),
        ssl_root_certificate_secret: postgres.ssl_root_certificate_secret.clone(),
    }
}
