//! What a system gets to run with.

use super::manager::Settings;
use crate::apply::{Applier, FieldManager};
use crate::clock::Clock;
use crate::event::Events;
use crate::fence::Fence;
use crate::finalizer::Finalizer;
use crate::hub::Hubs;
use crate::metrics::Metrics;
use crate::status::StatusWriter;
use kube::Client;

/// What a system gets to run with; clones share it all.
#[derive(Clone, Debug)]
pub struct Context {
    pub(crate) hubs: Hubs,
    pub(crate) metrics: Metrics,
    pub(crate) fence: Fence,
    pub(crate) settings: Settings,
}

impl Context {
    /// A context outside a [`crate::Manager`]: for tests of one part.
    #[must_use]
    pub fn new(client: Client, settings: Settings) -> Self {
        let metrics = Metrics::new();
        Context { hubs: Hubs::new(client, metrics.clone()), metrics, fence: Fence::open(), settings }
    }

    /// The client.
    #[must_use]
    pub fn client(&self) -> &Client {
        self.hubs.client()
    }

    /// The caches.
    #[must_use]
    pub fn hubs(&self) -> &Hubs {
        &self.hubs
    }

    /// The clock.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.settings.clock
    }

    /// What is counted.
    #[must_use]
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Whether this process may write.
    #[must_use]
    pub fn fence(&self) -> &Fence {
        &self.fence
    }

    /// The name of this process, the pod's in a cluster.
    #[must_use]
    pub fn instance(&self) -> &str {
        &self.settings.instance
    }

    /// An applier for one controller.
    #[must_use]
    pub fn applier(&self, controller: &str, manager: FieldManager) -> Applier {
        Applier::new(controller, self.hubs.clone(), manager, self.fence.clone(), self.metrics.clone())
    }

    /// A status writer for one controller.
    #[must_use]
    pub fn status(&self, controller: &str, manager: FieldManager) -> StatusWriter {
        let (client, fence, metrics) = (self.client().clone(), self.fence.clone(), self.metrics.clone());
        StatusWriter::new(controller, client, manager.name, fence, metrics)
    }

    /// A finalizer.
    #[must_use]
    pub fn finalizer(&self, manager: FieldManager, name: &'static str) -> Finalizer {
        Finalizer::new(self.client().clone(), self.fence.clone(), manager.name, name)
    }

    /// A recorder of events under this reporter's name.
    #[must_use]
    pub fn events(&self, reporter: &str) -> Events {
        let (client, fence) = (self.client().clone(), self.fence.clone());
        Events::new(client, reporter, self.instance(), fence, *self.clock(), self.metrics.clone())
    }
}
