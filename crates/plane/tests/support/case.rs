use kube::Client;
use serde_json::{Value, json};

use super::{Answer, chosen, events, request, send, server::Server};

/// One test's view of the server: a namespace of its own, and short ways to ask.
pub(crate) struct Case {
    server: Server,
    /// The namespace, fresh.
    pub(crate) ns: String,
}

impl Case {
    /// A namespace on the server under test.
    pub(crate) async fn new() -> Case {
        let server = chosen().await;
        let body =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "conformance-"}});
        let made = send(&server.client, request("POST", "/api/v1/namespaces", &body)).await;
        assert_eq!(made.code, 201, "{}", made.body);
        let ns = made.text("/metadata/name").to_owned();
        Case { server, ns }
    }

    pub(crate) fn client(&self) -> &Client {
        &self.server.client
    }

    /// The path of a namespaced resource and of anything below it: `configmaps/c`, `deployments.apps/v1/web?x=y`.
    pub(crate) fn path(&self, resource: &str) -> String {
        let cut = |text: &str| text.find(['/', '?']).unwrap_or(text.len());
        let (name, rest) = resource.split_at(cut(resource));
        let Some((plural, group)) = name.split_once('.') else {
            return format!("/api/v1/namespaces/{}/{name}{rest}", self.ns);
        };
        let rest = rest.strip_prefix('/').expect("a version after the group");
        let (version, rest) = rest.split_at(cut(rest));
        format!("/apis/{group}/{version}/namespaces/{}/{plural}{rest}", self.ns)
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, Value::Null).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answer {
        self.send("POST", path, body).await
    }

    pub(crate) async fn put(&self, path: &str, body: Value) -> Answer {
        self.send("PUT", path, body).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.send("DELETE", path, Value::Null).await
    }

    pub(crate) async fn send(&self, method: &str, path: &str, body: Value) -> Answer {
        send(self.client(), request(method, path, &body)).await
    }

    /// A patch: `merge`, `strategic`, `json` or `apply`.
    pub(crate) async fn patch(&self, kind: &str, path: &str, body: Value) -> Answer {
        let media_type = match kind {
            "merge" => "application/merge-patch+json",
            "strategic" => "application/strategic-merge-patch+json",
            "json" => "application/json-patch+json",
            "apply" => "application/apply-patch+yaml",
            other => panic!("no patch is called {other}"),
        };
        let mut request = request("PATCH", path, &body);
        request.headers_mut().insert("content-type", media_type.parse().expect("a media type"));
        send(self.client(), request).await
    }

    /// The answer in another form.
    pub(crate) async fn get_as(&self, path: &str, accept: &str) -> Answer {
        let mut request = request("GET", path, &Value::Null);
        request.headers_mut().insert("accept", accept.parse().expect("a media type"));
        send(self.client(), request).await
    }

    /// The first events of a watch.
    pub(crate) async fn watch(&self, path: &str, count: usize) -> Vec<Value> {
        events(self.client(), request("GET", path, &Value::Null), count).await
    }

    /// A ConfigMap of this namespace.
    pub(crate) async fn config_map(&self, name: &str, data: Value) -> Answer {
        let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data});
        let made = self.post(&self.path("configmaps"), body).await;
        assert_eq!(made.code, 201, "{}", made.body);
        made
    }

    /// Asks again until the answer satisfies; for what controllers do in their own time.
    pub(crate) async fn until(&self, path: &str, wanted: impl Fn(&Answer) -> bool) -> Answer {
        let (start, patience) = (std::time::Instant::now(), if self.server.is_plane { 15 } else { 60 });
        loop {
            let answer = self.get(path).await;
            if wanted(&answer) {
                return answer;
            }
            assert!(start.elapsed().as_secs() < patience, "{path} never became as wanted: {}", answer.body);
            tokio::time::sleep(std::time::Duration::from_millis(30)).await;
        }
    }

    /// Makes a CRD with this schema for `spec` and waits until it is served; returns the path of its objects.
    pub(crate) async fn crd(&self, kind: &str, version: Value) -> String {
        let (singular, group) = (kind.to_lowercase(), format!("{}.example.com", self.ns));
        let plural = format!("{singular}s");
        let body = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.{group}")},
            "spec": {"group": group, "scope": "Namespaced", "names": {"plural": plural, "kind": kind}, "versions": [version]},
        });
        let made = self.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body).await;
        assert_eq!(made.code, 201, "{}", made.body);
        let path = format!("/apis/{group}/v1/namespaces/{}/{plural}", self.ns);
        self.until(&path, |answer| answer.code == 200).await;
        path
    }
}
