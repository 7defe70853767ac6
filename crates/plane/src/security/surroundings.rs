//! What admission sees of the plane.

use std::collections::HashMap;
use std::sync::Arc;

use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::Value;

use super::authorization::{LivePolicy, decided};
use crate::admission::{Phase, Surroundings};
use crate::conversion::Converter;
use crate::hooks::{Attributes, Convert, Decision, User};
use crate::resource::{GroupVersionKind, Registry};
use crate::status::Result;
use crate::store::{Object, Store, TableId, key};

const GROUP: &str = "admissionregistration.k8s.io";

/// An object, and the revision it was parsed at.
type Parsed = (u64, Arc<Value>);

/// The store, with the few objects that every write asks for kept parsed.
pub(super) struct StoreView {
    store: Arc<Store>,
    registry: Arc<Registry>,
    converter: Arc<Converter>,
    /// None where everybody may do everything.
    policy: Option<Arc<LivePolicy>>,
    parsed: Mutex<HashMap<(TableId, String), Parsed>>,
}

impl StoreView {
    pub(super) fn new(
        store: Arc<Store>,
        registry: Arc<Registry>,
        converter: Arc<Converter>,
        policy: Option<Arc<LivePolicy>>,
    ) -> Self {
        Self { store, registry, converter, policy, parsed: Mutex::default() }
    }

    /// All objects of an admission kind, by name.
    fn list(&self, resource: &str) -> Vec<Arc<Value>> {
        let table = TableId::new(GROUP, resource);
        self.stored(&table).iter().map(|object| self.parse(&table, object)).collect()
    }

    fn stored(&self, table: &TableId) -> Vec<Arc<Object>> {
        if self.store.count(table) == 0 {
            return vec![];
        }
        self.store.all(table, "")
    }

    fn parse(&self, table: &TableId, object: &Object) -> Arc<Value> {
        let mut parsed = self.parsed.lock();
        let place = (table.clone(), object.key());
        match parsed.get(&place) {
            Some((revision, value)) if *revision == object.revision => value.clone(),
            _ => {
                let value = Arc::new(object.to_value());
                parsed.insert(place, (object.revision, value.clone()));
                value
            }
        }
    }
}

impl Surroundings for StoreView {
    fn configurations(&self, phase: Phase) -> Vec<Arc<Value>> {
        self.list(match phase {
            Phase::Mutating => "mutatingwebhookconfigurations",
            Phase::Validating => "validatingwebhookconfigurations",
        })
    }

    fn policies(&self) -> (Vec<Arc<Value>>, Vec<Arc<Value>>) {
        (self.list("validatingadmissionpolicies"), self.list("validatingadmissionpolicybindings"))
    }

    fn namespace(&self, name: &str) -> Option<Arc<Value>> {
        let table = TableId::new("", "namespaces");
        let object = self.store.get(&table, &key("", name))?;
        Some(self.parse(&table, &object))
    }

    fn served_versions(&self, group: &str, resource: &str) -> Vec<String> {
        let catalog = self.registry.catalog();
        let versions = catalog.group(group).map(|group| group.versions.as_slice()).unwrap_or_default();
        let serves = |(version, resources): &(Arc<str>, Vec<Arc<crate::resource::Resource>>)| {
            resources.iter().any(|r| r.names.plural.as_ref() == resource).then(|| version.to_string())
        };
        versions.iter().filter_map(serves).collect()
    }

    fn convert<'a>(&'a self, object: &'a Value, to: &'a GroupVersionKind) -> BoxFuture<'a, Result<Value>> {
        Box::pin(async move {
            let resource = self.registry.catalog().kind(to).cloned();
            let custom = resource.as_ref().and_then(|resource| resource.custom.as_ref());
            let conversion = custom.map_or(Value::Null, |custom| custom.conversion.clone());
            let conversion = if conversion.is_null() { serde_json::json!({}) } else { conversion };
            let mut converted = self.converter.convert(&conversion, to, vec![object.clone()]).await?;
            Ok(converted.pop().unwrap_or_default())
        })
    }

    fn complete(&self, kind: &GroupVersionKind, object: Value) -> Result<Value, String> {
        match self.registry.catalog().kind(kind) {
            Some(resource) => crate::write::decoded(resource, object),
            None => Ok(object),
        }
    }

    fn authorize(&self, user: &User, attributes: &Attributes) -> Decision {
        match &self.policy {
            Some(policy) => policy.ask(|policy| decided(policy, user, attributes)),
            None => Decision::Allow(String::new()),
        }
    }

    fn objects(&self, kind: &GroupVersionKind) -> Option<(bool, Vec<Arc<Value>>)> {
        let resource = self.registry.catalog().kind(kind)?.clone();
        let objects = self.stored(&resource.table);
        Some((resource.namespaced(), objects.iter().map(|object| Arc::new(object.to_value())).collect()))
    }
}
