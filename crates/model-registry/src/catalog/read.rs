//! What the catalog depends on, gathered into plain data.

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, PersistentVolumeClaim, Secret, Service, ServiceAccount},
    networking::v1::NetworkPolicy,
    rbac::v1::{ClusterRoleBinding, RoleBinding},
};
use kube::ResourceExt;
use quintet_api::foreign::{
    openshift::{Ingress, Route},
    platform::{Auth, ModelRegistryComponent},
};
use quintet_kit::{Hubs, Kind, Meta, Note, ObjectKey, parts::meta};

use super::{
    desired::{Inputs, OLD_COOKIE, OLD_SOURCES},
    names::{ADMIN_BINDING, AUTH_DELEGATOR, DATABASE, NAME, PROXY_CONFIG, ROUTE, ROUTE_POLICY},
    user_sources::{self, KEY},
    wiring::sources,
};
use crate::{Apis, Config, apis::domain, existing::Existing, parts::password};

/// What the name of a labelled ConfigMap may be long: it becomes part of a volume's name.
const LONGEST: usize = 55;

/// What was read, and what is to be said of it.
pub(super) struct Found {
    pub(super) inputs: Inputs,
    /// ConfigMaps that cannot be used, and why.
    pub(super) unusable: Vec<(Arc<ConfigMap>, Note)>,
}

/// Reads from the caches. What they cannot vouch for is asked for once.
pub(super) struct Reader<'a> {
    pub(super) hubs: &'a Hubs,
    pub(super) config: &'a Config,
    pub(super) namespace: &'a str,
}

impl Reader<'_> {
    /// What the desired state depends on. `users` are the ConfigMaps of users that are still to be looked through.
    pub(super) async fn read(&self, users: &[&str]) -> kube::Result<Found> {
        let ingress = self.hubs.get::<Ingress>(&ObjectKey::cluster("cluster"));
        let component = ObjectKey::cluster("default-modelregistry");
        let owner = self.hubs.get::<ModelRegistryComponent>(&component);
        let (sources, mut unusable) = self.labelled();
        let mut cleaned = BTreeMap::new();
        for name in users {
            let Some(map) = self.hubs.fetch::<ConfigMap>(&self.beside(name)).await? else { continue };
            let text = map.data.as_ref().and_then(|data| data.get(KEY)).cloned().unwrap_or_default();
            match user_sources::cleaned(&text) {
                Ok(Some(text)) => drop(cleaned.insert((*name).to_owned(), text)),
                Ok(None) => {}
                Err(error) => {
                    let text = format!("{KEY} cannot be read, and is left as it is: {error}");
                    unusable.push((map, Note::warning("SourcesUnreadable", "Reconcile", text)));
                }
            }
        }
        let credentials = self.hubs.fetch::<Secret>(&self.beside(DATABASE)).await?;
        let credentials = credentials.and_then(|secret| secret.data.clone()).unwrap_or_default();
        let inputs = Inputs {
            namespace: self.namespace.into(),
            apis: Apis::of(self.hubs),
            domain: domain(self.config.default_domain.as_deref(), ingress.as_deref()),
            owner: owner.map(|owner| meta::owner_of(&*owner)),
            admin_groups: self.admin_groups(),
            sources,
            cleaned,
            credentials: credentials.into_iter().map(|(key, value)| (key, value.0)).collect(),
            password: password::generate(),
            server: self.ours::<Deployment>(NAME),
            mend: false,
            database: self.ours::<Deployment>(DATABASE),
            claim: self.ours::<PersistentVolumeClaim>(DATABASE),
            existing: self.existing().await?,
        };
        Ok(Found { inputs, unusable })
    }

    fn admin_groups(&self) -> Vec<String> {
        let auth = self.hubs.get::<Auth>(&ObjectKey::cluster("auth"));
        auth.and_then(|auth| auth.spec.admin_groups.clone()).unwrap_or_default()
    }

    /// The ConfigMaps that somebody labelled as sources, sorted; and those of them that cannot be used.
    fn labelled(&self) -> (Vec<String>, Vec<(Arc<ConfigMap>, Note)>) {
        let (mut usable, mut unusable) = (vec![], vec![]);
        for map in self.hubs.of::<ConfigMap>(&sources(self.namespace)).list() {
            match objection(&map) {
                None => usable.push(map.name_any()),
                Some(why) => {
                    let text = format!("not used as a source of the model catalog: {why}");
                    unusable.push((map, Note::warning("SourceIgnored", "Reconcile", text)));
                }
            }
        }
        usable.sort();
        (usable, unusable)
    }

    async fn existing(&self) -> kube::Result<Existing> {
        let (hubs, beside) = (self.hubs, |name: &str| self.beside(name));
        let existing = Existing::default()
            .seen::<Deployment>(hubs, &beside(NAME))
            .seen::<Deployment>(hubs, &beside(DATABASE))
            .seen::<ServiceAccount>(hubs, &beside(NAME))
            .seen::<Service>(hubs, &beside(DATABASE))
            .seen::<PersistentVolumeClaim>(hubs, &beside(DATABASE))
            .seen::<Secret>(hubs, &beside(DATABASE))
            .seen::<ConfigMap>(hubs, &beside(PROXY_CONFIG))
            .seen::<ConfigMap>(hubs, &beside(OLD_SOURCES))
            .seen::<RoleBinding>(hubs, &beside(ADMIN_BINDING))
            .seen::<ClusterRoleBinding>(hubs, &ObjectKey::cluster(AUTH_DELEGATOR))
            .seen::<Route>(hubs, &beside(ROUTE))
            .seen::<NetworkPolicy>(hubs, &beside(ROUTE_POLICY));
        // It carries no label that we watch.
        let cookie = hubs.fetch::<Meta<Secret>>(&beside(OLD_COOKIE)).await?;
        Ok(if cookie.is_some() { existing.with::<Secret>(OLD_COOKIE) } else { existing })
    }

    fn beside(&self, name: &str) -> ObjectKey {
        ObjectKey::namespaced(self.namespace, name)
    }

    fn ours<K: Kind>(&self, name: &str) -> Option<K> {
        self.hubs.get::<K>(&self.beside(name)).map(|object| (*object).clone())
    }
}

/// Why a labelled ConfigMap cannot be a source.
fn objection(map: &ConfigMap) -> Option<String> {
    let name = map.name_any();
    let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    if name.len() > LONGEST {
        return Some(format!("its name is longer than {LONGEST} characters"));
    }
    if !(name.starts_with(is_inner)
        && name.ends_with(is_inner)
        && name.chars().all(|c| is_inner(c) || c == '-'))
    {
        return Some("its name may have lower-case letters, digits and dashes only".into());
    }
    let has_key = map.data.as_ref().is_some_and(|data| data.contains_key(KEY));
    (!has_key).then(|| format!("it has no key {KEY}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_source_needs_a_short_plain_name_and_the_key() {
        let map = |name: &str, key: &str| -> ConfigMap {
            serde_json::from_value(json!({ "metadata": { "name": name }, "data": { key: "" } })).unwrap()
        };
        assert_eq!(objection(&map("extra", KEY)), None);
        assert!(objection(&map("a.b", KEY)).unwrap().contains("name"));
        assert!(objection(&map(&"a".repeat(56), KEY)).unwrap().contains("55"));
        assert_eq!(objection(&map(&"a".repeat(55), KEY)), None);
        assert!(objection(&map("extra", "other")).unwrap().contains(KEY));
    }
}
