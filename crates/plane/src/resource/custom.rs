//! Resources that a CustomResourceDefinition defines.

use std::sync::Arc;

use serde_json::Value;

use super::{Field, GroupVersionKind, Names, Naming, Resource, Scope, Subresource, Traits, prefix};
use crate::schema::{self, Schema};
use crate::store::TableId;

const VERBS: &[&str] = &["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
const TRAITS: Traits = Traits {
    generation: true,
    unconditional_update: false,
    create_on_update: false,
    returns_deleted: false,
    stored: true,
    naming: Naming::Subdomain,
};

/// What a CRD says about one of its versions.
#[derive(Debug)]
pub struct Custom {
    /// Name of the CRD.
    pub crd: Arc<str>,
    /// `spec.conversion`
    pub conversion: Value,
    /// `spec.versions[*].schema.openAPIV3Schema`
    pub schema: Arc<Value>,
    /// The same, compiled.
    pub structural: Schema,
    /// The printer columns.
    pub columns: Vec<PrinterColumn>,
    /// The warning every request to a deprecated version gets.
    pub deprecation: Option<String>,
    /// `spec.versions[*].subresources.scale`
    pub scale: Option<ScalePaths>,
}

/// One of `additionalPrinterColumns`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrinterColumn {
    /// Heading.
    pub name: String,
    /// `string`, `integer`, `number`, `boolean` or `date`.
    pub kind: String,
    /// OpenAPI format.
    pub format: String,
    /// Explanation.
    pub description: String,
    /// Above 0: only in wide output.
    pub priority: i64,
    /// Where the cell's value is.
    pub json_path: String,
}

/// Where a custom resource keeps what `/scale` shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScalePaths {
    /// Wanted replicas.
    pub spec_replicas: String,
    /// Counted replicas.
    pub status_replicas: String,
    /// Label selector in string form, if any.
    pub selector: Option<String>,
}

/// The served resources of a CRD whose names are accepted.
pub(super) fn resources(crd: &Value) -> Vec<Resource> {
    let (spec, name) = (&crd["spec"], text(&crd["metadata"]["name"]));
    let versions: &[Value] = spec["versions"].as_array().map_or(&[], Vec::as_slice);
    let storage =
        versions.iter().find(|v| v["storage"] == true).map(|v| text(&v["name"])).unwrap_or_default();
    let names = names(spec);
    versions
        .iter()
        .filter(|v| v["served"] == true)
        .map(|version| resource(&name, spec, version, &names, &storage))
        .collect()
}

fn names(spec: &Value) -> Names {
    let (names, kind) = (&spec["names"], text(&spec["names"]["kind"]));
    let or = |value: &Value, default: String| value.as_str().map_or(default, Into::into);
    Names {
        group: text(&spec["group"]).into(),
        plural: text(&names["plural"]).into(),
        singular: or(&names["singular"], kind.to_lowercase()).into(),
        list_kind: or(&names["listKind"], format!("{kind}List")).into(),
        kind: kind.into(),
    }
}

fn resource(crd: &str, spec: &Value, version: &Value, names: &Names, storage: &str) -> Resource {
    let gvk = GroupVersionKind::new(&names.group, &text(&version["name"]), &names.kind);
    let api_version: Arc<str> = gvk.api_version().into();
    let strings = |value: &Value| -> Vec<Arc<str>> {
        value
            .as_array()
            .map(|all| all.iter().filter_map(Value::as_str).map(Into::into).collect())
            .unwrap_or_default()
    };
    let subs = &version["subresources"];
    let verbs = vec!["get", "patch", "update"];
    let mut subresources = Vec::new();
    if subs.get("status").is_some() {
        subresources.push(Subresource { name: "status".into(), kind: gvk.clone(), verbs: verbs.clone() });
    }
    if subs.get("scale").is_some() {
        let kind = GroupVersionKind::new("autoscaling", "v1", "Scale");
        subresources.push(Subresource { name: "scale".into(), kind, verbs });
    }
    let fields = version["selectableFields"].as_array().map_or(&[][..], Vec::as_slice);
    Resource {
        names: names.clone(),
        prefix: prefix(&names.kind, &api_version),
        scope: if spec["scope"] == "Namespaced" { Scope::Namespaced } else { Scope::Cluster },
        short_names: strings(&spec["names"]["shortNames"]),
        categories: strings(&spec["names"]["categories"]),
        verbs: VERBS,
        subresources,
        table: TableId::new(&names.group, &names.plural),
        stored_version: storage.into(),
        traits: TRAITS,
        fields: fields.iter().filter_map(|f| f["jsonPath"].as_str()).map(Field::new).collect(),
        custom: Some(Arc::new(Custom {
            crd: crd.into(),
            conversion: spec["conversion"].clone(),
            structural: schema::crd::compile(version),
            schema: Arc::new(version["schema"]["openAPIV3Schema"].clone()),
            columns: columns(version),
            deprecation: deprecation(version, &api_version, &names.kind),
            scale: scale(&subs["scale"]),
        })),
        gvk,
        api_version,
    }
}

fn columns(version: &Value) -> Vec<PrinterColumn> {
    let given = version["additionalPrinterColumns"].as_array().map_or(&[][..], Vec::as_slice);
    given
        .iter()
        .map(|column| {
            let json_path = text(&column["jsonPath"]);
            let description = match column["description"].as_str() {
                Some(words) if !words.is_empty() => words.to_string(),
                _ => format!("Custom resource definition column (in JSONPath format): {json_path}"),
            };
            PrinterColumn {
                name: text(&column["name"]),
                kind: text(&column["type"]),
                format: text(&column["format"]),
                description,
                priority: column["priority"].as_i64().unwrap_or(0),
                json_path,
            }
        })
        .collect()
}

fn deprecation(version: &Value, api_version: &str, kind: &str) -> Option<String> {
    (version["deprecated"] == true).then(|| match version["deprecationWarning"].as_str() {
        Some(words) => words.to_string(),
        None => format!("{api_version} {kind} is deprecated"),
    })
}

fn scale(scale: &Value) -> Option<ScalePaths> {
    Some(ScalePaths {
        spec_replicas: scale["specReplicasPath"].as_str()?.into(),
        status_replicas: scale["statusReplicasPath"].as_str()?.into(),
        selector: scale["labelSelectorPath"].as_str().map(Into::into),
    })
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_string()
}
