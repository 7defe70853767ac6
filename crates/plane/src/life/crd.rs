//! CustomResourceDefinitions: accepted, served, and taken down with everything they defined.

use serde_json::{Value, json};

use crate::Plane;
use crate::clock;
use crate::resource::Catalog;
use crate::store::{Draft, Expect, Object, TableId};

/// Holds a definition until its objects are gone.
pub(super) const FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

fn table() -> TableId {
    TableId::new("apiextensions.k8s.io", "customresourcedefinitions")
}

/// Whether the definition of that name is being deleted.
pub(super) fn is_going(plane: &Plane, name: &str) -> bool {
    plane.store().get(&table(), name).is_some_and(|crd| crd.facts.deleting)
}

/// The status a new definition starts with.
pub(super) fn prepare(crd: &mut Value) {
    let storage = stored_versions(crd);
    crd["status"] =
        json!({"conditions": null, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": storage});
}

fn stored_versions(crd: &Value) -> Vec<Value> {
    let versions = crd["spec"]["versions"].as_array().map_or(&[][..], Vec::as_slice);
    versions.iter().filter(|v| v["storage"] == true).map(|v| v["name"].clone()).collect()
}

/// The first DELETE adds the finalizer behind which the objects are removed.
pub(super) fn prepare_delete(plane: &Plane, crd: &mut Value) {
    if crd["metadata"]["deletionTimestamp"].is_string() {
        return;
    }
    let mut finalizers = crd["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
    if !finalizers.iter().any(|f| f == FINALIZER) {
        finalizers.push(FINALIZER.into());
    }
    crd["metadata"]["finalizers"] = finalizers.into();
    condition(
        plane,
        crd,
        "Terminating",
        "True",
        "InstanceDeletionPending",
        "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
    );
}

/// Accepts names and starts serving; while it goes, deletes its objects.
pub(super) fn stored(plane: &Plane, object: &Object) {
    let mut crd = object.to_value();
    if object.facts.deleting {
        return;
    }
    let before = crd.clone();
    let catalog = plane.catalog();
    let name = object.facts.name.as_ref();
    match taken(&catalog, name, &crd) {
        None => {
            crd["status"]["acceptedNames"] = crd["spec"]["names"].clone();
            condition(plane, &mut crd, "NamesAccepted", "True", "NoConflicts", "no conflicts found");
            condition(
                plane,
                &mut crd,
                "Established",
                "True",
                "InitialNamesAccepted",
                "the initial names have been accepted",
            );
        }
        Some((reason, message)) => {
            condition(plane, &mut crd, "NamesAccepted", "False", reason, &message);
            if crd["status"]["conditions"].as_array().is_none_or(|all| !established(all)) {
                condition(
                    plane,
                    &mut crd,
                    "Established",
                    "False",
                    "NotAccepted",
                    "not all names are accepted",
                );
            }
        }
    }
    note_stored_versions(&mut crd);
    if crd["status"]["conditions"].as_array().is_some_and(|all| established(all)) {
        let group = crd["spec"]["group"].as_str().unwrap_or_default();
        let plural = crd["spec"]["names"]["plural"].as_str().unwrap_or_default();
        plane.store().add_table(&TableId::new(group, plural));
        plane.inner.registry.define(name, &crd);
    }
    if crd != before {
        // If somebody else wrote meanwhile, their write brings us here again.
        let draft = Draft::new(&crd, object.stored_version.clone(), object.facts.fields.to_vec());
        let _ = plane.store().put(&table(), &draft, Expect::Revision(object.revision));
    }
}

/// The version in which objects are stored from now on counts as one in which some are.
pub(super) fn note_stored_versions(crd: &mut Value) {
    let mut versions = crd["status"]["storedVersions"].as_array().cloned().unwrap_or_default();
    for version in stored_versions(crd) {
        if !versions.contains(&version) {
            versions.push(version);
        }
    }
    crd["status"]["storedVersions"] = versions.into();
}

fn established(conditions: &[Value]) -> bool {
    conditions.iter().any(|c| c["type"] == "Established" && c["status"] == "True")
}

/// Which of the names another resource of the group has already.
fn taken(catalog: &Catalog, crd: &str, definition: &Value) -> Option<(&'static str, String)> {
    let names = &definition["spec"]["names"];
    let group = catalog.group(definition["spec"]["group"].as_str().unwrap_or_default())?;
    let others: Vec<_> = group
        .versions
        .iter()
        .flat_map(|(_, resources)| resources)
        .filter(|r| r.custom.as_ref().is_none_or(|c| c.crd.as_ref() != crd))
        .collect();
    let in_use = |name: &Value| format!("{name} is already in use");
    let is = |value: &Value, text: &str| value.as_str().is_some_and(|v| v == text);
    let resource_name = |value: &Value| {
        others.iter().any(|r| {
            is(value, &r.names.plural)
                || is(value, &r.names.singular)
                || r.short_names.iter().any(|short| is(value, short))
        })
    };
    let kind_name =
        |value: &Value| others.iter().any(|r| is(value, &r.names.kind) || is(value, &r.names.list_kind));
    if resource_name(&names["plural"]) {
        return Some(("PluralConflict", in_use(&names["plural"])));
    }
    if resource_name(&names["singular"]) {
        return Some(("SingularConflict", in_use(&names["singular"])));
    }
    let short = names["shortNames"].as_array().map_or(&[][..], Vec::as_slice);
    if let Some(short) = short.iter().find(|s| resource_name(s)) {
        return Some(("ShortNamesConflict", in_use(short)));
    }
    if kind_name(&names["kind"]) {
        return Some(("KindConflict", in_use(&names["kind"])));
    }
    kind_name(&names["listKind"]).then(|| ("ListKindConflict", in_use(&names["listKind"])))
}

/// Its kinds are served no more.
pub(super) fn removed(plane: &Plane, object: &Object) {
    let crd = object.to_value();
    plane.inner.registry.undefine(&object.facts.name);
    let group = crd["spec"]["group"].as_str().unwrap_or_default();
    let plural = crd["spec"]["names"]["plural"].as_str().unwrap_or_default();
    plane.store().drop_table(&TableId::new(group, plural));
}

/// Sets a condition; its transition time moves only with its status.
pub(super) fn condition(
    plane: &Plane,
    crd: &mut Value,
    kind: &str,
    status: &str,
    reason: &str,
    message: &str,
) {
    let mut conditions = crd["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let mut new = json!({"type": kind, "status": status, "reason": reason, "message": message,
        "lastTransitionTime": clock::seconds(plane.clock().now())});
    match conditions.iter_mut().find(|c| c["type"] == kind) {
        Some(old) => {
            if old["status"] == new["status"] {
                new["lastTransitionTime"] = old["lastTransitionTime"].clone();
            }
            if let Some(generation) = old.get("observedGeneration") {
                new["observedGeneration"] = generation.clone();
            }
            *old = new;
        }
        None => conditions.push(new),
    }
    crd["status"]["conditions"] = conditions.into();
}
