//! Controllers of built-in workloads, and the Pods they make: what a cluster's controller-manager, scheduler and kubelet
//! would do, as far as operators lean on it.
//!
//! Each controller is a pure function from objects to a plan; [`driver`] reads, asks and writes. Containers only seem to
//! run, unless a [`Program`] stands behind them: what is simulated says so in an annotation, and a [`Script`] tells it to
//! behave otherwise.

mod adoption;
mod claim;
pub(crate) mod containers;
mod cron_job;
mod daemon_set;
mod deployment;
mod driver;
mod endpoints;
mod job;
mod kubelet;
pub(crate) mod logs;
mod namespace;
mod node;
mod plan;
mod pod;
mod pods;
pub(crate) mod program;
mod queue;
mod replica_set;
mod revisions;
mod schedule;
mod stateful_set;
mod token_secret;
mod view;

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use tokio_util::sync::CancellationToken;

use crate::Plane;
use logs::Logs;
pub use pod::{Exit, Reply, SCRIPT_ANNOTATION, Script, Step};
use program::Runs;
pub use program::{Connection, Program, Session};

/// The annotation of everything that only seems to run.
pub const SIMULATED: &str = "local.quintet.dev/simulated";

/// Says how a Pod should behave; none leaves it to its annotation.
type Director = dyn Fn(&Pod) -> Option<Script> + Send + Sync;

/// Says what stands behind a container; none leaves it simulated.
type Backer = dyn Fn(&Pod, &str) -> Option<Program> + Send + Sync;

/// Settings of the simulated workloads. Cheap to clone.
#[derive(Clone)]
#[must_use]
pub struct Workloads {
    director: Option<Arc<Director>>,
    backer: Option<Arc<Backer>>,
    processes: bool,
    root_ca: String,
    logs: Arc<Logs>,
    runs: Arc<Runs>,
}

impl Workloads {
    /// Pods that start at once and stay, unless their annotation says otherwise.
    pub fn new() -> Self {
        Self {
            director: None,
            backer: None,
            processes: false,
            root_ca: String::new(),
            logs: Arc::default(),
            runs: Arc::default(),
        }
    }

    /// Lets a test decide how each Pod behaves; where it decides nothing the Pod's annotation does.
    pub fn directed(mut self, director: impl Fn(&Pod) -> Option<Script> + Send + Sync + 'static) -> Self {
        self.director = Some(Arc::new(director));
        self
    }

    /// Puts programs behind containers, by Pod and name of the container; the others stay simulated.
    pub fn backed(mut self, backer: impl Fn(&Pod, &str) -> Option<Program> + Send + Sync + 'static) -> Self {
        self.backer = Some(Arc::new(backer));
        self
    }

    /// Lets the annotation of a Pod name a process of this machine to run. Whoever may create Pods may then run
    /// anything, so it is refused unless allowed here.
    pub fn processes(mut self, allowed: bool) -> Self {
        self.processes = allowed;
        self
    }

    /// The certificate authority (PEM) that the ConfigMap `kube-root-ca.crt` of every namespace holds.
    pub fn root_ca(mut self, pem: impl Into<String>) -> Self {
        self.root_ca = pem.into();
        self
    }

    /// How a Pod behaves; an error says what is wrong with its annotation.
    pub(crate) fn script(&self, pod: &Pod) -> Result<Script, String> {
        if let Some(script) = self.director.as_ref().and_then(|director| director(pod)) {
            return Ok(script);
        }
        let script = Script::of_annotation(pod)?.unwrap_or_default();
        if !script.process.is_empty() && !self.processes {
            return Err(format!(
                "annotation {SCRIPT_ANNOTATION} names a process, and processes are not allowed here; `quintet up \
                 --allow-processes` allows them"
            ));
        }
        Ok(script)
    }

    /// What stands behind a container.
    pub(crate) fn program(&self, pod: &Pod, container: &str) -> Option<Program> {
        let given = self.backer.as_ref().and_then(|backer| backer(pod, container));
        given.or_else(|| {
            let script = self.script(pod).ok()?;
            let meant = !script.process.is_empty() && pod::scripted(pod, &script) == container;
            meant.then(|| Program::process(script.process))
        })
    }

    pub(crate) fn logs(&self) -> &Arc<Logs> {
        &self.logs
    }

    pub(crate) fn runs(&self) -> &Runs {
        &self.runs
    }
}

impl Default for Workloads {
    fn default() -> Self {
        Self::new()
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
