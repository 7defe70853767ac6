//! The plane itself: what holds the parts together, and how to get one.

use std::sync::{Arc, Weak};

use tokio_util::sync::{CancellationToken, DropGuard};

use crate::clock::{self, Clock};
use crate::faults::Faults;
use crate::hooks::{Hooks, User};
use crate::openapi::Documents;
use crate::requests::RequestLog;
use crate::resource::{Catalog, Registry};
use crate::security::{self, Guard, Security};
use crate::server::PlaneService;
use crate::store::Store;
use crate::webhook::Backends;
use crate::workloads::{self, Workloads};

/// A Kubernetes API in one process. Cheap to clone; it ends when the last clone is dropped.
#[derive(Clone)]
pub struct Plane {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) store: Arc<Store>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) hooks: Hooks,
    pub(crate) guard: Arc<Guard>,
    pub(crate) workloads: Option<Workloads>,
    pub(crate) requests: RequestLog,
    pub(crate) faults: Faults,
    pub(crate) openapi: Documents,
    _stop: DropGuard,
}

impl Plane {
    /// A plane as it comes: empty but for the system namespaces, everybody may do everything.
    ///
    /// # Panics
    /// Outside a Tokio runtime: the plane's controllers run on it.
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// A plane with other settings.
    pub fn builder() -> Builder {
        Builder {
            history_bytes: 64 << 20,
            clock: clock::system(),
            hooks: None,
            security: Security::default(),
            workloads: None,
        }
    }

    /// A client as an administrator, in the namespace `default`. No socket is involved.
    pub fn client(&self) -> kube::Client {
        self.client_as(User::admin())
    }

    /// A client with another identity.
    pub fn client_as(&self, user: User) -> kube::Client {
        kube::Client::new(self.service().with_user(user), "default")
    }

    /// The whole API as a tower service.
    pub fn service(&self) -> PlaneService {
        PlaneService::new(self.clone())
    }

    /// What has been asked so far.
    pub fn requests(&self) -> &RequestLog {
        &self.inner.requests
    }

    /// The faults between clients and this plane; none at first.
    pub fn faults(&self) -> &Faults {
        &self.inner.faults
    }

    /// Forgets all history: older watches get their 410 and pages expire, as after an etcd compaction.
    pub fn compact(&self) {
        self.inner.store.compact();
    }

    /// The objects; for modules that answer from them without going through HTTP.
    pub fn store(&self) -> &Arc<Store> {
        &self.inner.store
    }

    /// The resources served now.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.inner.registry.catalog()
    }

    /// The plane's clock.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.inner.clock
    }

    /// What answers for the Services that webhooks refer to.
    pub fn webhook_backends(&self) -> &Backends {
        self.inner.guard.backends()
    }

    pub(crate) fn hooks(&self) -> &Hooks {
        &self.inner.hooks
    }

    pub(crate) fn workloads(&self) -> Option<&Workloads> {
        self.inner.workloads.as_ref()
    }

    pub(crate) fn guard(&self) -> &Guard {
        &self.inner.guard
    }

    /// A handle that does not keep the plane alive, for its own controllers.
    pub(crate) fn downgrade(&self) -> WeakPlane {
        WeakPlane(Arc::downgrade(&self.inner))
    }
}

/// See [`Plane::downgrade`].
pub(crate) struct WeakPlane(Weak<Inner>);

impl WeakPlane {
    /// The plane, unless it has ended.
    pub(crate) fn upgrade(&self) -> Option<Plane> {
        self.0.upgrade().map(|inner| Plane { inner })
    }
}

impl Default for Plane {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Plane {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plane").field("revision", &self.inner.store.revision()).finish_non_exhaustive()
    }
}

/// Settings of a [`Plane`].
#[must_use]
pub struct Builder {
    history_bytes: usize,
    clock: Arc<dyn Clock>,
    hooks: Option<Hooks>,
    security: Security,
    workloads: Option<Workloads>,
}

impl Builder {
    /// How much history to keep for watches and pages, in bytes.
    pub fn history_bytes(mut self, bytes: usize) -> Self {
        self.history_bytes = bytes;
        self
    }

    /// Another clock.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Other seams of the request pipeline than the plane's own.
    pub fn hooks(mut self, hooks: Hooks) -> Self {
        self.hooks = Some(hooks);
        self
    }

    /// Who is let in and whether rights are enforced; by default everybody may do everything.
    pub fn security(mut self, security: Security) -> Self {
        self.security = security;
        self
    }

    /// Runs the controllers of built-in workloads and simulates Pods; without this, a Deployment is just an object.
    pub fn workloads(mut self, workloads: Workloads) -> Self {
        self.workloads = Some(workloads);
        self
    }

    /// The plane, running.
    ///
    /// # Panics
    /// Outside a Tokio runtime: the plane's controllers run on it.
    pub fn build(self) -> Plane {
        let stop = CancellationToken::new();
        let store = Arc::new(Store::new(self.history_bytes));
        let registry = Arc::new(Registry::new());
        for resource in registry.catalog().all() {
            store.add_table(&resource.table);
        }
        let guard = Guard::new(self.security, store.clone(), self.clock.clone(), self.workloads.is_some());
        let hooks = self.hooks.unwrap_or_else(|| guard.hooks(registry.clone()));
        let plane = Plane {
            inner: Arc::new(Inner {
                store,
                registry,
                clock: self.clock,
                hooks,
                guard,
                workloads: self.workloads.clone(),
                requests: RequestLog::default(),
                faults: Faults::default(),
                openapi: Documents::default(),
                _stop: stop.clone().drop_guard(),
            }),
        };
        crate::life::start(&plane, stop.clone());
        security::start(&plane, stop.clone());
        if let Some(workloads) = self.workloads {
            workloads::start(&plane, workloads, stop);
        }
        plane
    }
}
