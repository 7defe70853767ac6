//! `metadata.managedFields`: read, kept in order, capped and written.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::set::FieldSet;

/// At most this many Update entries; the oldest are folded into one.
const MAX_UPDATE_ENTRIES: usize = 10;
const ANCIENT: &str = "ancient-changes";

/// Who owns fields: the key of an entry.
///
/// Its order is that of the server's encoded keys, by which conflicts are listed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Manager {
    /// The name.
    pub name: String,
    /// Whether by apply or by any other write.
    pub operation: Operation,
    /// The version written in; empty for Apply, which has one entry whatever the version.
    pub api_version: String,
    /// The subresource written to, or empty.
    pub subresource: String,
}

/// How fields came to be owned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// By server-side apply.
    Apply,
    /// By create, update or another patch.
    Update,
}

/// As conflicts name a manager.
impl std::fmt::Display for Manager {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", crate::status::go_quote(&self.name))?;
        if !self.subresource.is_empty() {
            write!(f, " with subresource {}", crate::status::go_quote(&self.subresource))?;
        }
        if self.operation == Operation::Update {
            write!(f, " using {}", self.api_version)?;
        }
        Ok(())
    }
}

/// What one manager owns.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Owned {
    pub(super) api_version: String,
    pub(super) fields: FieldSet,
    pub(super) time: Option<String>,
}

/// All entries of an object.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Managed(pub(super) BTreeMap<Manager, Owned>);

impl Managed {
    /// Reads an object's entries; `None` when any cannot be read.
    pub(super) fn read(entries: Option<&Value>) -> Option<Managed> {
        let mut out = BTreeMap::new();
        for entry in entries.and_then(Value::as_array).into_iter().flatten() {
            let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
            let operation = match text("operation").as_str() {
                "Apply" => Operation::Apply,
                "Update" => Operation::Update,
                _ => return None,
            };
            let api_version = text("apiVersion");
            let manager = Manager {
                name: text("manager"),
                operation,
                api_version: if operation == Operation::Apply { String::new() } else { api_version.clone() },
                subresource: text("subresource"),
            };
            let fields = match entry.get("fieldsV1") {
                Some(fields) => FieldSet::from_fields_v1(fields)?,
                None => FieldSet::default(),
            };
            let time = entry.get("time").and_then(Value::as_str).map(str::to_owned);
            out.insert(manager, Owned { api_version, fields, time });
        }
        Some(Managed(out))
    }

    pub(super) fn drop_empty(&mut self) {
        self.0.retain(|_, owned| !owned.fields.is_empty());
    }

    /// Folds the oldest Update entries when there are too many.
    pub(super) fn cap(&mut self) {
        let mut updates: Vec<(Option<String>, Manager)> = self
            .0
            .iter()
            .filter(|(manager, _)| manager.operation == Operation::Update)
            .map(|(manager, owned)| (owned.time.clone(), manager.clone()))
            .collect();
        if updates.len() <= MAX_UPDATE_ENTRIES {
            return;
        }
        updates.sort();
        let surplus = updates.len() - MAX_UPDATE_ENTRIES;
        let mut folded = 0;
        for (time, manager) in updates {
            if folded > surplus {
                break;
            }
            if manager.name == ANCIENT {
                continue;
            }
            let Some(owned) = self.0.remove(&manager) else { continue };
            let bucket = Manager {
                name: ANCIENT.into(),
                operation: Operation::Update,
                api_version: manager.api_version,
                subresource: String::new(),
            };
            let entry = self
                .0
                .entry(bucket)
                .or_insert_with(|| Owned { api_version: owned.api_version.clone(), ..Owned::default() });
            entry.fields = entry.fields.union(&owned.fields);
            entry.time = entry.time.take().max(time);
            folded += 1;
        }
    }

    /// The entries as they stand in an object; `None` when there are none.
    pub(super) fn write(&self) -> Option<Value> {
        let mut entries: Vec<(&Manager, &Owned)> = self.0.iter().collect();
        entries.sort_by(|(a, x), (b, y)| {
            let seconds = |time: &Option<String>| time.as_ref().map(|t| t.get(..19).unwrap_or(t).to_owned());
            (a.operation, seconds(&x.time), &a.name, &x.api_version, &a.subresource).cmp(&(
                b.operation,
                seconds(&y.time),
                &b.name,
                &y.api_version,
                &b.subresource,
            ))
        });
        let entries: Vec<Value> = entries.into_iter().map(|(manager, owned)| entry(manager, owned)).collect();
        (!entries.is_empty()).then_some(Value::Array(entries))
    }
}

fn entry(manager: &Manager, owned: &Owned) -> Value {
    let operation = match manager.operation {
        Operation::Apply => "Apply",
        Operation::Update => "Update",
    };
    let mut out = Map::new();
    out.insert("manager".into(), json!(manager.name));
    out.insert("operation".into(), json!(operation));
    out.insert("apiVersion".into(), json!(owned.api_version));
    if let Some(time) = &owned.time {
        out.insert("time".into(), json!(time));
    }
    out.insert("fieldsType".into(), json!("FieldsV1"));
    out.insert("fieldsV1".into(), owned.fields.to_fields_v1());
    if !manager.subresource.is_empty() {
        out.insert("subresource".into(), json!(manager.subresource));
    }
    Value::Object(out)
}
