//! Which changes of a watched object matter, by name.

use crate::hub::Change;
use kube::{Resource, ResourceExt};
use std::borrow::Cow;
use std::sync::Arc;

type Test<K> = Arc<dyn Fn(&Change<K>) -> bool + Send + Sync>;

/// A named test of a change. What it refuses is not reconciled; whether the object is kept in the cache is decided by
/// the mapping alone.
pub struct Predicate<K> {
    name: Cow<'static, str>,
    test: Option<Test<K>>,
}

impl<K> Clone for Predicate<K> {
    fn clone(&self) -> Self {
        Predicate { name: self.name.clone(), test: self.test.clone() }
    }
}

impl<K> Default for Predicate<K> {
    fn default() -> Self {
        Predicate { name: Cow::Borrowed(""), test: None }
    }
}

impl<K> std::fmt::Debug for Predicate<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Predicate({})", self.name)
    }
}

impl<K> Predicate<K> {
    /// A test with the name that the dataflow page shows.
    pub fn new(
        name: impl Into<Cow<'static, str>>,
        test: impl Fn(&Change<K>) -> bool + Send + Sync + 'static,
    ) -> Self {
        Predicate { name: name.into(), test: Some(Arc::new(test)) }
    }

    /// Only deletions.
    #[must_use]
    pub fn deleted() -> Self {
        Predicate::new("deleted", |change| change.gone)
    }

    /// The name, empty if every change matters.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// True if the change matters.
    #[must_use]
    pub fn test(&self, change: &Change<K>) -> bool {
        self.test.as_ref().is_none_or(|test| test(change))
    }
}

impl<K: Resource + 'static> Predicate<K> {
    /// Objects of this name, in whatever namespace is watched.
    pub fn named(name: impl Into<String>) -> Self {
        let name = name.into();
        Predicate::new(format!("named {name}"), move |change: &Change<K>| {
            change.object.meta().name.as_deref() == Some(&name)
        })
    }

    /// Creation, deletion, a changed specification, and the wish to delete: not status, labels or annotations.
    #[must_use]
    pub fn generation() -> Self {
        Predicate::new("generation changed or deleting", |change: &Change<K>| {
            let Some(before) = change.before.as_ref().filter(|_| !change.gone) else { return true };
            let (old, new) = (before.meta(), change.object.meta());
            old.uid != new.uid
                || old.generation != new.generation
                || (old.deletion_timestamp.is_none() && new.deletion_timestamp.is_some())
        })
    }

    /// Objects that carry this label with this value, before or after the change: losing the label matters too.
    pub fn labelled(label: impl Into<String>, value: impl Into<String>) -> Self {
        let (label, value) = (label.into(), value.into());
        Predicate::new(format!("label {label}={value}"), move |change: &Change<K>| {
            change.states().any(|object| object.labels().get(&label) == Some(&value))
        })
    }

    /// Both.
    #[must_use]
    pub fn and(self, other: Predicate<K>) -> Self {
        Predicate::new(format!("{} and {}", self.name, other.name), move |change| {
            self.test(change) && other.test(change)
        })
    }

    /// One of them, or both.
    #[must_use]
    pub fn or(self, other: Predicate<K>) -> Self {
        Predicate::new(format!("{} or {}", self.name, other.name), move |change| {
            self.test(change) || other.test(change)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::ConfigMap;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
    use k8s_openapi::jiff::Timestamp;

    fn object(edit: impl FnOnce(&mut ObjectMeta)) -> Arc<ConfigMap> {
        let mut map = ConfigMap::default();
        map.metadata.name = Some("a".into());
        map.metadata.generation = Some(1);
        edit(&mut map.metadata);
        Arc::new(map)
    }

    fn update(before: Arc<ConfigMap>, object: Arc<ConfigMap>) -> Change<ConfigMap> {
        Change { object, before: Some(before), gone: false }
    }

    #[test]
    fn generation_passes_what_a_user_changed_and_nothing_else() {
        let only = Predicate::<ConfigMap>::generation();
        let (first, second) = (object(|_| ()), object(|m| m.generation = Some(2)));
        let labelled = object(|m| m.labels = Some([("a".into(), "b".into())].into()));
        let deleting = object(|m| m.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH)));
        assert!(only.test(&Change { object: first.clone(), before: None, gone: false }), "created");
        assert!(only.test(&update(first.clone(), second)));
        assert!(only.test(&update(first.clone(), deleting.clone())));
        assert!(!only.test(&update(deleting.clone(), deleting)));
        assert!(!only.test(&update(first.clone(), labelled)));
        assert!(only.test(&Change { object: first.clone(), before: Some(first.clone()), gone: true }));
        assert!(only.test(&update(first, object(|m| m.uid = Some("new".into())))), "a namesake");
    }

    #[test]
    fn losing_a_label_matters() {
        let only = Predicate::<ConfigMap>::labelled("use", "yes");
        let with = object(|m| m.labels = Some([("use".into(), "yes".into())].into()));
        assert!(only.test(&update(with, object(|_| ()))));
        assert!(!only.test(&update(object(|_| ()), object(|_| ()))));
    }

    #[test]
    fn combinations_are_named_after_their_parts() {
        let both = Predicate::<ConfigMap>::named("a").and(Predicate::deleted());
        assert_eq!(both.name(), "named a and deleted");
        assert!(!both.test(&Change { object: object(|_| ()), before: None, gone: false }));
        let either = Predicate::<ConfigMap>::named("b").or(Predicate::deleted());
        assert!(either.test(&Change { object: object(|_| ()), before: None, gone: true }));
    }
}
