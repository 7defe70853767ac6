//! The models there are, and which of them a caller may use.

mod access;
mod catalog;
mod parse;
mod probe;

pub use access::{Access, Entry, list};
pub use catalog::{ListedModel, ModelDetails, SubscriptionRef, merge};
pub use parse::parse;
pub use probe::{Prober, ProberError};

/// One MaaSModelRef, as far as maas-api needs it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Model {
    /// `metadata.name`: its id until a backend calls itself something else.
    pub name: String,
    /// `metadata.namespace`.
    pub namespace: String,
    /// When it was made, in seconds since 1970; 0 if unsaid.
    pub created: i64,
    /// What runs it.
    pub kind: String,
    /// Where it answers.
    pub url: Option<String>,
    /// Whether its phase is Ready.
    pub ready: bool,
    /// What people should know about it.
    pub details: Option<ModelDetails>,
}

impl Model {
    /// `namespace/name`.
    pub fn owned_by(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    /// Whether a provider elsewhere serves it.
    pub fn is_external(&self) -> bool {
        self.kind == "ExternalModel"
    }
}
