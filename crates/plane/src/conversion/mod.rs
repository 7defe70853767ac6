//! Custom resources between their versions: the `None` strategy and conversion webhooks.

mod review;

use bytes::Bytes;
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use crate::hooks::Convert;
use crate::resource::GroupVersionKind;
use crate::status::{Error, Result};
use crate::webhook::{Caller, ClientConfig};

/// The real server gives conversion this long.
const TIMEOUT_SECONDS: u64 = 30;

/// `spec.conversion` of a CustomResourceDefinition.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Conversion {
    strategy: String,
    webhook: Option<Webhook>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Webhook {
    client_config: ClientConfig,
    conversion_review_versions: Vec<String>,
}

/// Converts as the CustomResourceDefinition says.
#[derive(Debug, Clone)]
pub struct Converter {
    caller: Caller,
}

impl Converter {
    /// A converter that calls webhooks by `caller`.
    pub fn new(caller: Caller) -> Self {
        Self { caller }
    }

    /// Objects of any versions in one version, in order. Those of one source version go in one call.
    async fn convert_all(
        &self,
        conversion: &Value,
        to: &GroupVersionKind,
        mut objects: Vec<Value>,
    ) -> Result<Vec<Value>> {
        let conversion =
            Conversion::deserialize(conversion).map_err(|error| Error::internal(error.to_string()))?;
        let desired = to.api_version();
        let mut sources: Vec<String> = vec![];
        for version in objects.iter().map(api_version) {
            if version != desired && !sources.iter().any(|source| source == version) {
                sources.push(version.to_owned());
            }
        }
        let Some(webhook) = conversion.webhook.filter(|_| conversion.strategy == "Webhook") else {
            for object in &mut objects {
                object["apiVersion"] = desired.clone().into();
            }
            return Ok(objects);
        };
        for source in sources {
            let places: Vec<usize> =
                (0..objects.len()).filter(|&i| api_version(&objects[i]) == source).collect();
            let originals: Vec<Value> = places.iter().map(|&i| objects[i].clone()).collect();
            let kind = GroupVersionKind::from_api_version(&source, &to.kind);
            let converted = self
                .call(&webhook, &desired, &originals)
                .await
                .map_err(|why| Error::bare(format!("conversion webhook for {kind} {why}")))?;
            for (place, object) in places.into_iter().zip(converted) {
                objects[place] = object;
            }
        }
        Ok(objects)
    }

    /// The error is what follows `conversion webhook for … `.
    async fn call(
        &self,
        webhook: &Webhook,
        desired: &str,
        originals: &[Value],
    ) -> Result<Vec<Value>, String> {
        let known = |version: &&String| matches!(version.as_str(), "v1" | "v1beta1");
        let version = webhook.conversion_review_versions.iter().find(known).map_or("v1", String::as_str);
        let uid = Uuid::new_v4().to_string();
        let question = review::question(version, &uid, desired, originals);
        let answer = self
            .caller
            .post(&webhook.client_config, TIMEOUT_SECONDS, Bytes::from(question.to_string()))
            .await
            .map_err(|error| format!("failed: {error}"))?;
        review::converted(version, &uid, desired, originals, &answer)
    }
}

impl Convert for Converter {
    fn convert<'a>(
        &'a self,
        conversion: &'a Value,
        to: &'a GroupVersionKind,
        objects: Vec<Value>,
    ) -> BoxFuture<'a, Result<Vec<Value>>> {
        Box::pin(self.convert_all(conversion, to, objects))
    }
}

fn api_version(object: &Value) -> &str {
    object.get("apiVersion").and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests;
