//! Reading a MaaSModelRef, whatever is in it.

use kube::core::ObjectMeta;
use quintet_api::maas::annotations;
use reqwest::Url;
use serde_json::Value;

use super::{Model, ModelDetails};

/// What a reference without a kind points at.
const DEFAULT_KIND: &str = "llmisvc";

/// The model. A field of the wrong type counts as absent.
pub fn parse(metadata: &ObjectMeta, spec: &Value, status: &Value) -> Model {
    let annotation =
        |key: &str| metadata.annotations.as_ref().and_then(|a| a.get(key)).cloned().unwrap_or_default();
    let details = ModelDetails {
        genai_use_case: annotation(annotations::GENAI_USE_CASE),
        description: annotation(annotations::DESCRIPTION),
        display_name: annotation(annotations::DISPLAY_NAME),
        context_window: annotation(annotations::CONTEXT_WINDOW),
    };
    let kind = spec["modelRef"]["kind"].as_str().filter(|kind| !kind.is_empty()).unwrap_or(DEFAULT_KIND);
    Model {
        name: metadata.name.clone().unwrap_or_default(),
        namespace: metadata.namespace.clone().unwrap_or_default(),
        created: metadata.creation_timestamp.as_ref().map_or(0, |time| time.0.as_second()),
        kind: kind.to_owned(),
        url: status["endpoint"].as_str().filter(|url| Url::parse(url).is_ok()).map(str::to_owned),
        ready: status["phase"] == "Ready",
        details: (details != ModelDetails::default()).then_some(details),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_field_is_read() {
        let metadata: ObjectMeta = serde_json::from_value(json!({
            "name": "llama", "namespace": "llm", "creationTimestamp": "2023-11-14T22:13:20Z",
            "annotations": {
                "openshift.io/display-name": "Llama", "openshift.io/description": "d",
                "opendatahub.io/genai-use-case": "chat", "opendatahub.io/context-window": "4096",
            },
        }))
        .expect("metadata");
        let model = parse(
            &metadata,
            &json!({"modelRef": {"kind": "LLMInferenceService", "name": "llama"}}),
            &json!({"phase": "Ready", "endpoint": "https://maas.example.com/llm/llama"}),
        );
        assert_eq!(
            model,
            Model {
                name: "llama".into(),
                namespace: "llm".into(),
                created: 1_700_000_000,
                kind: "LLMInferenceService".into(),
                url: Some("https://maas.example.com/llm/llama".into()),
                ready: true,
                details: Some(ModelDetails {
                    genai_use_case: "chat".into(),
                    description: "d".into(),
                    display_name: "Llama".into(),
                    context_window: "4096".into(),
                }),
            }
        );
        assert_eq!(model.owned_by(), "llm/llama");
    }

    #[test]
    fn what_is_missing_or_odd_counts_as_absent() {
        for (spec, status) in [
            (Value::Null, Value::Null),
            (json!({"modelRef": {"kind": ""}}), json!({"endpoint": "::", "phase": 1})),
            (json!({"modelRef": 1}), json!({"endpoint": 2, "phase": "Pending"})),
        ] {
            let model = parse(&ObjectMeta::default(), &spec, &status);
            assert_eq!(model, Model { kind: "llmisvc".into(), ..Default::default() });
        }
    }
}
