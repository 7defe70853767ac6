//! Serving certificates for Services that ask for one, as OpenShift's service-CA makes them.
//!
//! Operators annotate a Service and mount the Secret that appears. Without somebody to make it, pods would wait for ever.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context, Result};
use futures::TryStreamExt;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{Secret, Service};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::api::PostParams;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, Resource, ResourceExt};
use plane::listen::Authority;
use tokio_util::sync::CancellationToken;

/// The annotation by which a Service asks for a certificate; its value names the Secret.
pub const ANNOTATION: &str = "service.beta.openshift.io/serving-cert-secret-name";

/// Makes certificates until told to stop.
pub async fn run(client: Client, authority: Arc<Authority>, stop: CancellationToken) {
    let services = watcher(Api::<Service>::all(client.clone()), watcher::Config::default());
    let made = services.default_backoff().applied_objects().try_for_each(|service| {
        let (client, authority) = (client.clone(), authority.clone());
        async move {
            if let Err(error) = serve(&client, &authority, &service).await {
                tracing::warn!(
                    service = service.name_any(),
                    error = format!("{error:#}"),
                    "no serving certificate"
                );
            }
            Ok(())
        }
    });
    if let Some(Err(error)) = stop.run_until_cancelled(made).await {
        tracing::warn!(%error, "serving certificates are no longer made");
    }
}

async fn serve(client: &Client, authority: &Authority, service: &Service) -> Result<()> {
    let Some(name) = service.annotations().get(ANNOTATION) else { return Ok(()) };
    let namespace = service.namespace().unwrap_or_default();
    let secrets: Api<Secret> = Api::namespaced(client.clone(), &namespace);
    if secrets.get_metadata_opt(name).await?.is_some() {
        return Ok(()); // made before, or somebody's own
    }
    let secret = secret(authority, service, &namespace, name).context("signing")?;
    match secrets.create(&PostParams::default(), &secret).await {
        Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(()),
        other => other.map(drop).with_context(|| format!("making Secret {name}")),
    }
}

fn secret(authority: &Authority, service: &Service, namespace: &str, name: &str) -> Result<Secret> {
    let host = format!("{}.{namespace}.svc", service.name_any());
    let issued = authority.server(&[&host, &format!("{host}.cluster.local")])?;
    let owner = OwnerReference {
        api_version: Service::api_version(&()).into_owned(),
        kind: Service::kind(&()).into_owned(),
        name: service.name_any(),
        uid: service.uid().unwrap_or_default(),
        ..OwnerReference::default()
    };
    let data = [("tls.crt", issued.certificate + &authority.pem()), ("tls.key", issued.key)];
    Ok(Secret {
        metadata: ObjectMeta {
            name: Some(name.into()),
            namespace: Some(namespace.into()),
            owner_references: Some(vec![owner]),
            ..ObjectMeta::default()
        },
        type_: Some("kubernetes.io/tls".into()),
        data: Some(BTreeMap::from_iter(data.map(|(k, v)| (k.to_string(), ByteString(v.into_bytes()))))),
        ..Secret::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use plane::Plane;
    use serde_json::json;

    #[tokio::test]
    async fn a_service_that_asks_gets_a_certificate_that_goes_with_it() {
        let plane = Plane::new();
        let (client, stop) = (plane.client(), CancellationToken::new());
        let authority = Arc::new(Authority::new("test").unwrap());
        let task = tokio::spawn(run(client.clone(), authority, stop.clone()));
        let services: Api<Service> = Api::namespaced(client.clone(), "default");
        let service = json!({"metadata": {"name": "web", "annotations": {ANNOTATION: "web-tls"}},
                             "spec": {"ports": [{"port": 443}]}});
        let service: Service = serde_json::from_value(service).unwrap();
        let service = services.create(&PostParams::default(), &service).await.unwrap();

        let secrets: Api<Secret> = Api::namespaced(client, "default");
        let there = kube::runtime::wait::await_condition(secrets.clone(), "web-tls", |s: Option<&Secret>| {
            s.is_some()
        });
        let secret = there.await.unwrap().unwrap();
        assert_eq!(secret.type_.as_deref(), Some("kubernetes.io/tls"));
        assert_eq!(Some(&secret.owner_references()[0].uid), service.uid().as_ref());
        let certificate = String::from_utf8(secret.data.unwrap()["tls.crt"].0.clone()).unwrap();
        assert_eq!(certificate.matches("BEGIN CERTIFICATE").count(), 2, "the chain ends in the authority");
        stop.cancel();
        task.await.unwrap();
    }
}
