//! One stored object: its serialised body, and the few facts that selectors and the garbage collector ask for.
//!
//! The body has no `kind` and `apiVersion` (they depend on the version asked for and are written in front on the way
//! out) and begins with `{"metadata":{"resourceVersion":"N"`, so that giving it another version, cutting out its
//! metadata or framing it for a watch never parses JSON.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Map, Value};

const HEAD: &[u8] = b"{\"metadata\":{\"resourceVersion\":\"";

/// An immutable stored object.
#[derive(Debug)]
pub struct Object {
    /// The global revision that wrote it; its `metadata.resourceVersion`.
    pub revision: u64,
    /// What selectors and collectors look at.
    pub facts: Arc<Facts>,
    /// The API version whose schema the body follows.
    pub stored_version: Arc<str>,
    body: Bytes,
    metadata_end: usize,
}

/// What is known of an object without parsing it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Namespace, empty at cluster scope.
    pub namespace: Box<str>,
    /// Name.
    pub name: Box<str>,
    /// Uid.
    pub uid: Box<str>,
    /// Labels, sorted by key.
    pub labels: Box<[(Box<str>, Box<str>)]>,
    /// Values of the kind's selectable fields.
    pub fields: Box<[(Box<str>, Box<str>)]>,
    /// Owner references.
    pub owners: Box<[Owner]>,
    /// Finalizers.
    pub finalizers: Box<[Box<str>]>,
    /// Whether deletion has begun.
    pub deleting: bool,
}

/// One owner reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// `apiVersion` of the owner.
    pub api_version: Box<str>,
    /// Kind of the owner.
    pub kind: Box<str>,
    /// Name of the owner.
    pub name: Box<str>,
    /// Uid of the owner.
    pub uid: Box<str>,
    /// Whether a foreground deletion of the owner waits for this object.
    pub blocks: bool,
}

/// An object serialised but for its revision, which only the commit knows.
#[derive(Debug)]
pub struct Draft {
    pub(super) facts: Arc<Facts>,
    stored_version: Arc<str>,
    /// The rest of `metadata` and the closing brace.
    metadata: Vec<u8>,
    /// The rest of the object.
    rest: Vec<u8>,
}

impl Draft {
    /// Serialises `value` (with or without `apiVersion` and `kind`); `fields` are its selectable fields.
    pub fn new(value: &Value, stored_version: Arc<str>, fields: Vec<(Box<str>, Box<str>)>) -> Self {
        let empty = Map::new();
        let object = value.as_object().unwrap_or(&empty);
        let metadata = object.get("metadata").and_then(Value::as_object).unwrap_or(&empty);
        let mut meta = Vec::with_capacity(256);
        members(&mut meta, metadata, &["resourceVersion"]);
        meta.push(b'}');
        let mut rest = Vec::with_capacity(512);
        members(&mut rest, object, &["metadata", "kind", "apiVersion"]);
        rest.push(b'}');
        let facts = Arc::new(Facts::new(metadata, fields));
        Self { facts, stored_version, metadata: meta, rest }
    }

    /// The key it will be stored under.
    pub fn key(&self) -> String {
        key(&self.facts.namespace, &self.facts.name)
    }

    /// The object as of `revision`.
    pub fn seal(&self, revision: u64) -> Object {
        let mut body = Vec::with_capacity(HEAD.len() + 20 + self.metadata.len() + self.rest.len());
        body.extend_from_slice(HEAD);
        body.extend_from_slice(revision.to_string().as_bytes());
        body.push(b'"');
        body.extend_from_slice(&self.metadata);
        let metadata_end = body.len();
        body.extend_from_slice(&self.rest);
        Object {
            revision,
            facts: self.facts.clone(),
            stored_version: self.stored_version.clone(),
            body: body.into(),
            metadata_end,
        }
    }
}

/// `,"k":v` for every member not skipped.
fn members(out: &mut Vec<u8>, map: &Map<String, Value>, skip: &[&str]) {
    for (name, value) in map {
        if skip.contains(&name.as_str()) {
            continue;
        }
        out.push(b',');
        // Writing to a Vec cannot fail, and every key and value is already valid JSON.
        let _ = serde_json::to_writer(&mut *out, name);
        out.push(b':');
        let _ = serde_json::to_writer(&mut *out, value);
    }
}

impl Object {
    /// The key it is stored under.
    pub fn key(&self) -> String {
        key(&self.facts.namespace, &self.facts.name)
    }

    /// The body, `{"metadata":{…},…}`.
    pub fn body(&self) -> &Bytes {
        &self.body
    }

    /// The metadata alone, `{"resourceVersion":…}`.
    pub fn metadata(&self) -> &[u8] {
        &self.body[b"{\"metadata\":".len()..self.metadata_end]
    }

