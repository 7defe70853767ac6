//! The original operator as a process.

use std::{path::Path, process::Command};

use quintet_harness::{Process, Scratch, Stop};

use crate::support::server::Server;

pub(crate) struct Original {
    _process: Process,
    _scratch: Scratch,
}

impl Original {
    /// Starts it with every right (its own role lacks some that it gives away), listening nowhere.
    pub(crate) fn start(directory: &str, server: &Server, variables: &[(&str, &str)]) -> Self {
        let Server::Real { cluster, .. } = server else { panic!("run it with QUINTET_SCENARIOS=real") };
        let scratch = Scratch::new("quintet-original-").expect("a directory");
        let directory = Path::new(directory);
        let mut command = Command::new(directory.join("manager"));
        command.current_dir(directory).env("KUBECONFIG", cluster.kubeconfig().expect("a kubeconfig"));
        command.args([
            "--metrics-bind-address=0",
            "--health-probe-bind-address=0",
            "--namespace=opendatahub",
        ]);
        for name in ["MLFLOW_IMAGE", "GATEWAY_NAME", "MLFLOW_URL", "SECTION_TITLE"] {
            command.env_remove(name);
        }
        command.envs(variables.iter().copied());
        let log = scratch.path().join("original.log");
        let process = Process::start(&command, &log, Stop::Kill).expect("it starts");
        Original { _process: process, _scratch: scratch }
    }
}
