//! The proxy before a server.

use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, Service},
    networking::v1::NetworkPolicy,
    rbac::v1::ClusterRoleBinding,
};
use quintet_api::foreign::openshift::Route;
use serde_json::json;

use super::support::{args, at, condition, container, covers, is_up, stage::Stage, with};

/// What the router says of the Route to the proxy.
pub(crate) async fn admit(stage: &Stage, status: &str) {
    let admitted =
        json!({ "type": "Admitted", "status": status, "reason": "HostAlreadyClaimed", "message": "m" });
    let ingress = json!([{ "host": "reg-rest.example.com", "conditions": [admitted] }]);
    stage.report::<Route>("reg-https", json!({ "ingress": ingress })).await;
}

#[tokio::test(start_paused = true)]
async fn scenario_08_proxy_defaults_on_openshift() {
    let stage = Stage::openshift().await;
    stage.create(with(json!({ "kubeRBACProxy": {} }))).await;
    let deployment = stage.get::<Deployment>("reg").await.unwrap();
    let args = args(&deployment, "kube-rbac-proxy");
    assert!(args.contains(&"--secure-listen-address=0.0.0.0:8443".into()), "{args:?}");
    assert!(args.contains(&"--upstream=http://127.0.0.1:8080/".into()), "{args:?}");
    let service = stage.get::<Service>("reg").await.unwrap();
    assert!(covers(at(&service, "spec.ports"), &json!([{ "name": "https-api", "port": 8443 }])));
    let annotations = at(&service, "metadata.annotations");
    assert_eq!(annotations["service.beta.openshift.io/serving-cert-secret-name"], "reg-kube-rbac-proxy");
    assert_eq!(annotations["routing.opendatahub.io/external-address-rest"], "reg-rest.example.com:443");
    assert!(stage.get::<ConfigMap>("reg-kube-rbac-proxy-config").await.is_some());
    assert!(stage.get::<ClusterRoleBinding>("reg-auth-delegator").await.is_some());
    assert_eq!(at(&stage.get::<Route>("reg-https").await.unwrap(), "spec.host"), "reg-rest.example.com");
    let policy = stage.get::<NetworkPolicy>("reg-https-route").await.unwrap();
    assert_eq!(at(&policy, "spec.ingress.0.ports.0.port"), 8443);

    stage.up().await;
    stage.pod("p", &["rest-container", "kube-rbac-proxy", "injected-by-a-mesh"], json!({})).await;
    admit(&stage, "True").await;
    let created = "kube-rbac-proxy was successfully created";
    assert_eq!(
        stage.condition("KubeRBACProxyAvailable").await,
        condition("True", "ResourcesAvailable", created)
    );
    assert_eq!(stage.condition("Available").await, is_up());
    let hosts = stage.status().await["hosts"].clone();
    assert_eq!(hosts, json!(["reg-rest.example.com", "reg.mr.svc.cluster.local", "reg.mr", "reg"]));
    stage.assert_at_rest().await;
}

#[tokio::test(start_paused = true)]
async fn scenario_09_proxy_with_own_certs() {
    let stage = Stage::openshift().await;
    let proxy = json!({ "tlsCertificateSecret": { "name": "c1", "key": "cert.pem" },
        "tlsKeySecret": { "name": "k1", "key": "key.pem" } });
    stage.create(with(json!({ "kubeRBACProxy": proxy }))).await;
    let deployment = stage.get::<Deployment>("reg").await.unwrap();
    let volumes = at(&deployment, "spec.template.spec.volumes").as_array().unwrap();
    for (name, secret) in [("kube-rbac-proxy-cert", "c1"), ("kube-rbac-proxy-key", "k1")] {
        let volume = json!({ "name": name, "secret": { "secretName": secret, "defaultMode": 384 } });
        assert!(volumes.iter().any(|v| covers(v, &volume)), "{volumes:?}");
    }
    let args = args(&deployment, "kube-rbac-proxy");
    assert!(args.contains(&"--tls-cert-file=/etc/tls/private-cert/cert.pem".into()), "{args:?}");
    assert!(args.contains(&"--tls-private-key-file=/etc/tls/private-key/key.pem".into()), "{args:?}");
    let service = stage.get::<Service>("reg").await.unwrap();
    assert!(
        at(&service, "metadata.annotations")["service.beta.openshift.io/serving-cert-secret-name"].is_null()
    );
}

