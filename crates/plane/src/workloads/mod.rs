//! Controllers of built-in workloads, and the Pods they make: what a cluster's controller-manager, scheduler and kubelet
//! would do, as far as operators lean on it.
//!
//! Each controller is a pure function from objects to a plan; [`driver`] reads, asks and writes. Containers do not run:
//! what is simulated says so in an annotation, and a [`Script`] tells it to behave otherwise.

mod adoption;
mod claim;
mod cron_job;
mod daemon_set;
mod deployment;
mod driver;
mod endpoints;
mod job;
mod kubelet;
mod logs;
mod namespace;
mod node;
mod plan;
mod pod;
mod pods;
mod queue;
mod replica_set;
mod schedule;
mod stateful_set;
mod token_secret;
mod view;

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use tokio_util::sync::CancellationToken;

use crate::Plane;
use crate::hooks::{Answer, ExtraRequest};
use crate::status::Result;
use logs::Logs;
pub use pod::{Exit, SCRIPT_ANNOTATION, Script, Step};
use view::View;

/// The annotation of everything that only seems to run.
pub const SIMULATED: &str = "local.quintet.dev/simulated";

/// Says how a Pod should behave; none leaves it to its annotation.
type Director = dyn Fn(&Pod) -> Option<Script> + Send + Sync;

/// Settings of the simulated workloads. Cheap to clone.
#[derive(Clone, Default)]
#[must_use]
pub struct Workloads {
    director: Option<Arc<Director>>,
    root_ca: String,
    logs: Arc<Logs>,
}

impl Workloads {
    /// Pods that start at once and stay, unless their annotation says otherwise.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets a test decide how each Pod behaves; where it decides nothing the Pod's annotation does.
    pub fn directed(mut self, director: impl Fn(&Pod) -> Option<Script> + Send + Sync + 'static) -> Self {
        self.director = Some(Arc::new(director));
        self
    }

    /// The certificate authority (PEM) that the ConfigMap `kube-root-ca.crt` of every namespace holds.
    pub fn root_ca(mut self, pem: impl Into<String>) -> Self {
        self.root_ca = pem.into();
        self
    }

    fn script(&self, pod: &Pod) -> Result<Script, String> {
        if let Some(script) = self.director.as_ref().and_then(|director| director(pod)) {
            return Ok(script);
        }
        Ok(Script::of_annotation(pod)?.unwrap_or_default())
    }

    /// Answers what only the kubelet knows; none if this is not about that.
    pub(crate) fn answer(&self, plane: &Plane, request: &ExtraRequest) -> Option<Result<Answer>> {
        let about = (
            &*request.names.group,
            &*request.names.plural,
            request.subresource.as_str(),
            request.verb.as_str(),
        );
        (about == ("", "pods", "log", "get"))
            .then(|| logs::answer(self, &View(plane.store().clone()), request))
    }

    fn logs(&self) -> &Logs {
        &self.logs
    }
}

impl std::fmt::Debug for Workloads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workloads").field("directed", &self.director.is_some()).finish_non_exhaustive()
    }
}

/// Starts the controllers of a plane.
pub(crate) fn start(plane: &Plane, workloads: Workloads, stop: CancellationToken) {
    driver::start(plane, workloads, stop);
}
