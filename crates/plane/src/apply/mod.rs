//! Server-side apply, and the book of who set which field.
//!
//! Pure: live object and request in, new object with its `managedFields` out; the clock is an argument.
//! The walks over typed values are in `merge`, the field sets in `set`, the book itself in `managed`.

mod managed;
mod merge;
mod set;
mod typed;

pub use managed::{Manager, Operation};
pub use set::{Element, FieldSet};

use serde_json::{Map, Value};
use thiserror::Error;

use self::managed::{Managed, Owned};
use self::merge::Comparison;
use self::typed::Typed;
use crate::builtin;
use crate::resource::GroupVersionKind;
use crate::schema::Schema;

/// Fields a write never owns, because the strategy of the resource or subresource resets them.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Reset {
    /// None.
    #[default]
    Nothing,
    /// These and what lies below them.
    Fields(FieldSet),
    /// Everything but this top-level field (a custom resource's `/status`).
    AllBut(&'static str),
}

impl Reset {
    /// These top-level fields, such as `["status"]`.
    pub fn top_level(names: &[&str]) -> Self {
        Reset::Fields(FieldSet::of(names.iter().map(std::slice::from_ref)))
    }

    fn apply(&self, set: FieldSet) -> FieldSet {
        match self {
            Reset::Nothing => set,
            Reset::Fields(reset) => set.recursive_difference(reset),
            Reset::AllBut(name) => set.only(name),
        }
    }
}

/// Who writes what kind of object, and when.
#[derive(Debug, Clone)]
pub struct Context<'a> {
    /// The schema of the object in the request's version.
    pub schema: &'a Schema,
    /// The object's `apiVersion`.
    pub api_version: &'a str,
    /// The object's kind.
    pub kind: &'a str,
    /// Whether it is a custom resource: a built-in kind has no `null` in it.
    pub custom: bool,
    /// The field manager.
    pub manager: &'a str,
    /// The subresource written to, or empty.
    pub subresource: &'a str,
    /// Fields this write never owns.
    pub reset: Reset,
    /// RFC 3339 with seconds.
    pub now: &'a str,
    /// The object before and after an update in other versions that managers wrote in.
    pub others: &'a [Other<'a>],
}

/// An update as another version shows it.
#[derive(Debug, Clone)]
pub struct Other<'a> {
    /// The version.
    pub api_version: &'a str,
    /// Its schema.
    pub schema: &'a Schema,
    /// The object before.
    pub before: &'a Value,
    /// The object after.
    pub after: &'a Value,
}

/// What a whole object has that its schema does not declare, or declares otherwise.
pub fn misfit(schema: &Schema, object: &Value) -> Option<String> {
    type_errors(Typed::Object(schema).check(object, true))
}

/// One field that another manager has set to another value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// Who owns it: `"m1"` or `"m2" using v1`.
    pub manager: String,
    /// The path as printed: `.spec.replicas`.
    pub field: String,
}

/// Why an apply was refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ApplyError {
    /// 400.
    #[error("{0}")]
    BadRequest(String),
    /// 409: others own the fields. The causes have reason `FieldManagerConflict`.
    #[error("{}", conflict_message(.0))]
    Conflicts(Vec<Conflict>),
    /// 500 without a reason: the body does not fit the schema.
    #[error("{0}")]
    Typed(String),
}

fn conflict_message(conflicts: &[Conflict]) -> String {
    if let [one] = conflicts {
        return format!("Apply failed with 1 conflict: conflict with {}: {}", one.manager, one.field);
    }
    let mut lines = Vec::new();
    let mut last = None;
    for conflict in conflicts {
        if last != Some(&conflict.manager) {
            lines.push(format!("conflicts with {}:", conflict.manager));
            last = Some(&conflict.manager);
        }
        lines.push(format!("- {}", conflict.field));
    }
    format!("Apply failed with {} conflicts: {}", conflicts.len(), lines.join("\n"))
}

