//! `log`, `exec`, `attach` and `portforward` of simulated Pods, as kube uses them, on a real socket.

use std::time::Duration;

use futures::{AsyncBufReadExt, StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{AttachParams, DeleteParams, LogParams, PostParams};
use kube::runtime::wait::await_condition;
use kube::{Api, Client, Config};
use plane::Plane;
use plane::hooks::User;
use plane::security::Security;
use plane::workloads::{Connection, Program, Session, Workloads};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

const TOKEN: &str = "streams";

/// A plane on a socket, until it is dropped.
struct Served {
    plane: Plane,
    url: String,
    _stop: tokio_util::sync::DropGuard,
}

async fn serve(workloads: Workloads) -> Served {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let security = Security::enforced().token(TOKEN, User::admin()).token("viewer", viewer());
    let plane = Plane::builder().security(security).workloads(workloads).build();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let stop = CancellationToken::new();
    let (serving, stopping) = (plane.clone(), stop.clone());
    tokio::spawn(async move { serving.serve(listener, None, stopping).await });
    Served { plane, url, _stop: stop.drop_guard() }
}

fn viewer() -> User {
    User::new("viewer", ["viewers"])
}

impl Served {
    fn client(&self, token: &str) -> Client {
        let mut config = Config::new(self.url.parse().unwrap());
        config.auth_info.token = Some(token.to_owned().into());
        Client::try_from(config).unwrap()
    }

    fn pods(&self) -> Api<Pod> {
        Api::default_namespaced(self.client(TOKEN))
    }

    /// Creates a Pod `p` with one container `c` and waits until that runs.
    async fn pod(&self, script: Value) -> Pod {
        let pod = json!({
            "metadata": { "name": "p", "annotations": { "local.quintet.dev/script": script.to_string() } },
            "spec": { "containers": [{ "name": "c", "image": "i", "env": [{ "name": "WHO", "value": "world" }] }] },
        });
        self.pods().create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await.unwrap();
        self.until("running", |pod| {
            let statuses = pod.status.as_ref().and_then(|status| status.container_statuses.as_ref());
            let state = statuses.and_then(|all| all[0].state.as_ref());
            state.is_some_and(|state| state.running.is_some())
        })
        .await
    }

    async fn until(&self, what: &str, wanted: impl Fn(&Pod) -> bool) -> Pod {
        let condition = await_condition(self.pods(), "p", |pod: Option<&Pod>| pod.is_some_and(&wanted));
        let found = tokio::time::timeout(Duration::from_secs(30), condition).await;
        found.unwrap_or_else(|_| panic!("never {what}")).unwrap().unwrap()
    }

    /// Runs a command with this input; what it printed, what it complained, and the code it ended with.
    async fn exec(&self, command: &[&str], input: &str) -> (String, String, i32) {
        let params = AttachParams::default().stdin(true).stderr(true);
        let mut process = self.pods().exec("p", command.iter().copied(), &params).await.unwrap();
        let mut stdin = process.stdin().unwrap();
        stdin.write_all(input.as_bytes()).await.unwrap();
        stdin.shutdown().await.unwrap();
        let (mut out, mut err) = (String::new(), String::new());
        let (mut stdout, mut stderr) = (process.stdout().unwrap(), process.stderr().unwrap());
        let status = process.take_status().unwrap();
        let (_, _, status) =
            tokio::join!(stdout.read_to_string(&mut out), stderr.read_to_string(&mut err), status);
        let status = status.expect("a status at the end");
        let code = match status.status.as_deref() {
            Some("Success") => 0,
            _ => {
                assert_eq!(status.reason.as_deref(), Some("NonZeroExitCode"));
                status.details.unwrap().causes.unwrap()[0].message.clone().unwrap().parse().unwrap()
            }
        };
        (out, err, code)
    }
}

#[tokio::test]
async fn a_simulated_container_knows_a_few_commands_and_what_its_script_teaches_it() {
    let served = serve(Workloads::new()).await;
    let exec = json!({ "ls /": "bin\n", "make": { "stderr": "no rule\n", "code": 2 } });
    served.pod(json!({ "exec": exec })).await;
    assert_eq!(served.exec(&["echo", "a", "b"], "").await, ("a b\n".into(), String::new(), 0));
    assert_eq!(served.exec(&["ls", "/"], "").await, ("bin\n".into(), String::new(), 0));
    assert_eq!(served.exec(&["make"], "").await, (String::new(), "no rule\n".into(), 2));
    assert_eq!(served.exec(&["cat"], "what is typed").await.0, "what is typed");
    assert_eq!(served.exec(&["hostname"], "").await.0, "p\n");
    let (_, told, code) = served.exec(&["python3"], "").await;
    assert_eq!(code, 127);
    assert!(told.contains("simulated") && told.contains("local.quintet.dev/script"), "{told}");
}

#[tokio::test]
async fn rust_code_stands_behind_a_container() {
    let main = |mut session: Session| async move {
        if session.command.is_empty() {
            let mut word = String::new();
            session.stdout.write_all(b"say something\n").await.unwrap();
            session.stdin.read_to_string(&mut word).await.unwrap();
            session.stdout.write_all(format!("heard {word}\n").as_bytes()).await.unwrap();
            return 3;
        }
        session.stdout.write_all(session.command.join("+").as_bytes()).await.unwrap();
        7
    };
    let program = Program::new(main);
    let served = serve(Workloads::new().backed(move |_, name| (name == "c").then(|| program.clone()))).await;
    served.pod(json!({})).await;
    assert_eq!(served.exec(&["a", "b"], "").await, ("a+b".into(), String::new(), 7));

    let mut attached = served.pods().attach("p", &AttachParams::default().stdin(true)).await.unwrap();
    let (mut stdin, mut stdout) = (attached.stdin().unwrap(), attached.stdout().unwrap());
    stdin.write_all(b"hello").await.unwrap();
    stdin.shutdown().await.unwrap();
    let mut heard = String::new();
    stdout.read_to_string(&mut heard).await.unwrap();
    assert!(heard.ends_with("heard hello\n"), "{heard}");

    let ended = served
        .until("restarting", |pod| {
            let status = &pod.status.as_ref().unwrap().container_statuses.as_ref().unwrap()[0];
            status.last_state.as_ref().is_some_and(|state| state.terminated.is_some())
        })
        .await;
    let status = ended.status.unwrap().container_statuses.unwrap().remove(0);
    assert_eq!(
        status.last_state.unwrap().terminated.unwrap().exit_code,
        3,
        "the program's code is the container's"
    );
    assert_eq!(served.pods().logs("p", &LogParams::default()).await.unwrap(), "say something\nheard hello\n");
}

#[tokio::test]
async fn a_process_of_this_machine_stands_behind_a_container_where_that_is_allowed() {
    let served = serve(Workloads::new().processes(true)).await;
    let script = "echo hello $WHO; read line; exit 4";
    served.pod(json!({ "process": ["sh", "-c", script], "log": ["first"] })).await;
    assert_eq!(
        served.exec(&["sh", "-c", "cat; echo $WHO >&2; exit 5"], "in").await,
        ("in".into(), "world\n".into(), 5)
    );
    let mut lines = served
        .pods()
        .log_stream("p", &LogParams { follow: true, ..LogParams::default() })
        .await
        .unwrap()
        .lines();
    for line in ["first", "hello world"] {
        assert_eq!(lines.next().await.unwrap().unwrap(), line);
    }
    served.pods().delete("p", &DeleteParams::default()).await.unwrap();
    assert!(lines.next().await.is_none(), "the log ends with the Pod");
}

#[tokio::test]
async fn a_process_is_refused_where_it_is_not_allowed() {
    let served = serve(Workloads::new()).await;
    let pod = json!({
        "metadata": { "name": "p", "annotations": { "local.quintet.dev/script": r#"{"process": ["true"]}"# } },
        "spec": { "containers": [{ "name": "c", "image": "i" }] },
    });
    served.pods().create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await.unwrap();
    let refused = |pod: &Pod| {
        let statuses = pod.status.as_ref().and_then(|status| status.container_statuses.as_ref());
        let waiting = statuses.and_then(|all| all[0].state.as_ref()?.waiting.as_ref());
        waiting
            .is_some_and(|waiting| waiting.message.as_ref().is_some_and(|m| m.contains("--allow-processes")))
    };
    served.until("refused", refused).await;
}

#[tokio::test]
async fn a_log_is_followed_to_its_end_and_the_run_before_is_kept() {
    let served = serve(Workloads::new()).await;
    served.pod(json!({ "log": ["one", "two"], "exit": { "code": 1, "after": "2s" } })).await;
    let none = LogParams { previous: true, ..LogParams::default() };
    let kube::Error::Api(status) = served.pods().logs("p", &none).await.unwrap_err() else {
        panic!("no refusal")
    };
    assert_eq!(status.message, r#"previous terminated container "c" in pod "p" not found"#);
    let follow = LogParams { follow: true, timestamps: true, ..LogParams::default() };
    let lines: Vec<String> =
        served.pods().log_stream("p", &follow).await.unwrap().lines().try_collect().await.unwrap();
    let words: Vec<&str> = lines.iter().map(|line| line.split_once("Z ").unwrap().1).collect();
    assert_eq!(words, ["one", "two"], "it ended with the container");
    served
        .until("waiting", |pod| {
            let status = &pod.status.as_ref().unwrap().container_statuses.as_ref().unwrap()[0];
            status.state.as_ref().is_some_and(|state| state.waiting.is_some())
        })
        .await;
    let short = LogParams { previous: true, limit_bytes: Some(5), ..LogParams::default() };
    assert_eq!(served.pods().logs("p", &short).await.unwrap(), "one\nt");
    let late = LogParams { since_seconds: Some(3600), tail_lines: Some(1), ..LogParams::default() };
    assert_eq!(served.pods().logs("p", &late).await.unwrap(), "two\n");
}

#[tokio::test]
async fn a_port_is_forwarded_to_what_serves_it_and_refused_where_nothing_does() {
    let echo = Program::new(|_| std::future::pending()).serving(|port| async move {
        if port != 80 {
            return Err(std::io::Error::other("no such door"));
        }
        let (ours, theirs) = duplex(1024);
        tokio::spawn(async move {
            let (mut read, mut write) = tokio::io::split(theirs);
            tokio::io::copy(&mut read, &mut write).await
        });
        Ok(Box::new(ours) as Box<dyn Connection>)
    });
    let served = serve(Workloads::new().backed(move |_, _| Some(echo.clone()))).await;
    served.pod(json!({})).await;
    let mut forwarded = served.pods().portforward("p", &[80, 81]).await.unwrap();
    let mut stream = forwarded.take_stream(80).unwrap();
    stream.write_all(b"ping").await.unwrap();
    let mut answer = [0; 4];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"ping");
    let told = forwarded.take_error(81).unwrap().await.unwrap();
    assert!(told.contains("no such door"), "{told}");
}

#[tokio::test]
async fn what_cannot_be_reached_is_refused_before_the_protocol_changes() {
    let served = serve(Workloads::new()).await;
    let pod = json!({
        "metadata": { "name": "p" },
        "spec": { "schedulingGates": [{ "name": "x.io/wait" }],
                  "containers": [{ "name": "a", "image": "i" }, { "name": "b", "image": "i" }] },
    });
    served.pods().create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await.unwrap();
    let ask = async |path: &str, token: &str| {
        let url = format!("{}/api/v1/namespaces/default/pods/{path}", served.url);
        let answer = reqwest::Client::new().get(url).bearer_auth(token).send().await.unwrap();
        let (code, body) = (answer.status().as_u16(), answer.text().await.unwrap());
        let status: Value = serde_json::from_str(&body).unwrap_or_default();
        (code, status["message"].as_str().unwrap_or(&body).to_owned())
    };
    let told = |code: u16, text: &str| (code, text.to_owned());
    assert_eq!(ask("zz/exec?command=ls&stdout=true", TOKEN).await, told(404, r#"pods "zz" not found"#));
    let choose = "a container name must be specified for pod p, choose one of: [a b]";
    assert_eq!(ask("p/exec?command=ls&stdout=true", TOKEN).await, told(400, choose));
    assert_eq!(ask("p/attach?container=zz", TOKEN).await, told(400, "container zz is not valid for pod p"));
    let unplaced = "pod p does not have a host assigned";
    assert_eq!(ask("p/exec?command=ls&container=a&stdout=true", TOKEN).await, told(400, unplaced));
    assert_eq!(ask("p/log?container=a", TOKEN).await, told(204, ""));
    let (code, refusal) = ask("p/exec?command=ls&container=a", "viewer").await;
    assert_eq!(code, 403);
    assert!(refusal.contains(r#"cannot get resource "pods/exec""#), "{refusal}");
}

#[tokio::test]
async fn opening_a_stream_needs_the_right_to_create_it() {
    let served = serve(Workloads::new()).await;
    served.pod(json!({})).await;
    let admin = served.plane.client();
    let role = json!({ "metadata": { "name": "r" }, "rules": [{ "apiGroups": [""], "resources": ["pods/exec"], "verbs": ["get"] }] });
    let binding = json!({ "metadata": { "name": "r" }, "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r" },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "viewer" }] });
    let roles: Api<k8s_openapi::api::rbac::v1::Role> = Api::default_namespaced(admin.clone());
    roles.create(&PostParams::default(), &serde_json::from_value(role).unwrap()).await.unwrap();
    let bindings: Api<k8s_openapi::api::rbac::v1::RoleBinding> = Api::default_namespaced(admin);
    bindings.create(&PostParams::default(), &serde_json::from_value(binding).unwrap()).await.unwrap();
    let url = format!("{}/api/v1/namespaces/default/pods/p/exec?command=true&stdout=true", served.url);
    let answer = reqwest::Client::new().get(url).bearer_auth("viewer").send().await.unwrap();
    assert_eq!(answer.status().as_u16(), 403);
    let refusal = answer.text().await.unwrap();
    assert!(refusal.contains(r#"cannot create resource \"pods/exec\""#), "{refusal}");
}
