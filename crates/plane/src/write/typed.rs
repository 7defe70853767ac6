//! Whether a body fits the Go types of a built-in kind, and what Go's decoder says if not.

use serde_json::Value;

use super::scalars::{base64_stops, quantity, time};
use crate::patch::go_kind;
use crate::resource::Resource;
use crate::schema::{Additional, Schema, Type, object_meta};

/// A value that Go's decoder does not take.
pub(crate) enum Mismatch {
    /// Of the wrong type.
    Type {
        /// What was found: `number`.
        found: String,
        /// The innermost struct and the path from the root: `DeploymentSpec.spec.replicas`.
        field: String,
        /// What was wanted: `int32`.
        wanted: String,
    },
    /// A string that is to be base64 and is not; where it stops being so.
    Base64(usize),
    /// A string that is to be an amount and is not.
    Quantity(&'static str),
    /// A string that is to be a time and is not, and how that is said.
    Time(String),
}

impl Mismatch {
    /// The decoder's sentence.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Type { found, field, wanted } => {
                format!("json: cannot unmarshal {found} into Go struct field {field} of type {wanted}")
            }
            Self::Base64(at) => format!("illegal base64 data at input byte {at}"),
            Self::Quantity(why) => (*why).to_owned(),
            Self::Time(why) => why.clone(),
        }
    }

    /// The sentence of the other decoder, which reads strategic merge patches.
    pub(crate) fn patch_text(&self) -> String {
        match self {
            Self::Type { wanted, .. } => format!("unrecognized type: {wanted}"),
            Self::Base64(_) => format!("error decoding from json: {}", self.text()),
            Self::Quantity(_) | Self::Time(_) => self.text(),
        }
    }
}

/// The first value of the wrong type in an object of a built-in kind.
pub(crate) fn mismatch(resource: &Resource, object: &Value) -> Option<Mismatch> {
    if resource.is_custom() {
        return None;
    }
    let root = &resource.gvk.kind;
    look(resource.schema()?, object, &mut Vec::new(), root)
}

/// What is wrong with the type or the metadata of a resource embedded in a custom one, which the decoder reads.
pub(crate) fn embedded(resource: &Resource, object: &Value) -> Option<String> {
    let custom = resource.custom.as_ref()?;
    embedded_at(&custom.structural, object, "")
}

fn embedded_at(schema: &Schema, value: &Value, path: &str) -> Option<String> {
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match value {
        Value::Object(fields) => {
            if schema.embedded_resource {
                for name in ["apiVersion", "kind"] {
                    if let Some(wrong) = fields.get(name).filter(|value| !value.is_string()) {
                        return Some(format!("{}: Invalid value: {wrong}: must be a string", below(name)));
                    }
                }
                if let Some(metadata) = fields.get("metadata")
                    && let Some(wrong) = look(object_meta(), metadata, &mut Vec::new(), "ObjectMeta")
                {
                    return Some(format!(
                        "{}: Invalid value: {metadata}: {}",
                        below("metadata"),
                        wrong.text()
                    ));
                }
            }
            fields.iter().find_map(|(name, value)| embedded_at(schema.field(name)?, value, &below(name)))
        }
        Value::Array(items) => {
            let of = schema.element()?;
            items
                .iter()
                .enumerate()
                .find_map(|(index, item)| embedded_at(of, item, &format!("{path}[{index}]")))
        }
        _ => None,
    }
}

