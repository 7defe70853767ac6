//! Rights that are held for what no scenario can bring about.

use super::Right;

/// A right that no scenario uses, and why it is held all the same. Every other right must be used by one.
#[derive(Clone, Copy, Debug)]
pub struct Reserve {
    /// The API group.
    pub group: &'static str,
    /// The resource, with its subresource.
    pub resource: &'static str,
    /// The verbs.
    pub verbs: &'static [&'static str],
    /// The reason.
    pub why: &'static str,
}

impl Reserve {
    /// To own children that hold up the deletion of such an object.
    #[must_use]
    pub const fn finalizers(group: &'static str, resource: &'static str) -> Self {
        let why = "the API server asks for it when a child is given an owner whose deletion it blocks, where \
                   the admission plugin OwnerReferencesPermissionEnforcement is on, as on OpenShift";
        Reserve { group, resource, verbs: &["update"], why }
    }

    /// Whether it is this right's reason.
    #[must_use]
    pub fn explains(&self, right: &Right) -> bool {
        self.group == right.group
            && self.resource == right.resource
            && self.verbs.contains(&right.verb.as_str())
    }
}
