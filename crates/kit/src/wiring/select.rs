//! Which objects of a kind a watch asks for.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Which objects of a kind a watch asks the server for. Two watches with the same kind and selection are one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Select {
    /// Only this namespace; none means all, or a cluster-scoped kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Only objects whose labels match this selector.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<String>,
    /// Only objects whose fields match this selector.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fields: Option<String>,
}

impl Select {
    /// Every object.
    #[must_use]
    pub fn all() -> Self {
        Select::default()
    }

    /// Every object of one namespace.
    pub fn namespace(namespace: impl Into<String>) -> Self {
        Select { namespace: Some(namespace.into()), ..Select::default() }
    }

    /// Those of them that match a label selector.
    #[must_use]
    pub fn labels(mut self, selector: impl Into<String>) -> Self {
        self.labels = Some(selector.into());
        self
    }

    /// Those of them that match a field selector.
    #[must_use]
    pub fn fields(mut self, selector: impl Into<String>) -> Self {
        self.fields = Some(selector.into());
        self
    }

    /// True if the namespace, at most, narrows the selection: then a watch sees every object of a given name.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.labels.is_none() && self.fields.is_none()
    }

    /// True if an object of this namespace could be among the selected.
    #[must_use]
    pub fn covers(&self, namespace: Option<&str>) -> bool {
        self.namespace.is_none() || self.namespace.as_deref() == namespace
    }
}

impl fmt::Display for Select {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [("namespace ", &self.namespace), ("labels ", &self.labels), ("fields ", &self.fields)];
        let mut first = true;
        for (what, value) in parts.into_iter().filter_map(|(what, value)| Some((what, value.as_ref()?))) {
            write!(f, "{}{what}{value}", if first { "" } else { ", " })?;
            first = false;
        }
        if first { f.write_str("all") } else { Ok(()) }
    }
}
