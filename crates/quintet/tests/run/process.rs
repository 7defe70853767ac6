//! A process of ours, followed through its log and its ports.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::cluster::Cluster;

/// Far more than anything here takes, on a machine that does other things too.
pub(crate) const LONG: Duration = Duration::from_secs(120);

pub(crate) struct Process {
    child: Child,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Process {
    /// Starts it with nothing in its environment but these.
    pub(crate) fn start(command: &mut Command, environment: &[(&str, &str)]) -> Self {
        let mut child = command
            .env_clear()
            .envs(environment.iter().copied())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (lines, heard) = (Arc::new(Mutex::new(vec![])), BufReader::new(child.stderr.take().unwrap()));
        let told = lines.clone();
        std::thread::spawn(move || {
            heard.lines().map_while(Result::ok).for_each(|line| told.lock().unwrap().push(line))
        });
        Process { child, lines }
    }

    /// `quintet run` of MLflow against the cluster, every port a free one.
    pub(crate) fn run(cluster: &Cluster, flags: &[&str], environment: &[(&str, &str)]) -> Self {
        Process::run_as(&cluster.kubeconfig(), "mlflow", flags, environment)
    }

    /// The same of any system, and as anybody.
    pub(crate) fn run_as(
        kubeconfig: &Path,
        system: &str,
        flags: &[&str],
        environment: &[(&str, &str)],
    ) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_quintet"));
        command.args(["run", "--operators", system]).arg("--kubeconfig").arg(kubeconfig);
        for port in ["--health-listen", "--metrics-listen", "--plain-metrics-listen"] {
            command.args([port, "127.0.0.1:0"]);
        }
        Process::start(command.args(flags), environment)
    }

    pub(crate) fn log(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }

    /// The lines of the log as JSON; each must be.
    pub(crate) fn json(&self) -> Vec<Value> {
        let parse =
            |line: &String| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        self.log().iter().map(parse).collect()
    }

    /// The JSON log of a process that has ended, once its last line is read.
    pub(crate) async fn until_logged(&self) -> Vec<Value> {
        let began = Instant::now();
        while self.log().is_empty() && began.elapsed() < LONG {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        self.json()
    }

    /// Waits until something is so; panics with the log if the process ends first.
    pub(crate) async fn until<T>(&mut self, what: &str, mut test: impl AsyncFnMut(&Self) -> Option<T>) -> T {
        let began = Instant::now();
        loop {
            if let Some(found) = test(self).await {
                return found;
            }
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none(), "{what}: it ended with {ended:?}\n{}", self.log().join("\n"));
            assert!(began.elapsed() < LONG, "{what}: not in time\n{}", self.log().join("\n"));
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// The address that a line of the JSON log tells: the first with this message and these fields.
    pub(crate) async fn address(&mut self, message: &str, secure: Option<bool>) -> String {
        let what = format!("the address of {message:?}");
        self.until(&what, async |process| {
            let lines = process.json();
            let fields =
                lines.iter().map(|line| if line["fields"].is_object() { &line["fields"] } else { line });
            let mut said = fields.filter(|f| f["message"] == message || f["msg"] == message);
            let line = said.find(|f| secure.is_none_or(|secure| f["secure"] == secure))?;
            let address = line["address"].as_str().or(line["bindAddress"].as_str()).expect("an address");
            Some(address.replace("[::]", "127.0.0.1").replace("0.0.0.0", "127.0.0.1"))
        })
        .await
    }

    /// Sends SIGTERM and waits until it has ended; gives how long that took.
    pub(crate) async fn terminate(&mut self) -> (ExitStatus, Duration) {
        let began = Instant::now();
        let pid = self.child.id().to_string();
        assert!(Command::new("/bin/kill").args(["-TERM", &pid]).status().unwrap().success());
        (self.ended().await, began.elapsed())
    }

    pub(crate) async fn ended(&mut self) -> ExitStatus {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(began.elapsed() < LONG, "it does not end\n{}", self.log().join("\n"));
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// GET: the code and the text.
pub(crate) async fn get(url: &str) -> (u16, String) {
    read(reqwest::Client::new().get(url)).await
}

pub(crate) async fn read(request: reqwest::RequestBuilder) -> (u16, String) {
    match request.send().await {
        Ok(answer) => (answer.status().as_u16(), answer.text().await.unwrap()),
        Err(error) => (0, error.to_string()),
    }
}
