//! `ModelRegistry` in its two versions: whatever one of them can say survives the way through the other and back.

use proptest::{option, prelude::*};
use quintet_api::model_registry::{
    Grpc, KeyRef, ModelRegistry, ModelRegistrySpec, MySql, Postgres, Proxy, Rest, ServiceRoute, SslMode,
    convert::{KEPT, to_v1alpha1, to_v1beta1},
    v1alpha1,
};
use serde_json::json;

fn word() -> impl Strategy<Value = String> {
    "[a-z][a-z0-9]{0,8}"
}

fn key() -> impl Strategy<Value = Option<KeyRef>> {
    option::of((word(), word()).prop_map(|(name, key)| KeyRef { name, key }))
}

fn route() -> impl Strategy<Value = ServiceRoute> {
    prop_oneof![Just(ServiceRoute::Disabled), Just(ServiceRoute::Enabled)]
}

fn proxy() -> impl Strategy<Value = Proxy> {
    (0..65536, key(), key(), route(), option::of(word()), 0..65536, option::of(word())).prop_map(
        |(port, certificate, key, service_route, domain, route_port, image)| Proxy {
            port,
            tls_certificate_secret: certificate,
            tls_key_secret: key,
            service_route,
            domain,
            route_port,
            image,
        },
    )
}

fn postgres() -> impl Strategy<Value = Postgres> {
    let place = prop_oneof![
        (Just(Some(true)), Just(None), Just(None)),
        (option::of(Just(false)), option::of(word()), option::of(word())),
    ];
    let secrets = (key(), key(), key(), key(), key());
    let ssl = prop_oneof![Just(SslMode::Disable), Just(SslMode::VerifyFull)].prop_map(Some);
    (
        place,
        option::of(word()),
        1..65536,
        option::of(word()),
        key(),
        option::of(word()),
        any::<bool>(),
        ssl,
        secrets,
    )
        .prop_map(|(place, image, port, username, password, database, skip, ssl_mode, secrets)| {
            Postgres {
                generate_deployment: place.0,
                image,
                host: place.1,
                host_address: place.2,
                port,
                username,
                password_secret: password,
                database,
                skip_db_creation: skip,
                ssl_mode,
                ssl_certificate_secret: secrets.0,
                ssl_key_secret: secrets.1,
                ssl_password_secret: secrets.2,
                ssl_root_certificate_config_map: secrets.3,
                ssl_root_certificate_secret: secrets.4,
            }
        })
}

fn mysql() -> impl Strategy<Value = MySql> {
    (word(), 1..65536, word(), key(), word(), option::of(any::<bool>()), option::of(word())).prop_map(
        |(host, port, username, password_secret, database, verify_server_cert, ssl_cipher)| MySql {
            host,
            port,
            username,
            password_secret,
            database,
            skip_db_creation: false,
            ssl_certificate_secret: None,
            ssl_key_secret: None,
            ssl_root_certificate_config_map: None,
            ssl_root_certificate_secret: None,
            ssl_root_certificates_config_map_name: None,
            ssl_root_certificates_secret_name: None,
            ssl_cipher,
            verify_server_cert,
        },
    )
}

fn registry() -> impl Strategy<Value = ModelRegistry> {
    let rest = (1..65536, route(), option::of(word())).prop_map(|(port, service_route, image)| Rest {
        port,
        service_route,
        resources: None,
        image,
    });
    let proxies = prop_oneof![
        Just((None, None)),
        proxy().prop_map(|proxy| (Some(proxy), None)),
        proxy().prop_map(|proxy| (None, Some(proxy))),
    ];
    (
        rest,
        option::of(postgres()),
        option::of(mysql()),
        proxies,
        option::of(any::<bool>()),
        option::of(word()),
    )
        .prop_map(|(rest, postgres, mysql, (oauth_proxy, kube_rbac_proxy), upgrade, note)| {
            let mut registry = ModelRegistry::new(
                "reg",
                ModelRegistrySpec {
                    rest,
                    grpc: Some(Grpc::default()),
                    enable_database_upgrade: upgrade,
                    downgrade_db_schema_version: None,
                    postgres,
                    mysql,
                    oauth_proxy,
                    kube_rbac_proxy,
                },
            );
            registry.metadata.annotations = note.map(|note| [("note".to_owned(), note)].into());
            registry
        })
}