    /// The same content under another revision.
    pub fn at_revision(&self, revision: u64) -> Object {
        let digits = digits(self.revision);
        let mut body = Vec::with_capacity(self.body.len() + 4);
        body.extend_from_slice(HEAD);
        body.extend_from_slice(revision.to_string().as_bytes());
        body.extend_from_slice(&self.body[HEAD.len() + digits..]);
        let metadata_end = self.metadata_end + body.len() - self.body.len();
        Object {
            revision,
            facts: self.facts.clone(),
            stored_version: self.stored_version.clone(),
            body: body.into(),
            metadata_end,
        }
    }

    /// The body as a value, without `apiVersion` and `kind`.
    pub fn to_value(&self) -> Value {
        // We wrote these bytes; they parse.
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }

    /// Roughly what it occupies in memory.
    pub fn size(&self) -> usize {
        let pairs =
            |pairs: &[(Box<str>, Box<str>)]| pairs.iter().map(|(k, v)| k.len() + v.len() + 32).sum::<usize>();
        self.body.len() + pairs(&self.facts.labels) + pairs(&self.facts.fields) + 256
    }
}

fn digits(n: u64) -> usize {
    n.checked_ilog10().unwrap_or(0) as usize + 1
}

/// `namespace/name`, or `name` at cluster scope: the order of keys is the order of lists.
pub fn key(namespace: &str, name: &str) -> String {
    if namespace.is_empty() { name.to_string() } else { format!("{namespace}/{name}") }
}

impl Facts {
    fn new(metadata: &Map<String, Value>, fields: Vec<(Box<str>, Box<str>)>) -> Self {
        let text = |name: &str| metadata.get(name).and_then(Value::as_str).unwrap_or_default().into();
        let labels = metadata
            .get("labels")
            .and_then(Value::as_object)
            .map(|m| {
                m.iter().map(|(k, v)| (k.as_str().into(), v.as_str().unwrap_or_default().into())).collect()
            })
            .unwrap_or_default();
        let finalizers = metadata
            .get("finalizers")
            .and_then(Value::as_array)
            .map(|all| all.iter().filter_map(Value::as_str).map(Into::into).collect())
            .unwrap_or_default();
        let owners = metadata
            .get("ownerReferences")
            .and_then(Value::as_array)
            .map(|all| all.iter().map(Owner::new).collect())
            .unwrap_or_default();
        Self {
            namespace: text("namespace"),
            name: text("name"),
            uid: text("uid"),
            labels,
            fields: fields.into(),
            owners,
            finalizers,
            deleting: metadata.get("deletionTimestamp").is_some_and(|t| !t.is_null()),
        }
    }

    /// The value of a label.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.labels.binary_search_by(|(k, _)| k.as_ref().cmp(key)).ok().map(|i| self.labels[i].1.as_ref())
    }

    /// Whether this finalizer is set.
    pub fn has_finalizer(&self, name: &str) -> bool {
        self.finalizers.iter().any(|f| f.as_ref() == name)
    }
}

impl Owner {
    fn new(reference: &Value) -> Self {
        let text = |name: &str| reference[name].as_str().unwrap_or_default().into();
        Self {
            api_version: text("apiVersion"),
            kind: text("kind"),
            name: text("name"),
            uid: text("uid"),
            blocks: reference["blockOwnerDeletion"].as_bool().unwrap_or(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn draft(value: &Value) -> Draft {
        Draft::new(value, "v1".into(), vec![])
    }

    #[test]
    fn the_body_begins_with_its_version_and_keeps_everything_else() {
        let value = json!({"kind": "ConfigMap", "apiVersion": "v1", "data": {"a": "b"},
            "metadata": {"name": "x", "namespace": "n", "labels": {"l": "1"}, "resourceVersion": "3"}});
        let object = draft(&value).seal(17);
        assert!(object.body().starts_with(b"{\"metadata\":{\"resourceVersion\":\"17\","));
        let back = object.to_value();
        assert_eq!(back["metadata"]["resourceVersion"], "17");
        assert_eq!(back["data"], json!({"a": "b"}));
        assert_eq!(back.get("kind"), None);
        assert_eq!(object.facts.label("l"), Some("1"));
        assert_eq!(object.key(), "n/x");
    }

    #[test]
    fn another_revision_changes_nothing_but_the_version() {
        let object = draft(&json!({"metadata": {"name": "x"}, "spec": 1})).seal(9);
        let later = object.at_revision(1000);
        assert_eq!(
            later.to_value(),
            json!({"metadata": {"name": "x", "resourceVersion": "1000"}, "spec": 1})
        );
        let meta: Value = serde_json::from_slice(later.metadata()).unwrap();
        assert_eq!(meta, json!({"name": "x", "resourceVersion": "1000"}));
    }

    #[test]
    fn an_object_without_anything_is_still_json() {
        assert_eq!(draft(&json!({})).seal(1).to_value(), json!({"metadata": {"resourceVersion": "1"}}));
    }
}
