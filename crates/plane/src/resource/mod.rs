//! Which resources the plane serves: the built-in table, and what CustomResourceDefinitions add.

mod builtin;
mod catalog;
mod custom;
mod names;
mod selectable;
pub mod translate;
mod version_order;

use std::sync::Arc;

use bytes::Bytes;

pub use catalog::{Catalog, Group, Registry};
pub use custom::{Custom, PrinterColumn};
pub use names::{GroupVersionKind, Names};
pub use selectable::Field;
pub use version_order::version_priority;

use crate::schema::Schema;
use crate::store::TableId;

/// Whether objects live in namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// They do.
    Namespaced,
    /// They do not.
    Cluster,
}

/// How a resource behaves on writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Traits {
    /// `metadata.generation` is kept.
    pub generation: bool,
    /// PUT without `resourceVersion` is allowed.
    pub unconditional_update: bool,
    /// PUT to a missing object creates it.
    pub create_on_update: bool,
    /// DELETE answers the object, not a Status.
    pub returns_deleted: bool,
    /// Objects are kept; otherwise each request is answered by [`crate::hooks::Extra`].
    pub stored: bool,
    /// Which names objects may have.
    pub naming: Naming,
}

/// Which names objects of a kind may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Naming {
    /// A DNS subdomain.
    Subdomain,
    /// A DNS label.
    Label,
    /// Anything that fits a path segment.
    PathSegment,
}

/// A subresource as discovery tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subresource {
    /// `status`
    pub name: Arc<str>,
    /// Kind of its objects.
    pub kind: GroupVersionKind,
    /// Its verbs.
    pub verbs: Vec<&'static str>,
}

/// One resource in one version.
#[derive(Debug)]
pub struct Resource {
    /// Group and names.
    pub names: Names,
    /// Kind in this version.
    pub gvk: GroupVersionKind,
    /// `apps/v1`
    pub api_version: Arc<str>,
    /// Namespaced or not.
    pub scope: Scope,
    /// Short names.
    pub short_names: Vec<Arc<str>>,
    /// Categories (`all`).
    pub categories: Vec<Arc<str>>,
    /// Verbs, in discovery's order.
    pub verbs: &'static [&'static str],
    /// Subresources.
    pub subresources: Vec<Subresource>,
    /// Where its objects are.
    pub table: TableId,
    /// The version objects are stored in.
    pub stored_version: Arc<str>,
    /// Behaviour on writes.
    pub traits: Traits,
    /// Selectable fields besides `metadata.name` and `metadata.namespace`.
    pub fields: Vec<Field>,
    /// What its CRD says; none for built-in kinds.
    pub custom: Option<Arc<Custom>>,
    /// `{"kind":"Deployment","apiVersion":"apps/v1",`
    pub prefix: Bytes,
}

impl Resource {
    /// Whether a CRD defines it.
    pub fn is_custom(&self) -> bool {
        self.custom.is_some()
    }

    /// Whether objects live in namespaces.
    pub fn namespaced(&self) -> bool {
        self.scope == Scope::Namespaced
    }

    /// The subresource of that name.
    pub fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources.iter().find(|s| s.name.as_ref() == name)
    }

    /// The schema of its objects.
    pub fn schema(&self) -> Option<&Schema> {
        match &self.custom {
            Some(custom) => Some(&custom.structural),
            None => crate::builtin::schema(&self.gvk),
        }
    }

    /// Whether it has a `/status`.
    pub fn has_status(&self) -> bool {
        self.subresource("status").is_some()
    }
}

fn prefix(kind: &str, api_version: &str) -> Bytes {
    format!("{{\"kind\":\"{kind}\",\"apiVersion\":\"{api_version}\",").into()
}