proptest! {
    #[test]
    fn nothing_of_v1beta1_is_lost_on_the_way_through_v1alpha1(registry in registry()) {
        let shown = to_v1alpha1(&registry);
        // What is shown is what the wire carries.
        let shown: v1alpha1::ModelRegistry = serde_json::from_value(serde_json::to_value(&shown).unwrap()).unwrap();
        let back = to_v1beta1(&shown);
        prop_assert_eq!(serde_json::to_value(&back).unwrap(), serde_json::to_value(&registry).unwrap());
    }

    #[test]
    fn nothing_of_v1alpha1_but_istio_is_lost_on_the_way_through_v1beta1(registry in registry()) {
        let mut old = to_v1alpha1(&registry);
        old.metadata.annotations.get_or_insert_default().remove(KEPT);
        let back = to_v1alpha1(&to_v1beta1(&old));
        old.metadata.annotations = old.metadata.annotations.filter(|all| !all.is_empty());
        prop_assert_eq!(serde_json::to_value(&back).unwrap(), serde_json::to_value(&old).unwrap());
    }
}

fn old(spec: serde_json::Value) -> v1alpha1::ModelRegistry {
    serde_json::from_value(json!({ "metadata": { "name": "r", "namespace": "n" }, "spec": spec })).unwrap()
}

#[test]
fn scenario_25_istio_becomes_a_proxy_and_stays_one() {
    let istio = |gateway: serde_json::Value| {
        old(json!({ "rest": { "port": 8080 }, "grpc": { "port": 9090 }, "istio": { "gateway": gateway } }))
    };
    let plain = to_v1beta1(&istio(json!({ "rest": { "tls": {} }, "grpc": { "tls": {} } })));
    assert_eq!(
        serde_json::to_value(&plain.spec.oauth_proxy).unwrap(),
        json!({ "port": 8443, "serviceRoute": "enabled", "routePort": 443 })
    );
    let back = to_v1alpha1(&plain);
    assert_eq!(
        (back.spec.oauth_proxy.as_ref(), back.spec.istio.as_ref()),
        (plain.spec.oauth_proxy.as_ref(), None)
    );

    let proxy = |object: v1alpha1::ModelRegistry| to_v1beta1(&object).spec.oauth_proxy.unwrap();
    let without = proxy(old(json!({ "rest": {}, "grpc": {}, "istio": {}, "oauthProxy": { "port": 1 } })));
    assert_eq!(
        (without.port, without.service_route),
        (8443, ServiceRoute::Disabled),
        "Istio wins, without a gateway"
    );
    let off =
        proxy(istio(json!({ "rest": { "gatewayRoute": "disabled" }, "grpc": {}, "domain": "d.example" })));
    assert_eq!((off.service_route, off.domain.as_deref()), (ServiceRoute::Disabled, Some("d.example")));
    assert_eq!(proxy(istio(json!({ "rest": { "port": 9 }, "grpc": {} }))).route_port, 443, "only with TLS");
    assert_eq!(proxy(istio(json!({ "rest": { "port": 9, "tls": {} }, "grpc": {} }))).route_port, 9);
}

#[test]
fn a_proxy_that_an_old_client_writes_takes_the_place_of_the_kept_one() {
    let mut registry = to_v1beta1(&old(json!({ "rest": {}, "grpc": {} })));
    registry.spec.kube_rbac_proxy = Some(Proxy::default());
    let mut shown = to_v1alpha1(&registry);
    shown.spec.oauth_proxy = Some(Proxy { port: 1234, ..Proxy::default() });
    let stored = to_v1beta1(&shown).spec;
    assert_eq!((stored.oauth_proxy.map(|p| p.port), stored.kube_rbac_proxy), (Some(1234), None));
    shown.metadata.annotations.as_mut().unwrap().insert(KEPT.into(), "spoilt".into());
    shown.spec.oauth_proxy = None;
    assert_eq!(to_v1beta1(&shown).spec.kube_rbac_proxy, None, "a spoilt annotation is no reason to fail");
}
