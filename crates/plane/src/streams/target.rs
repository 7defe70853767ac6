//! The container at the other end of a stream.

use std::io;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;

use crate::status::{Error, Result};
use crate::workloads::containers::{self, Phase};
use crate::workloads::logs::{Logs, Reader};
use crate::workloads::program::{self, Session, simulate};
use crate::workloads::{Connection, Program, Script, Workloads};

/// A running container.
pub(super) struct Target {
    pub(super) pod: Pod,
    pub(super) container: String,
    script: Script,
    program: Option<Program>,
    workloads: Workloads,
}

impl Target {
    /// The container meant; a refusal if it cannot be reached. Ports belong to the Pod: for them any container will do.
    pub(super) fn new(workloads: &Workloads, pod: Pod, named: &str, any: bool) -> Result<Self> {
        let name = pod.metadata.name.clone().unwrap_or_default();
        let container = if any { String::new() } else { containers::named(&pod, named)? };
        if pod.spec.as_ref().is_none_or(|spec| spec.node_name.is_none()) {
            return Err(Error::bad_request(format!("pod {name} does not have a host assigned")));
        }
        let all = || pod.spec.iter().flat_map(|spec| &spec.containers).map(|c| c.name.clone());
        let program = if any {
            all().find_map(|container| workloads.program(&pod, &container))
        } else {
            workloads.program(&pod, &container)
        };
        let runs = |container: &str| containers::phase(&pod, container) == Phase::Running;
        if !(if any { all().any(|container| runs(&container)) } else { runs(&container) }) {
            let what = if any {
                let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
                format!("pod is not running. Current status={}", phase.unwrap_or("Pending"))
            } else {
                format!("container not found ({container:?})")
            };
            return Err(Error::bad_request(format!("unable to upgrade connection: {what}")));
        }
        let script = workloads.script(&pod).unwrap_or_default();
        Ok(Self { pod, container, script, program, workloads: workloads.clone() })
    }

    /// Runs a command in the container; its exit code.
    pub(super) async fn run(&self, session: Session) -> i32 {
        match &self.program {
            Some(program) => program.run(session).await,
            None => simulate(self.script.clone(), session).await,
        }
    }

    /// The main program's input, if nobody else has it.
    pub(super) fn stdin(&self) -> Option<tokio::io::DuplexStream> {
        self.workloads.runs().stdin(self.uid())
    }

    /// What the main program writes from now on.
    pub(super) fn output(&self) -> Option<Reader> {
        let logs: &Arc<Logs> = self.workloads.logs();
        Reader::from_now(logs, self.uid(), &self.container)
    }

    /// A connection to one of its ports.
    pub(super) async fn connect(&self, port: u16) -> io::Result<Box<dyn Connection>> {
        match &self.program {
            Some(program) => program.connect(port).await,
            None => Err(program::nothing_listens(port)),
        }
    }

    fn uid(&self) -> &str {
        self.pod.metadata.uid.as_deref().unwrap_or_default()
    }
}
