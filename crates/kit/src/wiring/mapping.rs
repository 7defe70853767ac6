//! Which keys a watched object concerns, by name.

use crate::hub::Hubs;
use crate::key::{Key, ObjectKey};
use crate::kind::Kind;
use std::borrow::Cow;
use std::sync::Arc;

type Map<K, Q> = Arc<dyn Fn(&K, &Hubs) -> Vec<Q> + Send + Sync>;

/// A named function from an object to the keys it concerns. On an update it is asked for the old state and the new, so
/// that what is no longer concerned hears of it too. It reads caches only: it runs on the watch's own task.
pub struct Mapping<K, Q> {
    name: Cow<'static, str>,
    map: Map<K, Q>,
}

impl<K, Q> Clone for Mapping<K, Q> {
    fn clone(&self) -> Self {
        Mapping { name: self.name.clone(), map: self.map.clone() }
    }
}

impl<K, Q> std::fmt::Debug for Mapping<K, Q> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Mapping({})", self.name)
    }
}

impl<K: Kind, Q: Key> Mapping<K, Q> {
    /// A function with the name that the dataflow page shows.
    pub fn new(
        name: impl Into<Cow<'static, str>>,
        map: impl Fn(&K, &Hubs) -> Vec<Q> + Send + Sync + 'static,
    ) -> Self {
        Mapping { name: name.into(), map: Arc::new(map) }
    }

    /// Every object concerns the one key.
    pub fn always(key: Q) -> Self {
        Mapping::new(key.to_string(), move |_, _| vec![key.clone()])
    }

    /// The object's own key.
    #[must_use]
    pub fn itself() -> Self
    where
        Q: From<ObjectKey>,
    {
        Mapping::new("itself", |object, _| vec![ObjectKey::of(object).into()])
    }

    /// The object that controls this one, if it is of kind `O`.
    #[must_use]
    pub fn controller_of<O: Kind>() -> Self
    where
        Q: From<ObjectKey>,
    {
        let owner = O::gvk();
        Mapping::new(format!("the {} that controls it", owner.kind), move |object: &K, _| {
            let references = object.meta().owner_references.iter().flatten();
            references
                .filter(|reference| reference.controller == Some(true) && owner.is_referred_by(reference))
                .map(|reference| {
                    let namespace = object.meta().namespace.clone().filter(|_| O::is_namespaced());
                    ObjectKey { namespace, name: reference.name.clone() }.into()
                })
                .collect()
        })
    }

    /// Every cached object of kind `O`.
    #[must_use]
    pub fn every<O: Kind>() -> Self
    where
        Q: From<ObjectKey>,
    {
        Mapping::new(format!("every {}", O::kind(&())), |_, hubs| {
            hubs.all::<O>().iter().map(|object| ObjectKey::of(&**object).into()).collect()
        })
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The keys this object concerns.
    #[must_use]
    pub fn keys(&self, object: &K, hubs: &Hubs) -> Vec<Q> {
        (self.map)(object, hubs)
    }
}
