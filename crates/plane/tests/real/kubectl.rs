//! A real kubectl, against the real server and against the plane: what people type must work the same.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::PathBuf,
    process::{Child, Command, Output, Stdio},
};

use http::{HeaderValue, Request};
use hyper::body::Incoming;
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
    service::TowerToHyperService,
};
use plane::{Plane, hooks::User, security::Security, workloads::Workloads};
use quintet_harness::{
    Scratch,
    kube::{Cluster, Tools},
    or_skip,
};
use tokio::net::TcpListener;
use tower::ServiceExt as _;

/// kubectl with one kubeconfig.
struct Kubectl {
    program: PathBuf,
    kubeconfig: PathBuf,
    scratch: Scratch,
    namespace: &'static str,
}

impl Kubectl {
    fn start(&self, arguments: &[&str]) -> Child {
        Command::new(&self.program)
            .arg("--kubeconfig")
            .arg(&self.kubeconfig)
            .args(["--cache-dir", &self.scratch.path().join("cache").to_string_lossy(), "-n", self.namespace])
            .args(arguments)
            .current_dir(self.scratch.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("kubectl starts")
    }

    fn run(&self, arguments: &[&str], input: &str) -> Output {
        let mut child = self.start(arguments);
        let mut stdin = child.stdin.take().expect("a pipe");
        stdin.write_all(input.as_bytes()).expect("kubectl reads");
        drop(stdin);
        child.wait_with_output().expect("kubectl ends")
    }

    /// Runs a command that must succeed; what it printed.
    #[track_caller]
    fn ok(&self, command: &str) -> String {
        self.ok_with(command, "")
    }

    #[track_caller]
    fn ok_with(&self, command: &str, input: &str) -> String {
        let arguments: Vec<&str> = command.split(' ').collect();
        let output = self.run(&arguments, input);
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "kubectl {command}\n{out}{err}");
        out.trim().to_owned()
    }

    /// Starts a command that goes on, and waits until it printed `first`; then does `change`, and waits for `second`.
    #[track_caller]
    fn watches(&self, command: &str, first: &str, second: &str, change: impl FnOnce()) {
        let patience = ["--request-timeout=60s"];
        let arguments: Vec<&str> = command.split(' ').chain(patience).collect();
        let mut child = self.start(&arguments);
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines().map_while(Result::ok);
        let printed = lines.any(|line| line == first);
        change();
        let told = printed && lines.any(|line| line == second);
        let _ = child.kill();
        let _ = child.wait();
        assert!(told, "kubectl {command}: {first} was printed: {printed}; {second} was not");
    }

    /// Runs a command that must fail with this exit code; what it said.
    #[track_caller]
    fn fails(&self, code: i32, command: &str, input: &str) -> String {
        let arguments: Vec<&str> = command.split(' ').collect();
        let output = self.run(&arguments, input);
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(code), "kubectl {command}\n{out}{err}");
        format!("{out}{err}")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_real_server_serves_kubectl() {
    let Some(cluster) = or_skip("kubectl against a real server", Cluster::shared().await) else { return };
    let kubectl = Kubectl {
        program: cluster.tools().program("kubectl"),
        kubeconfig: cluster.kubeconfig().expect("a kubeconfig"),
        scratch: Scratch::new("quintet-kubectl-").expect("a directory"),
        namespace: "kubectl",
    };
    tokio::task::spawn_blocking(move || session(&kubectl)).await.expect("the session holds");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_plane_serves_kubectl() {
    let Some(tools) = or_skip("kubectl against the plane", Tools::find()) else { return };
    let scratch = Scratch::new("quintet-kubectl-").expect("a directory");
    let (_plane, kubeconfig) = served(&scratch).await;
    let kubectl = Kubectl { program: tools.program("kubectl"), kubeconfig, scratch, namespace: "kubectl" };
    tokio::task::spawn_blocking(move || session(&kubectl)).await.expect("the session holds");
}

/// A plane on loopback, and a kubeconfig for it.
pub(super) async fn served(scratch: &Scratch) -> (Plane, PathBuf) {
    let plane = Plane::builder()
        .security(Security::enforced().token("kubectl", User::admin()))
        .workloads(Workloads::new())
        .build();
    let address = listen(&plane).await;
    let kubeconfig = scratch.path().join("config");
    let text = format!(
        r#"{{"apiVersion": "v1", "kind": "Config", "current-context": "plane",
            "clusters": [{{"name": "plane", "cluster": {{"server": "http://{address}"}}}}],
            "users": [{{"name": "anyone", "user": {{}}}}],
            "contexts": [{{"name": "plane", "context": {{"cluster": "plane", "user": "anyone"}}}}]}}"#
    );
    std::fs::write(&kubeconfig, text).expect("a kubeconfig");
    (plane, kubeconfig)
}