#[tokio::test(start_paused = true)]
async fn scenario_10_proxy_without_route() {
    let stage = Stage::openshift().await;
    stage.create(with(json!({ "kubeRBACProxy": { "serviceRoute": "disabled" } }))).await;
    assert!(stage.get::<Route>("reg-https").await.is_none());
    assert!(stage.get::<NetworkPolicy>("reg-https-route").await.is_none());
    let service = stage.get::<Service>("reg").await.unwrap();
    assert!(at(&service, "metadata.annotations")["routing.opendatahub.io/external-address-rest"].is_null());
    assert!(stage.get::<ClusterRoleBinding>("reg-auth-delegator").await.is_some());
    stage.up().await;
    stage.pod("p", &["rest-container", "kube-rbac-proxy"], json!({})).await;
    assert_eq!(stage.condition("Available").await, is_up());
    assert_eq!(stage.status().await["hosts"].as_array().unwrap().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn scenario_11_proxy_image_override() {
    let stage = Stage::plain().await;
    stage.create(with(json!({ "kubeRBACProxy": { "image": "my/proxy:1" } }))).await;
    let deployment = stage.get::<Deployment>("reg").await.unwrap();
    assert_eq!(container(&deployment, "kube-rbac-proxy")["image"], "my/proxy:1");
}

#[tokio::test(start_paused = true)]
async fn scenario_12_legacy_oauth_proxy_in_the_store() {
    let stage = Stage::openshift().await;
    let old = json!({ "port": 8443, "domain": "example.com", "image": "x" });
    stage.create(with(json!({ "oauthProxy": old }))).await;
    let spec = serde_json::to_value(stage.registry().await.spec).unwrap();
    assert!(spec.get("oauthProxy").is_none());
    assert_eq!(
        spec["kubeRBACProxy"],
        json!({ "port": 8443, "domain": "example.com", "routePort": 443, "serviceRoute": "enabled" })
    );
    let deployment = stage.get::<Deployment>("reg").await.unwrap();
    assert!(
        !container(&deployment, "kube-rbac-proxy").is_null()
            && container(&deployment, "oauth-proxy").is_null()
    );
    let service = stage.get::<Service>("reg").await.unwrap();
    assert!(covers(at(&service, "spec.ports"), &json!([{ "name": "https-api", "port": 8443 }])));
    assert_eq!(at(&stage.get::<Route>("reg-https").await.unwrap(), "spec.host"), "reg-rest.example.com");
    assert!(stage.get::<NetworkPolicy>("reg-https-route").await.is_some());
    assert!(stage.get::<ConfigMap>("reg-kube-rbac-proxy-config").await.is_some());
    assert!(stage.get::<ClusterRoleBinding>("reg-auth-delegator").await.is_some());
}

#[tokio::test(start_paused = true)]
async fn scenario_13_proxy_removed() {
    let stage = Stage::openshift().await;
    stage.create(with(json!({ "kubeRBACProxy": {} }))).await;
    stage.up().await;
    stage.patch(json!({ "kubeRBACProxy": null })).await;
    assert!(stage.get::<ConfigMap>("reg-kube-rbac-proxy-config").await.is_none());
    assert!(stage.get::<ClusterRoleBinding>("reg-auth-delegator").await.is_none());
    assert!(stage.get::<Route>("reg-https").await.is_none());
    assert!(stage.get::<NetworkPolicy>("reg-https-route").await.is_none());
    let service = stage.get::<Service>("reg").await.unwrap();
    assert!(covers(at(&service, "spec.ports"), &json!([{ "name": "http-api", "port": 8080 }])));
    let deployment = stage.get::<Deployment>("reg").await.unwrap();
    assert_eq!(at(&deployment, "spec.template.spec.containers").as_array().unwrap().len(), 1);
    assert_eq!(stage.condition("KubeRBACProxyAvailable").await, None, "it tells of nothing any more");
}
