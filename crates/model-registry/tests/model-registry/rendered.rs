//! The worked cases of the specification: every object equals the original's, field by field.

use super::support::{Objects, case, config, container, difference, examples, id, sample, stored};
use k8s_openapi::api::apps::v1::Deployment;
use quintet_kit::{Desired, System, run::Observed};
use quintet_model_registry::{
    Apis, ModelRegistryOperator, catalog,
    registry::desired::{Inputs, desired},
};
use serde_json::{Value, json};

const NAMESPACE: &str = "odh-model-registries";

/// Objects by kind and name, without owners, which the cases leave out.
fn objects(desired: &Desired) -> Objects {
    let mut objects: Objects = desired.to_values().into_iter().map(|object| (id(&object), object)).collect();
    for object in objects.values_mut() {
        object["metadata"].as_object_mut().unwrap().remove("ownerReferences");
    }
    objects
}

/// What a Secret holds is random.
fn without_secrets(mut objects: Objects) -> Objects {
    objects.retain(|id, _| !id.starts_with("Secret/"));
    objects
}

fn built(spec: Value, inputs: &Inputs) -> Objects {
    let registry = stored(NAMESPACE, "modelregistry-sample", spec);
    let wanted = desired(&registry, &config(&[]), inputs);
    let mut all = wanted.database;
    all.extend(wanted.server);
    without_secrets(objects(&all))
}

#[test]
fn a_minimal_postgres_registry() {
    let spec = json!({ "rest": { "port": 8080 }, "postgres": sample() });
    assert_eq!(difference(&case("postgres"), &built(spec, &Inputs::default())), "");
}

#[test]
fn a_mysql_registry_with_an_authority() {
    let mysql = json!({ "host": "model-registry-db", "database": "model_registry", "username": "modelregistryuser",
        "passwordSecret": { "name": "model-registry-db", "key": "database-password" },
        "sslRootCertificateConfigMap": { "name": "model-registry-db-credential", "key": "ca.crt" } });
    assert_eq!(
        difference(&case("mysql"), &built(json!({ "rest": {}, "mysql": mysql }), &Inputs::default())),
        ""
    );
}

fn openshift() -> Inputs {
    let apis = Apis { route: true, group: true, config: true, auth: false };
    Inputs { apis, domain: Some("apps.example.com".into()), ..Inputs::default() }
}

#[test]
fn a_proxy_on_openshift() {
    let spec = json!({ "rest": {}, "postgres": sample(), "kubeRBACProxy": {} });
    assert_eq!(difference(&case("proxy-openshift"), &built(spec, &openshift())), "");
}

#[test]
fn a_proxy_may_do_no_more_than_the_server_where_asked() {
    let spec = json!({ "rest": {}, "postgres": sample(), "kubeRBACProxy": {} });
    let registry = stored(NAMESPACE, "modelregistry-sample", spec);
    let config = config(&[("QUINTET_DIFFERENCES", "registry-proxy-security=on")]);
    let all = objects(&desired(&registry, &config, &openshift()).server);
    let security =
        |name: &str| container(&all["Deployment/modelregistry-sample"], name)["securityContext"].clone();
    let wanted = json!({ "allowPrivilegeEscalation": false, "capabilities": { "drop": ["ALL"] } });
    assert_eq!((security("kube-rbac-proxy"), security("rest-container")), (wanted.clone(), wanted));
}

#[test]
fn a_plain_route_on_openshift() {
    let spec = json!({ "rest": { "serviceRoute": "enabled" }, "postgres": sample() });
    let mut built = built(spec, &openshift());
    built.retain(|id, _| id.starts_with("Route/"));
    assert_eq!(difference(&case("http-route"), &built), "");
}

#[test]
fn a_database_that_the_operator_runs() {
    let spec = json!({ "rest": {}, "postgres": { "generateDeployment": true } });
    let inputs = Inputs { password: Some("secret".into()), ..Inputs::default() };
    assert_eq!(difference(&without_secrets(case("postgres-auto")), &built(spec.clone(), &inputs)), "");
    let registry = stored(NAMESPACE, "modelregistry-sample", spec);
    let database = desired(&registry, &config(&[]), &inputs).database;
    let secret = database
        .get::<k8s_openapi::api::core::v1::Secret>("modelregistry-sample-postgres-credentials")
        .unwrap();
    let data = secret.data.as_ref().unwrap();
    assert_eq!((&data["username"].0[..], &data["password"].0[..]), (&b"modelregistry"[..], &b"secret"[..]));
    assert!(secret.metadata.labels.is_none(), "the original labels it not, nor do we");
}

#[test]
fn the_catalog_on_openshift() {
    let there: Deployment = serde_json::from_value(json!({ "metadata": { "uid": "u" } })).unwrap();
    let inputs = catalog::Inputs {
        namespace: NAMESPACE.into(),
        apis: Apis { route: true, group: true, config: true, auth: true },
        domain: Some("apps.example.com".into()),
        admin_groups: vec!["odh-admins".into()],
        server: Some(there.clone()),
        database: Some(there),
        password: "secret".into(),
        ..catalog::Inputs::default()
    };
    let config = config(&[("REGISTRIES_NAMESPACE", NAMESPACE)]);
    let built = without_secrets(objects(&catalog::desired(&config, &inputs)));
    assert_eq!(difference(&without_secrets(case("catalog-openshift")), &built), "");
}

#[test]
fn a_registry_is_rendered_without_a_cluster_in_either_version() {
    let system = ModelRegistryOperator::new(config(&[]));
    let render = |object: Value, observed: Vec<Value>| {
        let observed = observed.into_iter().map(|o| serde_json::from_value(o).unwrap()).collect();
        system.render(&serde_json::from_value(object).unwrap(), &Observed::new(observed))
    };
    let object = |version: &str, spec: Value| {
        json!({ "apiVersion": format!("modelregistry.opendatahub.io/{version}"), "kind": "ModelRegistry",
            "metadata": { "name": "modelregistry-sample", "namespace": NAMESPACE }, "spec": spec })
    };
    let new = render(object("v1beta1", json!({ "rest": {}, "postgres": sample() })), vec![]).unwrap();
    assert_eq!(difference(&case("postgres"), &objects(&new)), "");
    let old = json!({ "rest": {}, "grpc": {}, "postgres": sample() });
    assert_eq!(
        difference(&case("postgres"), &objects(&render(object("v1alpha1", old), vec![]).unwrap())),
        ""
    );
    let error = render(object("v1beta1", json!({ "rest": {} })), vec![]).unwrap_err().to_string();
    assert!(error.contains("required one of `postgres` or `mysql` database"), "{error}");
    let definition = json!({ "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "routes.route.openshift.io" } });
    let routed = object("v1beta1", json!({ "rest": { "serviceRoute": "enabled" }, "postgres": sample() }));
    let routed = objects(&render(routed, vec![definition]).unwrap());
    assert!(
        routed.contains_key("Route/modelregistry-sample-http")
            && routed.contains_key("RoleBinding/modelregistry-sample-users")
    );
}

#[test]
fn every_example_can_be_rendered() {
    let system = ModelRegistryOperator::new(config(&[]));
    let registries = examples().into_iter().filter(|object| object["kind"] == "ModelRegistry");
    let mut rendered = 0;
    for object in registries {
        let name = object["metadata"]["name"].clone();
        let children = system.render(&serde_json::from_value(object).unwrap(), &Observed::default());
        let children = children.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(children.all::<Deployment>().next().is_some());
        rendered += 1;
    }
    assert!(rendered >= 4, "{rendered}");
}