/// Applies `config` to `live` (`None`: there is no object yet) and returns the new object with its managedFields.
///
/// Defaults are the caller's business, as are names, resourceVersion and everything else around the object.
pub fn apply(
    cx: &Context<'_>,
    live: Option<&Value>,
    config: &Value,
    force: bool,
) -> Result<Value, ApplyError> {
    let given = |name: &str| config.get(name).and_then(Value::as_str).unwrap_or_default();
    if (given("apiVersion"), given("kind")) != (cx.api_version, cx.kind) {
        let (group, version) = given("apiVersion").rsplit_once('/').unwrap_or(("", given("apiVersion")));
        let found = format!("{group}/{version}, Kind={}", given("kind"));
        return Err(ApplyError::BadRequest(format!("invalid object type: {found}")));
    }
    if config.pointer("/metadata/managedFields").is_some_and(|m| m.as_array().is_none_or(|m| !m.is_empty())) {
        return Err(ApplyError::BadRequest("metadata.managedFields must be nil".into()));
    }
    let of = Typed::Object(cx.schema);
    if let Some(text) = type_errors(of.check(config, false)) {
        let name = |field: &str| config["metadata"][field].as_str().unwrap_or_default().to_owned();
        let (group, version) = cx.api_version.rsplit_once('/').unwrap_or(("", cx.api_version));
        return Err(ApplyError::Typed(format!(
            "failed to create typed patch object ({}/{}; {}, Kind={}): {text}",
            name("namespace"),
            name("name"),
            if group.is_empty() { format!("/{version}") } else { format!("{group}/{version}") },
            cx.kind
        )));
    }
    let config = without_managed_fields(config);
    let empty = Value::Object(Map::new());
    let mut managed =
        live.and_then(|live| Managed::read(live.pointer("/metadata/managedFields"))).unwrap_or_default();
    let before = live.map(without_managed_fields).unwrap_or_else(|| empty.clone());
    if live.is_some() && managed.0.is_empty() {
        // Nobody kept book so far: what exists belongs to whoever was here before.
        let unknown =
            Context { manager: "before-first-apply", subresource: "", reset: Reset::Nothing, ..cx.clone() };
        update(&unknown, &nothing(cx), &before, &mut managed);
    }
    let key = Manager {
        name: cx.manager.to_owned(),
        operation: Operation::Apply,
        api_version: String::new(),
        subresource: cx.subresource.to_owned(),
    };
    let last = managed.0.get(&key).cloned();
    let set = strip(cx.reset.apply(of.field_set(&config)));
    let time = last.as_ref().and_then(|last| last.time.clone());
    managed.0.insert(key.clone(), Owned { api_version: cx.api_version.to_owned(), fields: set, time });
    let merged = merge::merge(of, Some(&before), Some(&config)).unwrap_or_else(|| empty.clone());
    let after = match &last {
        Some(last) if !last.fields.is_empty() => prune(of, &merged, &managed, &last.fields),
        _ => merged,
    };
    take_over(of, &before, &after, &mut managed, &key, force)?;
    managed.drop_empty();
    let mut after = after;
    if !cx.custom {
        builtin::texts_for_nulls(cx.schema, &mut after);
        drop_nulls(&mut after);
    }
    if !merge::equal(&before, &after)
        && let Some(owned) = managed.0.get_mut(&key)
    {
        owned.time = Some(cx.now.to_owned());
    }
    managed.cap();
    write_managed(&mut after, &managed);
    Ok(after)
}

/// Books a create, update or other patch: `new` gets its managedFields, from its own, from `live` and from what changed.
pub fn record_update(cx: &Context<'_>, live: Option<&Value>, new: &mut Value) {
    let live_entries = live.and_then(|live| live.pointer("/metadata/managedFields"));
    let sent = new.pointer("/metadata/managedFields").cloned();
    let reset = sent.as_ref().and_then(Value::as_array).is_some_and(|sent| match sent.as_slice() {
        [] => true,
        [only] => only.as_object().is_some_and(Map::is_empty),
        _ => false,
    });
    let from_live = || Managed::read(live_entries).unwrap_or_default();
    let mut managed = if !cx.subresource.is_empty() {
        from_live()
    } else if reset {
        Managed::default()
    } else {
        match Managed::read(sent.as_ref()) {
            Some(sent) if !sent.0.is_empty() => sent,
            _ => from_live(),
        }
    };
    let after = without_managed_fields(new);
    // An object nobody kept book of stays so until its first apply.
    if live.is_none() || !managed.0.is_empty() {
        let before = live.map_or_else(|| nothing(cx), without_managed_fields);
        update(cx, &before, &after, &mut managed);
        managed.cap();
    }
    write_managed(new, &managed);
}

/// Whether two objects differ in nothing but the times in managedFields (and resourceVersion).
pub fn unchanged(a: &Value, b: &Value) -> bool {
    fn bare(value: &Value) -> Value {
        let mut value = value.clone();
        if let Some(Value::Object(meta)) = value.get_mut("metadata") {
            meta.remove("resourceVersion");
            if let Some(Value::Array(entries)) = meta.get_mut("managedFields") {
                for entry in entries.iter_mut().filter_map(Value::as_object_mut) {
                    entry.remove("time");
                }
                entries.sort_by_cached_key(ToString::to_string);
            }
        }
        value
    }
    bare(a) == bare(b)
}

