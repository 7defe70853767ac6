//! The stable form, for scripts. Fields are only ever added.

use crate::kind::Gvk;
use crate::wiring::{ConfigRow, Edge, EndpointRow, Origin, ServiceRow, SystemRows, WebhookRow};
use serde::{Deserialize, Serialize};

/// One system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    /// The system's name.
    pub system: String,
    /// What its controllers watch.
    pub watches: Vec<WatchEntry>,
    /// What they, or the install manifests, write.
    pub writes: Vec<WriteEntry>,
    /// The Service ports.
    pub services: Vec<ServiceRow>,
    /// The kinds it defines.
    pub crds: Vec<Kind>,
    /// Its webhooks.
    pub webhooks: Vec<WebhookRow>,
    /// Its HTTP endpoints.
    pub endpoints: Vec<EndpointRow>,
    /// Where its settings come from.
    pub config: Vec<ConfigRow>,
}

/// A kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Kind {
    /// The group, empty for the core group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The kind.
    pub kind: String,
}

impl From<&Gvk> for Kind {
    fn from(gvk: &Gvk) -> Self {
        Kind { group: gvk.group.clone(), version: gvk.version.clone(), kind: gvk.kind.clone() }
    }
}

/// A watch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchEntry {
    /// `For`, `Owns` or `Watches`.
    #[serde(rename = "type")]
    pub type_: Edge,
    /// The kind.
    #[serde(flatten)]
    pub kind: Kind,
    /// The controller.
    pub controller: String,
    /// Under which condition, empty if always.
    pub when: String,
    /// What is watched of the kind.
    pub selection: String,
    /// Which changes count, empty if all.
    pub predicate: String,
    /// What is reconciled then.
    pub enqueues: String,
}

/// A write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteEntry {
    /// The kind.
    #[serde(flatten)]
    pub kind: Kind,
    /// The subresource, empty for the object itself.
    pub subresource: String,
    /// The write policy.
    pub policy: String,
    /// Where it comes from.
    pub origin: Origin,
    /// The controller.
    pub controller: String,
    /// Under which condition, empty if always.
    pub when: String,
    /// Objects of the kind are deleted too.
    pub deletes: bool,
}

/// The systems in the stable form: each list in the order in which the system declares it, controllers one after the
/// other.
#[must_use]
pub fn documents(systems: &[SystemRows]) -> Vec<Document> {
    systems.iter().map(document).collect()
}

fn document(rows: &SystemRows) -> Document {
    let watches = rows.controllers.iter().flat_map(|controller| &controller.watches).map(|row| WatchEntry {
        type_: row.edge,
        kind: (&row.kind).into(),
        controller: row.controller.clone(),
        when: row.when.clone(),
        selection: row.select.to_string(),
        predicate: row.predicate.clone(),
        enqueues: row.mapping.clone(),
    });
    let writes = rows.controllers.iter().flat_map(|controller| {
        controller.writes.iter().map(|row| WriteEntry {
            kind: (&row.kind).into(),
            subresource: row.subresource.clone(),
            policy: row.policy.name().into(),
            origin: row.origin,
            controller: controller.controller.clone(),
            when: row.when.clone(),
            deletes: row.deletes,
        })
    });
    Document {
        system: rows.system.clone(),
        watches: watches.collect(),
        writes: writes.collect(),
        services: rows.services.clone(),
        crds: rows.crds.iter().map(Kind::from).collect(),
        webhooks: rows.webhooks.clone(),
        endpoints: rows.endpoints.clone(),
        config: rows.config.clone(),
    }
}
