//! What both operators are given: databases of every kind, each option, and the catalog.

use serde_json::{Value, json};

use crate::support::{
    base, mysql,
    stage::{BYOIDC, CATALOG, NO_CATALOG, OPENSHIFT, PLAIN, PLATFORM, Serves},
    with,
};

/// What differs everywhere. A Deployment's generation moves when an annotation goes, too; were it rolled out again, its
/// revision would differ.
const EVERYWHERE: [(&str, &str); 3] = [
    ("registry-no-password-in-annotation", "the swap rewrites Deployment/"),
    ("registry-untouched-fields", "- spec.grpc {\"port\":9090}"),
    ("registry-untouched-fields", "+ spec.postgres.host \"\""),
];

/// A registry, or the catalog, in a cluster, and what may differ.
pub(crate) struct Input {
    pub(crate) name: &'static str,
    /// The registry's specification; none where the catalog is looked at.
    pub(crate) spec: Option<Value>,
    pub(crate) serves: Serves,
    pub(crate) variables: Vec<(&'static str, &'static str)>,
    pub(crate) beside: Vec<Value>,
    /// Ids of docs/differences.md, each with a part of the lines that it explains.
    pub(crate) meant: Vec<(&'static str, &'static str)>,
}

impl Input {
    fn registry(name: &'static str, serves: Serves, spec: Value) -> Self {
        let secret =
            |name: &str| json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name } });
        let map =
            |name: &str| json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } });
        Input {
            name,
            spec: Some(spec),
            serves,
            variables: NO_CATALOG.to_vec(),
            beside: vec![secret("s"), secret("reg-kube-rbac-proxy"), map("m")],
            meant: EVERYWHERE.to_vec(),
        }
    }

    fn catalog(name: &'static str, serves: Serves) -> Self {
        Input {
            name,
            spec: None,
            serves,
            variables: CATALOG.to_vec(),
            beside: vec![],
            meant: EVERYWHERE.to_vec(),
        }
    }

    fn beside(mut self, object: Value) -> Self {
        self.beside.push(object);
        self
    }

    fn with(mut self, name: &'static str, value: &'static str) -> Self {
        self.variables.push((name, value));
        self
    }

    fn meant(mut self, id: &'static str, part: &'static str) -> Self {
        self.meant.push((id, part));
        self
    }
}

pub(crate) fn inputs() -> Vec<Input> {
    let key = |key: &str| json!({ "name": "s", "key": key });
    let in_map = |key: &str| json!({ "name": "m", "key": key });
    let option = |name, more| Input::registry(name, PLAIN, with(more));
    let on_openshift = |name, more| Input::registry(name, OPENSHIFT, with(more));
    let postgres = |more: Value| {
        let mut postgres =
            json!({ "host": "db", "database": "d", "username": "u", "passwordSecret": key("p") });
        more.as_object().into_iter().flatten().for_each(|(name, value)| postgres[name] = value.clone());
        json!({ "rest": {}, "postgres": postgres })
    };
    let mysql_with = |more: Value| {
        let mut all = mysql();
        more.as_object().into_iter().flatten().for_each(|(name, value)| all[name] = value.clone());
        json!({ "mysql": all })
    };
    let resources = json!({ "requests": { "cpu": "1", "memory": "1Gi" }, "limits": { "memory": "2Gi" } });
    let source = json!({ "apiVersion": "v1", "kind": "ConfigMap", "data": { "sources.yaml": "catalogs: []" },
        "metadata": { "name": "extra", "labels": { "opendatahub.io/catalog-source": "true" } } });
    let auth = json!({ "apiVersion": "services.platform.opendatahub.io/v1alpha1", "kind": "Auth",
        "metadata": { "name": "auth" }, "spec": { "adminGroups": ["g1", "g2"] } });
    vec![
        // Databases.
        Input::registry("postgres", PLAIN, postgres(json!({}))),
        Input::registry("postgres, no password", PLAIN, postgres(json!({ "passwordSecret": null }))),
        Input::registry(
            "postgres, address",
            PLAIN,
            postgres(json!({ "host": "", "hostAddress": "10.1.2.3", "port": 5433 })),
        ),
        Input::registry(
            "postgres, files",
            PLAIN,
            postgres(json!({ "sslMode": "verify-full",
            "sslCertificateSecret": key("c"), "sslKeySecret": key("k"), "sslRootCertificateConfigMap": in_map("r"), "sslPasswordSecret": key("q") })),
        ),
        Input::registry("mysql", PLAIN, base()),
        option(
            "mysql, files",
            mysql_with(json!({ "port": 3307, "sslCertificateSecret": key("c"), "sslKeySecret": key("k"),
            "sslRootCertificateSecret": key("r"), "sslRootCertificatesConfigMapName": "m", "sslCipher": "x", "verifyServerCert": false })),
        ),
        option("both", json!({ "postgres": { "host": "db", "database": "d", "username": "u" } })),
        Input::registry(
            "generated",
            PLAIN,
            json!({ "rest": {}, "postgres": { "generateDeployment": true } }),
        )
        .meant("registry-recreate", "Deployment/reg-postgres.spec.strategy")
        .meant("registry-recreate", "rewrites Deployment/reg-postgres"),
        // The server.
        option("port", json!({ "rest": { "port": 9000 } })),
        option("image", json!({ "rest": { "image": "reg.test/registry:1" } })),
        option("resources", json!({ "rest": { "image": "reg.test/registry:1", "resources": resources } }))
            .meant("registry-full-spec", "+ status.hosts")
            .meant("registry-full-spec", "+ status.specDefaults \"{}\""),
        option("old fields", json!({ "grpc": { "port": 1234 }, "enable_database_upgrade": true })),
        Input::registry("images of the environment", PLAIN, base()).with("REST_IMAGE", "reg.test/rest:1"),
        // OpenShift.
        Input::registry("openshift", OPENSHIFT, base()),
        Input::registry("byoidc", BYOIDC, base()),
        on_openshift("http route", json!({ "rest": { "serviceRoute": "enabled" } })),
        // The proxy. Its Route is admitted by nobody, which both say.
        on_openshift("proxy", json!({ "kubeRBACProxy": {} })),
        on_openshift(
            "proxy, domain",
            json!({ "kubeRBACProxy": { "domain": "apps.test", "routePort": 8443, "port": 9443 } }),
        ),
        on_openshift(
            "proxy, files",
            json!({ "kubeRBACProxy": { "tlsCertificateSecret": key("c"), "tlsKeySecret": key("k") } }),
        ),
        on_openshift(
            "proxy, no route",
            json!({ "kubeRBACProxy": { "serviceRoute": "disabled", "image": "p:1" } }),
        ),
        on_openshift("old proxy", json!({ "oauthProxy": { "port": 8443, "image": "x" } })),
        option("proxy, plain", json!({ "kubeRBACProxy": { "serviceRoute": "disabled" } })),
        // The catalog.
        Input::catalog("catalog", PLAIN),
        Input::catalog("catalog, openshift", OPENSHIFT),
        Input::catalog("catalog, admins", PLATFORM).beside(auth),
        Input::catalog("catalog, source", PLAIN).beside(source),
        Input::catalog("catalog, database of others", PLAIN).with("SKIP_MODEL_CATALOG_DB_CREATION", "true"),
    ]
}
