//! What is served right now.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use serde_json::Value;

use super::{GroupVersionKind, Resource, builtin, custom, version_priority};

/// An immutable picture of all served resources.
#[derive(Debug)]
pub struct Catalog {
    /// Groups in discovery's order; the core group first.
    pub groups: Vec<Group>,
    /// Counts the changes: what is derived from a catalog can be kept while this stands.
    pub generation: u64,
}

/// One API group.
#[derive(Debug)]
pub struct Group {
    /// Its name; empty for the core group.
    pub name: Arc<str>,
    /// Its versions, most preferred first, with their resources.
    pub versions: Vec<(Arc<str>, Vec<Arc<Resource>>)>,
    /// Whether CRDs make it up.
    pub custom: bool,
}

impl Catalog {
    fn new(
        builtin: &[Arc<Resource>],
        custom: &BTreeMap<String, Vec<Arc<Resource>>>,
        generation: u64,
    ) -> Self {
        let mut groups: Vec<Group> = Vec::new();
        let mut add = |resource: &Arc<Resource>, is_custom: bool| {
            let (group, version) = (&resource.gvk.group, &resource.gvk.version);
            let at = groups.iter().position(|g| g.name == *group).unwrap_or_else(|| {
                groups.push(Group { name: group.clone(), versions: Vec::new(), custom: is_custom });
                groups.len() - 1
            });
            let versions = &mut groups[at].versions;
            match versions.iter_mut().find(|(v, _)| v == version) {
                Some((_, resources)) => resources.push(resource.clone()),
                None => versions.push((version.clone(), vec![resource.clone()])),
            }
        };
        builtin.iter().for_each(|r| add(r, false));
        custom.values().flatten().for_each(|r| add(r, true));
        let built = groups.partition_point(|g| !g.custom);
        groups[built..].sort_by(|a, b| a.name.cmp(&b.name));
        for group in groups.iter_mut().filter(|g| g.custom) {
            group.versions.sort_by(|(a, _), (b, _)| version_priority(a, b));
            for (_, resources) in &mut group.versions {
                resources.sort_by(|a, b| a.names.plural.cmp(&b.names.plural));
            }
        }
        Self { groups, generation }
    }

    /// The resource at this path.
    pub fn find(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Resource>> {
        self.version(group, version)?.iter().find(|r| r.names.plural.as_ref() == plural)
    }

    /// The group of that name.
    pub fn group(&self, name: &str) -> Option<&Group> {
        self.groups.iter().find(|g| g.name.as_ref() == name)
    }

    /// The resources of a group's version.
    pub fn version(&self, group: &str, version: &str) -> Option<&[Arc<Resource>]> {
        let versions = &self.group(group)?.versions;
        versions.iter().find(|(v, _)| v.as_ref() == version).map(|(_, r)| r.as_slice())
    }

    /// The resource of a kind.
    pub fn kind(&self, gvk: &GroupVersionKind) -> Option<&Arc<Resource>> {
        self.version(&gvk.group, &gvk.version)?.iter().find(|r| r.names.kind == gvk.kind)
    }

    /// Every resource, once per version.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.groups.iter().flat_map(|g| &g.versions).flat_map(|(_, resources)| resources)
    }
}

/// The catalog, as CRDs come and go.
#[derive(Debug)]
pub struct Registry {
    builtin: Vec<Arc<Resource>>,
    custom: Mutex<BTreeMap<String, Vec<Arc<Resource>>>>,
    current: RwLock<Arc<Catalog>>,
}

impl Registry {
    /// The built-in kinds.
    pub fn new() -> Self {
        let builtin = builtin::resources();
        let current = RwLock::new(Arc::new(Catalog::new(&builtin, &BTreeMap::new(), 0)));
        Self { builtin, custom: Mutex::default(), current }
    }

    /// What is served now.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.current.read().clone()
    }

    /// Serves what this CRD defines, in place of what it defined before.
    pub fn define(&self, name: &str, crd: &Value) {
        let resources = custom::resources(crd).into_iter().map(Arc::new).collect();
        let mut custom = self.custom.lock();
        custom.insert(name.to_string(), resources);
        self.publish(&custom);
    }

    /// Serves the CRD's kinds no more.
    pub fn undefine(&self, name: &str) {
        let mut custom = self.custom.lock();
        if custom.remove(name).is_some() {
            self.publish(&custom);
        }
    }

    fn publish(&self, custom: &BTreeMap<String, Vec<Arc<Resource>>>) {
        let mut current = self.current.write();
        *current = Arc::new(Catalog::new(&self.builtin, custom, current.generation + 1));
    }
}

impl Default for Registry {
    fn default() -> Self {
        Self::new()
    }
}
