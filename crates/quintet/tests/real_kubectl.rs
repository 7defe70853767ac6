//! kubectl against `quintet up`: what people type to follow and to look into workloads.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use quintet_harness::{kube::Tools, or_skip};
use tempfile::TempDir;

const WEB: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/local/web.yaml");
const JOBS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/local/jobs.yaml");
const PROCESS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/local/process.yaml");

/// A process that ends with the test.
struct Running(Child);

impl Running {
    /// What it prints, line by line. Hold on to it: a program whose reader is gone ends at the next line it writes.
    fn lines(&mut self) -> impl Iterator<Item = String> + use<> {
        BufReader::new(self.0.stdout.take().expect("a pipe")).lines().map_while(Result::ok)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

struct Kubectl {
    program: PathBuf,
    folder: TempDir,
    _up: Running,
}

impl Kubectl {
    /// With a local cluster of its own.
    fn new(program: PathBuf) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut up = Command::new(env!("CARGO_BIN_EXE_quintet"));
        up.current_dir(folder.path()).args(["up", "-o", "json", "--allow-processes"]).stdout(Stdio::piped());
        let mut up = Running(up.spawn().unwrap());
        assert!(up.lines().next().is_some(), "it did not start");
        Kubectl { program, folder, _up: up }
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(&self.program);
        let config = self.folder.path().join(".quintet/kubeconfig");
        command.arg("--kubeconfig").arg(config).arg("--cache-dir").arg(self.folder.path().join("cache"));
        command
            .args(arguments.split(' '))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn run(&self, arguments: &str, input: &str) -> Output {
        let mut child = self.command(arguments).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    }

    /// Runs a command that must succeed; what it printed.
    #[track_caller]
    fn ok(&self, arguments: &str, input: &str) -> String {
        let done = self.run(arguments, input);
        let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
        assert!(done.status.success(), "kubectl {arguments}\n{out}{err}");
        out.into_owned()
    }

    fn start(&self, arguments: &str) -> Running {
        Running(self.command(arguments).spawn().unwrap())
    }
}

#[test]
fn the_pinned_kubectl_works_on_a_local_cluster() {
    let Some(tools) = or_skip("kubectl on `quintet up`", Tools::find()) else { return };
    session(&Kubectl::new(tools.program("kubectl")));
}

#[test]
fn the_kubectl_of_this_machine_works_on_a_local_cluster() {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let found =
        std::env::split_paths(&paths).map(|folder| folder.join("kubectl")).find(|path| path.is_file());
    // Whether there is one is this machine's business: the pinned one is always tested.
    let Some(program) = found else { return };
    session(&Kubectl::new(program));
}

fn session(kubectl: &Kubectl) {
    rollouts(kubectl);
    looking_inside(kubectl);
    processes(kubectl);
    jobs(kubectl);
    forwarding(kubectl);
}

fn rollouts(kubectl: &Kubectl) {
    kubectl.ok(&format!("apply -f {WEB}"), "");
    let told = kubectl.ok("rollout status deployment/web --timeout=60s", "");
    assert!(told.contains(r#"deployment "web" successfully rolled out"#), "{told}");
    kubectl.ok("set image deployment/web web=nginx:1.29", "");
    kubectl.ok("rollout status deployment/web --timeout=60s", "");
    let history = kubectl.ok("rollout history deployment/web", "");
    assert!(
        history.lines().any(|line| line.starts_with("1 "))
            && history.lines().any(|line| line.starts_with("2 ")),
        "{history}"
    );
    let second = kubectl.ok("rollout history deployment/web --revision=2", "");
    assert!(second.contains("nginx:1.29"), "{second}");
    kubectl.ok("rollout undo deployment/web", "");
    kubectl.ok("rollout status deployment/web --timeout=60s", "");
    let image = "get deployment web -o jsonpath={.spec.template.spec.containers[0].image}";
    assert_eq!(kubectl.ok(image, ""), "nginx:1.28");
    kubectl.ok("rollout pause deployment/web", "");
    kubectl.ok("rollout resume deployment/web", "");
    kubectl.ok("rollout restart deployment/web", "");
    kubectl.ok("rollout status deployment/web --timeout=60s", "");
    kubectl.ok("scale deployment/web --replicas=3", "");
    kubectl.ok("wait deployment/web --for=jsonpath={.status.readyReplicas}=3 --timeout=60s", "");
    kubectl.ok("wait deployment/web --for=condition=Available --timeout=60s", "");
}

fn looking_inside(kubectl: &Kubectl) {
    assert_eq!(kubectl.ok("logs deployment/web --pod-running-timeout=60s", ""), "listening on :80\n");
    let stamped = kubectl.ok("logs deployment/web --timestamps --tail=1", "");
    assert!(stamped.starts_with("20") && stamped.ends_with("Z listening on :80\n"), "{stamped}");
    assert_eq!(kubectl.ok("exec deployment/web -- ls /", ""), "bin\netc\nusr\n");
    assert_eq!(kubectl.ok("exec -i deployment/web -- cat", "what is typed"), "what is typed");
    let failed = kubectl.run("exec deployment/web -- false", "");
    let said = String::from_utf8_lossy(&failed.stderr);
    assert!(
        failed.status.code() == Some(1) && said.contains("command terminated with exit code 1"),
        "{said}"
    );
    let unknown = kubectl.run("exec deployment/web -- bash", "");
    let said = String::from_utf8_lossy(&unknown.stderr);
    assert!(unknown.status.code() == Some(127) && said.contains("this container is simulated"), "{said}");
}

fn processes(kubectl: &Kubectl) {
    kubectl.ok(&format!("apply -f {PROCESS}"), "");
    kubectl.ok("wait pod/clock --for=condition=Ready --timeout=60s", "");
    let mut follow = kubectl.start("logs -f clock");
    let mut log = follow.lines();
    assert_eq!(log.by_ref().filter(|line| line.len() == "12:00:00".len()).take(2).count(), 2);
    let mut attached = kubectl.start("attach clock");
    let mut heard = attached.lines();
    assert!(heard.any(|line| line.len() == "12:00:00".len()), "nothing was heard");
    assert_eq!(kubectl.ok("exec clock -- sh -c pwd>/dev/null;exit", ""), "");
    let ended = kubectl.run("exec clock -- sh -c exit${IFS}7", "");
    assert_eq!(ended.status.code(), Some(7));
    kubectl.ok("delete pod clock --timeout=60s", "");
    log.for_each(drop); // the log ends with the Pod
    assert!(follow.0.wait().unwrap().success());
}

fn jobs(kubectl: &Kubectl) {
    kubectl.ok(&format!("apply -f {JOBS}"), "");
    kubectl.ok("wait job/count --for=condition=Complete --timeout=60s", "");
    assert_eq!(kubectl.ok("get job count -o jsonpath={.status.succeeded}", ""), "6");
    assert_eq!(kubectl.ok("logs job/count", ""), "counted\n");
}

/// The operator's own Pod serves its health: a forwarded port reaches it, for one connection after the other.
fn forwarding(kubectl: &Kubectl) {
    let mut forward = kubectl.start("port-forward -n opendatahub deployment/quintet-mlflow :8081");
    let mut said = forward.lines();
    let first = said.next().expect("it says where it listens");
    let address = first.split(' ').nth(2).unwrap_or_default();
    for _ in 0..3 {
        let mut stream = TcpStream::connect(address).unwrap_or_else(|error| panic!("{first}: {error}"));
        stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("mlflow: ready"), "{answer}");
    }
    assert!(forward.0.try_wait().unwrap().is_none(), "it still forwards");
    drop(said);
}
