//! The server's own admission plug-ins, which run before everybody's webhooks.
//!
//! Two of them lean on controllers (an account that every namespace has, a finalizer that somebody takes off again), so
//! they run only where the plane runs these controllers; without, no Pod could be made and no claim would ever go.

mod priority;
mod service_account;
mod storage;
mod tolerations;

use std::sync::Arc;

use serde_json::Value;

use crate::hooks::{AdmissionRequest, Operation};
use crate::status::Result;
use crate::store::{Store, TableId};

pub(crate) use priority::bootstrap as bootstrap_priorities;

/// The plug-ins, and what they look things up in.
pub(crate) struct Plugins {
    store: Arc<Store>,
    /// Whether the controllers of built-in kinds run.
    controlled: bool,
}

impl Plugins {
    pub(crate) fn new(store: Arc<Store>, controlled: bool) -> Self {
        Self { store, controlled }
    }

    /// Completes an object that is about to be written, or refuses it.
    pub(crate) async fn mutate(&self, request: &mut AdmissionRequest) -> Result<()> {
        if !request.names.group.is_empty() || !request.subresource.is_empty() {
            return Ok(());
        }
        match (&*request.names.plural, request.operation) {
            ("pods", Operation::Create) => {
                if self.controlled {
                    service_account::admit(&self.store, request).await?;
                }
                tolerations::add(&mut request.object);
                priority::resolve(&self.store, request)
            }
            ("pods", Operation::Update) => {
                tolerations::add(&mut request.object);
                priority::keep(request);
                Ok(())
            }
            ("persistentvolumeclaims", Operation::Create) => {
                storage::choose_class(&self.store, &mut request.object);
                if self.controlled {
                    storage::protect(&mut request.object, storage::CLAIM_PROTECTION);
                }
                Ok(())
            }
            ("persistentvolumes", Operation::Create) if self.controlled => {
                storage::protect(&mut request.object, storage::VOLUME_PROTECTION);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// All objects of a cluster-scoped kind.
fn all(store: &Store, table: &TableId) -> Vec<Value> {
    store.all(table, "").iter().map(|object| object.to_value()).collect()
}