/// What an object is compared with when there was none: of a built-in kind the zero value, in which structs exist.
fn nothing(cx: &Context<'_>) -> Value {
    let mut zero = Value::Object(Map::new());
    if !cx.custom {
        builtin::normalize(&GroupVersionKind::from_api_version(cx.api_version, cx.kind), &mut zero);
    }
    zero
}

fn update(cx: &Context<'_>, before: &Value, after: &Value, managed: &mut Managed) {
    let of = Typed::Object(cx.schema);
    let changes = Comparison::of(of, before, after);
    let taken = cx.reset.apply(changes.set());
    let lost = cx.reset.apply(changes.removed);
    for owned in managed.0.values_mut() {
        let other = cx.others.iter().find(|other| other.api_version == owned.api_version);
        owned.fields = match other {
            None => owned.fields.difference(&taken).difference(&lost),
            Some(other) => {
                let changes = Comparison::of(Typed::Object(other.schema), other.before, other.after);
                let (taken, lost) = (cx.reset.apply(changes.set()), cx.reset.apply(changes.removed));
                owned.fields.difference(&taken).difference(&lost)
            }
        };
    }
    let mine = strip(taken);
    if !mine.is_empty() {
        let key = Manager {
            name: cx.manager.to_owned(),
            operation: Operation::Update,
            api_version: cx.api_version.to_owned(),
            subresource: cx.subresource.to_owned(),
        };
        let owned = managed.0.entry(key).or_default();
        owned.api_version = cx.api_version.to_owned();
        owned.fields = owned.fields.union(&mine);
        owned.time = Some(cx.now.to_owned());
    }
    managed.drop_empty();
}

/// Takes changed fields from the other managers, or says whose they are.
fn take_over(
    of: Typed<'_>,
    before: &Value,
    after: &Value,
    managed: &mut Managed,
    key: &Manager,
    force: bool,
) -> Result<(), ApplyError> {
    let changes = Comparison::of(of, before, after);
    let changed = changes.set();
    let mut conflicts = Vec::new();
    for (manager, owned) in managed.0.iter_mut().filter(|(manager, _)| *manager != key) {
        let disputed = owned.fields.intersection(&changed);
        for path in disputed.paths() {
            conflicts.push(Conflict { manager: manager.to_string(), field: set::show(&path) });
        }
        owned.fields = owned.fields.difference(&disputed).difference(&changes.removed);
    }
    if conflicts.is_empty() || force { Ok(()) } else { Err(ApplyError::Conflicts(conflicts)) }
}

/// Removes what the manager applied before and does not apply now, unless somebody owns it.
fn prune(of: Typed<'_>, merged: &Value, managed: &Managed, last: &FieldSet) -> Value {
    let last = of.with_named_fields(last);
    let all = of.with_named_fields(&of.field_set(merged));
    let without = merge::remove(of, merged, &last);
    // Back comes what anybody (this apply included) owns …
    let owned = managed.0.values().fold(FieldSet::default(), |set, owned| set.union(&owned.fields));
    let kept = of.with_named_fields(&of.field_set(&without)).union(&of.with_named_fields(&owned));
    let with_owned = merge::remove(of, merged, &all.difference(&kept));
    // … and what lies inside removed items but was never the manager's own.
    let kept = of.with_named_fields(&of.field_set(&with_owned));
    merge::remove(of, merged, &all.difference(&kept).intersection(&last))
}

/// Without the fields that every write sets and nobody owns.
fn strip(set: FieldSet) -> FieldSet {
    const META: [&str; 8] = [
        "name",
        "namespace",
        "creationTimestamp",
        "selfLink",
        "uid",
        "clusterName",
        "generation",
        "resourceVersion",
    ];
    let mut stripped =
        FieldSet::of([["apiVersion"].as_slice(), &["kind"], &["metadata"], &["metadata", "managedFields"]]);
    for name in META {
        stripped = stripped.union(&FieldSet::of([["metadata", name].as_slice()]));
    }
    set.difference(&stripped)
}

fn type_errors(errors: Vec<String>) -> Option<String> {
    match errors.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        many => Some(format!("errors:\n  {}", many.join("\n  "))),
    }
}

/// A copy without its book.
pub fn without_managed_fields(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(Value::Object(meta)) = object.get_mut("metadata") {
        meta.remove("managedFields");
    }
    object
}

fn write_managed(object: &mut Value, managed: &Managed) {
    let Value::Object(fields) = object else { return };
    let meta = fields.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(meta) = meta {
        match managed.write() {
            Some(entries) => meta.insert("managedFields".into(), entries),
            None => meta.remove("managedFields"),
        };
    }
}

fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(elements) => elements.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