/// Serves the plane on loopback in plain text.
async fn listen(plane: &Plane) -> std::net::SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let address = listener.local_addr().expect("a bound socket");
    // kubectl sends no token over plain text, so it is added here; impersonation goes through as it comes.
    let service = plane.service().map_request(|mut request: Request<Incoming>| {
        request.headers_mut().insert("authorization", HeaderValue::from_static("Bearer kubectl"));
        request
    });
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let service = TowerToHyperService::new(service.clone());
            tokio::spawn(async move {
                let connection = auto::Builder::new(TokioExecutor::new());
                let _ = connection.serve_connection(TokioIo::new(stream), service).await;
            });
        }
    });
    address
}

const DEPLOYMENT: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: 'i:1'}]}
";

/// One session that uses each command once or more; the same on both servers.
fn session(kubectl: &Kubectl) {
    kubectl.ok("create namespace kubectl");

    // Client-side apply: create, no change, change; and what diff says in between.
    assert_eq!(kubectl.ok_with("apply -f -", DEPLOYMENT), "deployment.apps/web created");
    assert_eq!(kubectl.ok_with("apply -f -", DEPLOYMENT), "deployment.apps/web unchanged");
    let changed = DEPLOYMENT.replace("i:1", "i:2");
    let difference = kubectl.fails(1, "diff -f -", &changed);
    assert!(difference.contains("+      - image: i:2"), "{difference}");
    assert_eq!(kubectl.ok_with("apply -f -", &changed), "deployment.apps/web configured");

    kubectl.ok("rollout status deployment/web --timeout=60s");
    kubectl.ok("wait deployment/web --for=condition=Available --timeout=60s");
    kubectl.ok("wait deployment/web --for=jsonpath={.status.readyReplicas}=2 --timeout=60s");

    // What is printed.
    let table = kubectl.ok("get deployment web");
    let mut lines = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    assert_eq!(lines.next().unwrap_or_default(), ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE"]);
    assert_eq!(lines.next().unwrap_or_default()[..4], ["web", "2/2", "2", "2"]);
    let wide = kubectl.ok("get deployment web -o wide");
    assert!(wide.contains("CONTAINERS") && wide.contains("i:2") && wide.contains("app=web"), "{wide}");
    assert_eq!(kubectl.ok("get deployment web -o jsonpath={.spec.replicas}"), "2");
    assert!(kubectl.ok("get pods -l app=web -o name").lines().count() == 2);
    assert!(kubectl.ok("describe deployment web").contains("NewReplicaSetAvailable"));
    kubectl.ok("get all");

    // A watch sees the change made beside it.
    kubectl.watches("get configmap -w -o name", "configmap/kube-root-ca.crt", "configmap/seen", || {
        kubectl.ok("create configmap seen --from-literal=a=1");
    });

    // Patches of each kind, labels, scale, set, history.
    kubectl.ok(r#"patch configmap seen --type=merge -p {"data":{"b":"2"}}"#);
    kubectl.ok(r#"patch configmap seen --type=json -p [{"op":"remove","path":"/data/a"}]"#);
    assert_eq!(kubectl.ok("get configmap seen -o jsonpath={.data}"), r#"{"b":"2"}"#);
    kubectl.ok(r#"patch deployment web -p {"spec":{"template":{"spec":{"containers":[{"name":"c","args":["x"]}]}}}}"#);
    kubectl.ok("label configmap seen team=a");
    kubectl.ok("annotate configmap seen note=b");
    kubectl.ok("scale deployment web --replicas=1");
    kubectl.ok("set image deployment/web c=i:3");
    kubectl.ok("rollout status deployment/web --timeout=60s");
    assert!(kubectl.ok("rollout history deployment/web").lines().count() >= 3);
    kubectl.ok("rollout undo deployment/web");
    kubectl.ok("rollout status deployment/web --timeout=60s");

    // Server-side apply, over what was applied from the client.
    let forced = kubectl.ok_with("apply --server-side --force-conflicts -f -", &changed);
    assert_eq!(forced, "deployment.apps/web serverside-applied");
    let other = changed.replace("replicas: 2", "replicas: 3");
    let refused = kubectl.fails(1, "apply --server-side --field-manager=other -f -", &other);
    assert!(refused.contains("conflict with \"kubectl\": .spec.replicas"), "{refused}");

    // What is refused before it is stored.
    let typo = DEPLOYMENT.replace("image:", "imag:");
    let refused = kubectl.fails(1, "create -f -", &typo.replace("name: web", "name: typo"));
    assert!(refused.contains("unknown field \"spec.template.spec.containers[0].imag\""), "{refused}");

    // Discovery and documentation.
    let resources = kubectl.ok("api-resources");
    assert!(
        resources.lines().any(|line| line.starts_with("deployments") && line.contains("deploy")),
        "{resources}"
    );
    assert!(kubectl.ok("api-versions").lines().any(|line| line == "apps/v1"));
    let explained = kubectl.ok("explain deployment.spec.replicas");
    assert!(explained.contains("FIELD: replicas <integer>"), "{explained}");
    kubectl.ok("version");

    // Rights and tokens.
    assert_eq!(kubectl.ok("auth can-i create pods"), "yes");
    assert_eq!(kubectl.fails(1, "auth can-i create pods --as=nobody", "").lines().next(), Some("no"));
    kubectl.ok("auth whoami");
    kubectl.ok("create serviceaccount robot");
    assert!(kubectl.ok("create token robot").split('.').count() == 3);
    kubectl.ok("create role reader --verb=get --resource=configmaps");
    kubectl.ok("create rolebinding reader --role=reader --serviceaccount=kubectl:robot");
    assert_eq!(kubectl.ok("auth can-i get configmaps --as=system:serviceaccount:kubectl:robot"), "yes");

    // Deletion and its cascades.
    let sets = || kubectl.ok("get replicasets -o name").lines().count();
    kubectl.ok("delete deployment web --cascade=orphan");
    assert!(sets() > 0);
    kubectl.ok_with("apply -f -", &changed);
    kubectl.ok("rollout status deployment/web --timeout=60s");
    kubectl.ok("delete deployment web --cascade=foreground");
    assert_eq!(sets(), 0, "adopted again and deleted with it");
    kubectl.ok_with("apply --server-side -f -", DEPLOYMENT);
    let differs =
        kubectl.fails(1, "diff --server-side -f -", &DEPLOYMENT.replace("replicas: 2", "replicas: 5"));
    assert!(differs.contains("+  replicas: 5"), "{differs}");
    kubectl.ok("rollout status deployment/web --timeout=60s");
    kubectl.ok("delete deployment web --cascade=background");
    kubectl.ok("wait replicaset --all --for=delete --timeout=60s");
    custom(kubectl);
    kubectl.ok("delete configmap seen --wait");
    assert!(kubectl.fails(1, "get configmap seen", "").contains("configmaps \"seen\" not found"));
    kubectl.ok("delete namespace kubectl --timeout=60s");
}

/// Custom resources are treated like any other.
fn custom(kubectl: &Kubectl) {
    let definition = include_str!("../samples/definition.yaml");
    kubectl.ok_with("apply -f -", definition);
    kubectl.ok("wait crd/orchards.samples.example.com --for=condition=Established --timeout=60s");
    let samples = include_str!("../samples/accepted.yaml");
    let made = kubectl.ok_with("create -f -", samples);
    assert_eq!(made.lines().count(), 3, "{made}");
    let table = kubectl.ok("get orch everything");
    let cells: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!((&cells[0][..], &cells[1][..2]), (&["NAME", "TREES"][..], &["everything", "12"][..]));
    assert!(kubectl.ok("explain orchards.spec.trees").contains("FIELD: trees <integer>"));
    kubectl.ok(r#"patch orchard least --type=merge -p {"spec":{"trees":2}}"#);
    kubectl.ok(r#"patch orchard least --subresource=status --type=merge -p {"status":{"trees":2}}"#);
    kubectl.ok("scale orchard least --replicas=3");
    assert_eq!(kubectl.ok("get orchard least -o jsonpath={.spec.trees}/{.status.trees}"), "3/2");
    let refused = kubectl.fails(1, r#"patch orchard least --type=merge -p {"spec":{"trees":0}}"#, "");
    assert!(refused.contains("spec.trees in body should be greater than or equal to 1"), "{refused}");
    kubectl.ok("delete crd orchards.samples.example.com --timeout=60s");
}
