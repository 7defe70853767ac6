//! What is known of the cluster: external models, provider credentials, base models. Filled by the watches, read by the
//! plugins.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use parking_lot::RwLock;

/// Namespace and name.
pub type Key = (String, String);

/// An ExternalModel, as far as request processing needs it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Model {
    /// `spec.provider`
    pub provider: String,
    /// `spec.targetModel`
    pub target_model: String,
    /// `spec.endpoint`
    pub endpoint: String,
    /// `spec.credentialRef.name`
    pub credential: String,
    /// `metadata.creationTimestamp` in seconds: the gateway prefers the oldest of equal routes.
    pub created: i64,
}

/// The data of one labelled Secret. Prints its field names only.
#[derive(Clone, PartialEq, Eq)]
pub struct Credential(BTreeMap<String, String>);

impl Credential {
    /// Checks that there is data and no value is empty; surrounding white space, which a header could not carry, goes.
    pub fn new(key: &Key, data: impl IntoIterator<Item = (String, String)>) -> Result<Credential, String> {
        let fields: BTreeMap<_, _> = data.into_iter().map(|(k, v)| (k, v.trim().to_owned())).collect();
        let (namespace, name) = key;
        if fields.is_empty() {
            return Err(format!("secret '{namespace}/{name}' has no data fields"));
        }
        if let Some((field, _)) = fields.iter().find(|(_, value)| value.is_empty()) {
            return Err(format!("secret '{namespace}/{name}' has empty field '{field}'"));
        }
        Ok(Credential(fields))
    }

    /// One field's value.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Credential").field(&self.0.keys().collect::<Vec<_>>()).finish()
    }
}

/// A base model and its adapters, from one ConfigMap.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BaseModel {
    /// `data.baseModel`
    pub base: String,
    /// `data.adapters`
    pub adapters: Vec<String>,
}

/// One kind of thing, by namespace and name.
#[derive(Debug)]
pub struct Store<T>(RwLock<HashMap<Key, Arc<T>>>);

impl<T> Default for Store<T> {
    fn default() -> Self {
        Store(RwLock::default())
    }
}

impl<T> Store<T> {
    /// The entry of that name.
    pub fn get(&self, namespace: &str, name: &str) -> Option<Arc<T>> {
        self.0.read().get(&(namespace.to_owned(), name.to_owned())).cloned()
    }

    /// Adds or replaces an entry.
    pub fn insert(&self, key: Key, value: T) {
        self.0.write().insert(key, Arc::new(value));
    }

    /// Forgets an entry.
    pub fn remove(&self, key: &Key) {
        self.0.write().remove(key);
    }

    /// Replaces everything, after a fresh list.
    pub fn replace(&self, all: HashMap<Key, Arc<T>>) {
        *self.0.write() = all;
    }

    /// True if `test` holds for some entry.
    pub fn any(&self, mut test: impl FnMut(&Key, &T) -> bool) -> bool {
        self.0.read().iter().any(|(key, value)| test(key, value))
    }

    /// What `find` makes of the first entry it likes, in no particular order.
    pub fn find_map<R>(&self, find: impl FnMut(&T) -> Option<R>) -> Option<R> {
        self.0.read().values().map(AsRef::as_ref).find_map(find)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.read().len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// All stores of the process.
#[derive(Debug, Default)]
pub struct Stores {
    /// ExternalModels.
    pub models: Store<Model>,
    /// Labelled Secrets.
    pub credentials: Store<Credential>,
    /// Base models, for `base-model-to-header`.
    pub base_models: Store<BaseModel>,
}

impl Stores {
    /// True if some ExternalModel sends `model` to its provider: a header with that name would route there.
    pub fn is_target(&self, model: &str) -> bool {
        self.models.any(|_, known| known.target_model == model)
    }

    /// True if a request that names `model` would be routed to another endpoint than that of `chosen`.
    ///
    /// After the path was rewritten only the model's name routes, and the gateway takes the oldest route that carries it.
    pub fn routes_elsewhere(&self, namespace: &str, name: &str, chosen: &Model) -> bool {
        let mine = (chosen.created, namespace, name);
        self.models.any(|(ns, n), other| {
            other.target_model == chosen.target_model
                && !other.endpoint.eq_ignore_ascii_case(&chosen.endpoint)
                && (other.created, ns.as_str(), n.as_str()) < mine
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Key {
        ("llm".into(), name.into())
    }

    #[test]
    fn credentials_are_trimmed_checked_and_never_printed() {
        let of = |fields: &[(&str, &str)]| {
            Credential::new(&key("k"), fields.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())))
        };
        let good = of(&[("api-key", "sk-1\n")]).unwrap();
        assert_eq!(good.field("api-key"), Some("sk-1"));
        assert_eq!(format!("{good:?}"), r#"Credential(["api-key"])"#);
        assert_eq!(of(&[]).unwrap_err(), "secret 'llm/k' has no data fields");
        assert_eq!(of(&[("a", "x"), ("b", " ")]).unwrap_err(), "secret 'llm/k' has empty field 'b'");
    }

    #[test]
    fn only_the_oldest_of_several_endpoints_gets_its_requests() {
        let stores = Stores::default();
        let model = |endpoint: &str, created| Model {
            target_model: "m".into(),
            endpoint: endpoint.into(),
            created,
            ..Model::default()
        };
        stores.models.insert(key("old"), model("a.example", 1));
        stores.models.insert(key("same"), model("A.example", 2));
        stores.models.insert(key("new"), model("b.example", 3));
        let elsewhere =
            |name: &str| stores.routes_elsewhere("llm", name, &stores.models.get("llm", name).unwrap());
        assert_eq!([elsewhere("old"), elsewhere("same"), elsewhere("new")], [false, false, true]);
    }
}