fn look<'a>(schema: &'a Schema, value: &'a Value, path: &mut Vec<&'a str>, owner: &str) -> Option<Mismatch> {
    let fails = |found: String| {
        let field = format!("{owner}.{}", path.join("."));
        Some(Mismatch::Type { found, field, wanted: go_type(schema) })
    };
    match (schema.definition.as_deref(), value) {
        (Some("resource.Quantity"), _) => return quantity(value).map(Mismatch::Quantity),
        (Some("meta.v1.Time" | "meta.v1.MicroTime"), Value::String(text)) => {
            return time(text).err().map(Mismatch::Time);
        }
        _ => {}
    }
    if value.is_null() || schema.int_or_string || schema.preserve_unknown || reads_itself(schema) {
        return None;
    }
    match (schema.kind?, value) {
        (Type::String, Value::String(text)) if schema.format.as_deref() == Some("byte") => {
            base64_stops(text.as_bytes()).map(Mismatch::Base64)
        }
        (Type::String, Value::String(_))
        | (Type::Boolean, Value::Bool(_))
        | (Type::Number, Value::Number(_)) => None,
        (Type::Integer, Value::Number(n)) if n.is_i64() || n.is_u64() => {
            let fits = schema.format.as_deref() != Some("int32")
                || n.as_i64().is_some_and(|n| i32::try_from(n).is_ok());
            if fits { None } else { fails(format!("number {n}")) }
        }
        (Type::Integer, Value::Number(n)) => fails(format!("number {n}")),
        (Type::Object, Value::Object(fields)) => {
            let inner = schema.definition.as_deref().and_then(|d| d.rsplit('.').next()).unwrap_or(owner);
            for (name, value) in fields {
                match (schema.properties.get(name), &schema.additional) {
                    (Some(property), _) => {
                        path.push(name);
                        let found = look(property, value, path, inner);
                        path.pop();
                        if found.is_some() {
                            return found;
                        }
                    }
                    (None, Additional::Of(of)) => {
                        if let Some(found) = look(of, value, path, owner) {
                            return Some(found);
                        }
                    }
                    _ => {}
                }
            }
            None
        }
        (Type::Array, Value::Array(items)) => {
            let of = schema.element()?;
            items.iter().find_map(|item| look(of, item, path, owner))
        }
        (_, other) => fails(go_kind(other).to_string()),
    }
}

/// Types that have a reading of their own.
fn reads_itself(schema: &Schema) -> bool {
    schema.definition.as_deref().is_some_and(|name| {
        matches!(
            name.rsplit('.').next(),
            Some("IntOrString" | "Time" | "MicroTime" | "RawExtension" | "JSON" | "FieldsV1")
        ) || name.contains("JSONSchemaProps")
    })
}

fn go_type(schema: &Schema) -> String {
    match schema.kind {
        Some(Type::String) => "string".into(),
        Some(Type::Boolean) => "bool".into(),
        Some(Type::Number) => "float64".into(),
        Some(Type::Integer) => schema.format.clone().unwrap_or_else(|| "int64".into()),
        Some(Type::Array) => format!("[]{}", schema.element().map_or_else(String::new, go_type)),
        Some(Type::Object) | None => match (&schema.definition, &schema.additional) {
            (Some(name), _) => {
                let mut parts = name.rsplitn(3, '.');
                let (name, version) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
                format!("{version}.{name}")
            }
            (None, Additional::Of(of)) => format!("map[string]{}", go_type(of)),
            _ => "map[string]interface {}".into(),
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::resource::Registry;

    #[test]
    fn the_first_wrong_type_is_told_as_go_tells_it() {
        let catalog = Registry::new().catalog();
        let say = |group: &str, plural: &str, object: Value| {
            mismatch(catalog.find(group, "v1", plural).unwrap(), &object).map(|m| m.text())
        };
        assert_eq!(
            say("", "configmaps", json!({"data": {"a": 5}})).unwrap(),
            "json: cannot unmarshal number into Go struct field ConfigMap.data of type string"
        );
        assert_eq!(
            say("apps", "deployments", json!({"spec": {"replicas": "x"}})).unwrap(),
            "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32"
        );
        assert_eq!(
            say("", "pods", json!({"metadata": {"labels": []}})).unwrap(),
            "json: cannot unmarshal array into Go struct field ObjectMeta.metadata.labels of type map[string]string"
        );
        let fine = json!({"spec": {"containers": [{"name": "c", "ports": [{"containerPort": 80}],
            "resources": {"limits": {"cpu": 1}}, "livenessProbe": {"httpGet": {"port": "http"}}}]}});
        assert_eq!(say("", "pods", fine), None);
    }
}
