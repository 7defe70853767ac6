//! The chart's values: what they are unless told otherwise, and which are allowed.

use anyhow::Result;
use quintet_kit::install::{Platform, Site};
use serde_json::{Map, Value, json};

use crate::commands::install::{IMAGE, operators, process};
use crate::output::{Format, document};
use crate::systems::{Systems, preset};

const COMMENTED: &str = "\
# fused: one Deployment runs all systems. split: one for each, under the originals' names.
shape: fused
# kubernetes, or openshift: certificates from its service CA, metrics to its Prometheus.
platform: kubernetes
# Install the definitions of the kinds; they are kept when the release is deleted.
definitions: true
# Accounts, roles and their bindings only: under a platform operator that owns the Deployments.
rbacOnly: false
";

/// Those that follow from the systems: the image, the systems and their settings.
pub(super) fn usual() -> Result<Value> {
    let namespace = super::super::NAMESPACE;
    let site = Site {
        namespace: namespace.into(),
        image: IMAGE.into(),
        platform: Platform::Kubernetes,
        webhook_url: None,
    };
    let operators = operators(&Systems::with(namespace, &preset)?, &site)?;
    let settings = operators.iter().map(|(operator, _)| {
        let env = operator.env.iter().map(|(name, value)| ((*name).to_owned(), json!(value)));
        (operator.system.to_owned(), Value::Object(env.collect()))
    });
    Ok(json!({
        "image": IMAGE,
        "operators": operators.iter().map(|(operator, _)| operator.system).collect::<Vec<_>>(),
        "replicas": process("").replicas,
        "settings": settings.collect::<Map<_, _>>(),
    }))
}

/// `values.yaml`.
pub(super) fn file(usual: &Value) -> Result<String> {
    let rest = document(usual, Format::Yaml)?;
    Ok(COMMENTED.to_owned()
        + &rest.replace("replicas:", "# Of the fused shape: one writes, the others stand by.\nreplicas:"))
}

/// `values.schema.json`: Helm refuses what is misspelt.
pub(super) fn schema(usual: &Value) -> Result<String> {
    let settings = usual["settings"].as_object().into_iter().flatten().map(|(system, variables)| {
        let of = |(name, value): (&String, &Value)| {
            let allowed = match value.as_str() {
                Some("true" | "false") => json!({"enum": ["true", "false"]}),
                Some("") => json!({"type": "string"}),
                _ => json!({"type": "string", "minLength": 1}), // empty would mean the default, which is here
            };
            (name.clone(), allowed)
        };
        let variables: Map<_, _> = variables.as_object().into_iter().flatten().map(of).collect();
        (system.clone(), exactly(variables))
    });
    let mut properties = Map::new();
    let mut property = |name: &str, schema: Value| properties.insert(name.to_owned(), schema);
    property("shape", json!({"enum": ["fused", "split"]}));
    property("platform", json!({"enum": ["kubernetes", "openshift"]}));
    property("definitions", json!({"type": "boolean"}));
    property("rbacOnly", json!({"type": "boolean"}));
    property("image", json!({"type": "string", "minLength": 1}));
    property("replicas", json!({"type": "integer", "minimum": 0}));
    let systems = json!({"enum": usual["operators"]});
    property("operators", json!({"type": "array", "minItems": 1, "uniqueItems": true, "items": systems}));
    property("settings", exactly(settings.collect()));
    property("global", json!({"type": "object"})); // Helm adds it
    let mut schema = exactly(properties);
    schema["$schema"] = "http://json-schema.org/draft-07/schema#".into();
    document(&schema, Format::Json)
}

fn exactly(properties: Map<String, Value>) -> Value {
    json!({"type": "object", "additionalProperties": false, "properties": properties})
}
