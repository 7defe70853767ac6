//! The paths of a resource with the operations clients look for.

use serde_json::{Map, Value, json};

use crate::resource::Resource;

const JSON_TYPES: [&str; 1] = ["application/json"];

/// Adds the paths of one resource.
pub(super) fn add(resource: &Resource, into: &mut Map<String, Value>, schema: &str, v3: bool) {
    let gvk = &resource.gvk;
    let root = match gvk.group.is_empty() {
        true => format!("/api/{}", gvk.version),
        false => format!("/apis/{}/{}", gvk.group, gvk.version),
    };
    let plural = &resource.names.plural;
    let base = match resource.namespaced() {
        true => format!("{root}/namespaces/{{namespace}}/{plural}"),
        false => format!("{root}/{plural}"),
    };
    let verbs = |names: &[(&str, &str)], verbs: &[&str]| -> Map<String, Value> {
        let allowed = names.iter().filter(|(verb, _)| verbs.contains(verb));
        allowed.map(|(verb, method)| ((*method).to_string(), operation(resource, verb, schema, v3))).collect()
    };
    let collection =
        verbs(&[("list", "get"), ("create", "post"), ("deletecollection", "delete")], resource.verbs);
    let one =
        verbs(&[("get", "get"), ("update", "put"), ("patch", "patch"), ("delete", "delete")], resource.verbs);
    put(into, base.clone(), collection, parameters(resource, false, v3));
    put(into, format!("{base}/{{name}}"), one, parameters(resource, true, v3));
    if resource.namespaced() && resource.verbs.contains(&"list") {
        put(into, format!("{root}/{plural}"), verbs(&[("list", "get")], resource.verbs), Vec::new());
    }
    for sub in &resource.subresources {
        let of: Map<String, Value> =
            [("get", "get"), ("update", "put"), ("patch", "patch"), ("create", "post")]
                .iter()
                .filter(|(verb, _)| sub.verbs.contains(verb))
                .map(|(verb, method)| {
                    let mut operation = operation(resource, verb, schema, v3);
                    operation["x-kubernetes-group-version-kind"] =
                        json!({"group": sub.kind.group, "version": sub.kind.version, "kind": sub.kind.kind});
                    ((*method).to_string(), operation)
                })
                .collect();
        put(into, format!("{base}/{{name}}/{}", sub.name), of, parameters(resource, true, v3));
    }
}

fn put(
    into: &mut Map<String, Value>,
    path: String,
    mut operations: Map<String, Value>,
    parameters: Vec<Value>,
) {
    if operations.is_empty() {
        return;
    }
    if !parameters.is_empty() {
        operations.insert("parameters".into(), parameters.into());
    }
    into.insert(path, Value::Object(operations));
}

fn parameters(resource: &Resource, named: bool, v3: bool) -> Vec<Value> {
    let mut out = Vec::new();
    let parameter = |name: &str| match v3 {
        true => json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}),
        false => json!({"name": name, "in": "path", "required": true, "type": "string"}),
    };
    if named {
        out.push(parameter("name"));
    }
    if resource.namespaced() {
        out.push(parameter("namespace"));
    }
    out
}

fn operation(resource: &Resource, verb: &str, schema: &str, v3: bool) -> Value {
    let gvk = &resource.gvk;
    let action = match verb {
        "create" => "post",
        "update" => "put",
        other => other,
    };
    let query = |name: &str, kind: &str| match v3 {
        true => json!({"name": name, "in": "query", "schema": {"type": kind}}),
        false => json!({"name": name, "in": "query", "type": kind}),
    };
    let mut parameters = vec![query("pretty", "string")];
    match verb {
        "create" | "update" | "patch" => {
            parameters
                .extend(["dryRun", "fieldManager", "fieldValidation"].map(|name| query(name, "string")));
            if verb == "patch" {
                parameters.push(query("force", "boolean"));
            }
        }
        "list" | "deletecollection" => {
            parameters.extend(
                ["continue", "fieldSelector", "labelSelector", "resourceVersion", "resourceVersionMatch"]
                    .map(|name| query(name, "string")),
            );
            parameters.extend(["limit", "timeoutSeconds"].map(|name| query(name, "integer")));
            parameters.extend(
                ["watch", "allowWatchBookmarks", "sendInitialEvents"].map(|name| query(name, "boolean")),
            );
        }
        _ => {}
    }
    let mut out = json!({
        "operationId": format!("{action}{}", gvk.kind),
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": {"group": gvk.group, "version": gvk.version, "kind": gvk.kind},
    });
    let body = json!({"$ref": schema});
    if v3 {
        out["responses"] =
            json!({"200": {"description": "OK", "content": {"application/json": {"schema": body}}}});
        let types: Vec<&str> = match verb {
            "create" | "update" => JSON_TYPES.to_vec(),
            "patch" => patch_types(resource),
            _ => Vec::new(),
        };
        if !types.is_empty() {
            let content: Map<String, Value> =
                types.iter().map(|t| ((*t).to_string(), json!({"schema": body}))).collect();
            out["requestBody"] = json!({"required": true, "content": content});
        }
    } else {
        out["responses"] = json!({"200": {"description": "OK", "schema": body}});
        if verb == "patch" {
            out["consumes"] = json!(patch_types(resource));
        }
        if matches!(verb, "create" | "update" | "patch") {
            parameters.insert(0, json!({"name": "body", "in": "body", "required": true, "schema": body}));
        }
    }
    out["parameters"] = parameters.into();
    out
}

/// Custom resources have no strategic merge.
fn patch_types(resource: &Resource) -> Vec<&'static str> {
    let mut types =
        vec!["application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json"];
    if !resource.is_custom() {
        types.push("application/strategic-merge-patch+json");
    }
    types
}
