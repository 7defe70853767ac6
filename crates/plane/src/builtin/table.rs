//! The table of published schemas, read once.

use std::collections::{BTreeMap, HashMap};
use std::sync::{LazyLock, OnceLock};

use crate::resource::GroupVersionKind;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::schema::{Node, Schema};

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

struct Table {
    raw: Map<String, Value>,
    cells: HashMap<String, &'static OnceLock<Schema>>,
    kinds: HashMap<GroupVersionKind, &'static OnceLock<Schema>>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let raw = load();
    // Definitions live as long as the process and refer to each other, also in circles: hence leaked cells.
    let cells: HashMap<String, &'static OnceLock<Schema>> =
        raw.keys().map(|name| (name.clone(), &*Box::leak(Box::new(OnceLock::new())))).collect();
    let mut kinds = HashMap::new();
    for (name, definition) in &raw {
        let schema = read(definition, &raw, &cells);
        let Some(cell) = cells.get(name).copied() else { continue };
        let _ = cell.set(schema);
        let gvk = &definition["x-kubernetes-group-version-kind"][0];
        if let (Some(group), Some(version), Some(kind)) =
            (gvk["group"].as_str(), gvk["version"].as_str(), gvk["kind"].as_str())
        {
            kinds.insert(GroupVersionKind::new(group, version, kind), cell);
        }
    }
    Table { raw: raw.into_iter().collect(), cells, kinds }
});

fn read(
    raw: &Value,
    all: &BTreeMap<String, Value>,
    cells: &HashMap<String, &'static OnceLock<Schema>>,
) -> Schema {
    Schema::parse_with(&inline(raw, all, true), &|name| cells.get(name).map(|cell| Node::Shared(cell)))
}

/// The raw definitions with what the model needs beside: their short names, and that raw JSON is kept as it is.
fn load() -> BTreeMap<String, Value> {
    let mut all: BTreeMap<String, Value> =
        serde_json::from_str(include_str!("schemas.json")).unwrap_or_default();
    for (name, definition) in &mut all {
        let Value::Object(facts) = definition else { continue };
        facts.insert("x-definition".into(), Value::String(short(name).to_owned()));
        if !facts.contains_key("properties") && facts.get("type").is_some_and(|t| t == "object") {
            facts.insert("x-kubernetes-preserve-unknown-fields".into(), Value::Bool(true));
        }
    }
    all
}

/// `core.v1.PodSpec`, `meta.v1.ObjectMeta`, `apiextensions.v1.JSON`, `resource.Quantity`.
fn short(name: &str) -> &str {
    [
        "io.k8s.api.",
        "io.k8s.apimachinery.pkg.apis.",
        "io.k8s.apimachinery.pkg.api.",
        "io.k8s.apiextensions-apiserver.pkg.apis.",
    ]
    .iter()
    .find_map(|prefix| name.strip_prefix(prefix))
    .unwrap_or(name)
}

/// How Go prints the fields of a definition that have their zero value.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct GoFacts {
    /// Left out.
    pub(super) omit: Vec<String>,
    /// Printed all the same.
    pub(super) zero: BTreeMap<String, Value>,
    /// Lists printed as `null`.
    pub(super) null: Vec<String>,
    /// Structs printed as `{}` (or with their own zero fields).
    #[serde(rename = "struct")]
    pub(super) structs: Vec<String>,
}

/// The Go facts of a definition, by its short name.
pub(super) fn go_facts(definition: &str) -> Option<&'static GoFacts> {
    static FACTS: LazyLock<HashMap<String, GoFacts>> = LazyLock::new(|| {
        let facts = |(name, raw): (&String, &Value)| {
            Some((short(name).to_owned(), GoFacts::deserialize(raw.get("x-go")?).ok()?))
        };
        TABLE.raw.iter().filter_map(facts).collect()
    });
    FACTS.get(definition)
}

/// A reference that carries facts of its own (a merge strategy, a default) is replaced by the definition with these.
fn inline(raw: &Value, all: &BTreeMap<String, Value>, top: bool) -> Value {
    let Value::Object(fields) = raw else { return raw.clone() };
    let mut fields = fields.clone();
    if (top || fields.len() > 1)
        && let Some(Value::String(name)) = fields.get("$ref")
        && let Some(Value::Object(definition)) = all.get(name)
    {
        let mut merged = definition.clone();
        fields.remove("$ref");
        merged.append(&mut fields);
        merged.remove("x-kubernetes-group-version-kind");
        fields = merged;
    }
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        for value in properties.values_mut() {
            *value = inline(value, all, false);
        }
    }
    for key in ["items", "additionalProperties"] {
        if let Some(value) = fields.get_mut(key) {
            *value = inline(value, all, false);
        }
    }
    Value::Object(fields)
}

/// The schema of a built-in kind.
pub fn schema(gvk: &GroupVersionKind) -> Option<&'static Schema> {
    TABLE.kinds.get(gvk).and_then(|cell| cell.get())
}

/// The schema of every object's `metadata`.
pub fn object_meta() -> &'static Schema {
    static NOTHING: LazyLock<Schema> = LazyLock::new(Schema::default);
    TABLE.cells.get(OBJECT_META).and_then(|cell| cell.get()).unwrap_or(&NOTHING)
}

/// The definitions by name, as the published OpenAPI documents hold them under `components.schemas` (a `$ref` is the
/// bare name).
pub fn definitions() -> &'static Map<String, Value> {
    &TABLE.raw
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{ListType, prune};
    use serde_json::json;

    fn gvk(group: &str, version: &str, kind: &str) -> GroupVersionKind {
        GroupVersionKind::new(group, version, kind)
    }

    #[test]
    fn every_kind_has_a_schema_with_metadata() {
        assert!(TABLE.kinds.len() > 60);
        for cell in TABLE.kinds.values() {
            assert!(cell.get().is_some());
        }
        let pod = schema(&gvk("", "v1", "Pod")).unwrap();
        let containers = &pod.properties["spec"].properties["containers"];
        assert_eq!(containers.list_type, Some(ListType::Map));
        assert_eq!(containers.strategy.merge_key.as_deref(), Some("name"));
        let ports = &containers.items.as_ref().unwrap().properties["ports"];
        assert_eq!(ports.list_map_keys, ["containerPort", "protocol"]);
        assert_eq!(ports.items.as_ref().unwrap().properties["protocol"].default, Some(json!("TCP")));
    }

    #[test]
    fn a_reference_keeps_its_own_strategy() {
        let deployment = schema(&gvk("apps", "v1", "Deployment")).unwrap();
        let strategy = &deployment.properties["spec"].properties["strategy"];
        assert!(strategy.strategy.retain_keys && strategy.properties.contains_key("rollingUpdate"));
        let pdb = schema(&gvk("policy", "v1", "PodDisruptionBudget")).unwrap();
        let selector = &pdb.properties["spec"].properties["selector"];
        assert!(selector.strategy.replace && selector.atomic_map);
    }

    #[test]
    fn recursive_schemas_prune_at_any_depth() {
        let crd = schema(&gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition")).unwrap();
        let mut value = json!({"spec": {"versions": [{"schema": {"openAPIV3Schema": {"properties": {"a": {"properties":
            {"b": {"typo": 1, "type": "string"}}}}}}}]}});
        let unknown = prune(crd, &mut value, false);
        assert_eq!(unknown, ["spec.versions[0].schema.openAPIV3Schema.properties.a.properties.b.typo"]);
    }
}
