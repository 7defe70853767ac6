//! Envoy, our service and a provider, put together.

use std::net::SocketAddr;

use quintet_harness::envoy::{BodyMode, Config, Envoy, ExtProc, Route};
use quintet_harness::or_skip;
use quintet_payload::config::PluginSpec;
use quintet_payload::extproc::{BodyMode as Mode, Limits};
use quintet_payload::server::{Listeners, MetricsAccess, Options, Server};
use quintet_payload::stores::{Credential, Model, Stores};
use quintet_payload::tls::Identity;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::provider::{Provider, Seen};

/// Largest body the service takes in these tests.
pub(crate) const MAX_BODY: usize = 2_000_000;

pub(crate) struct Site {
    pub(crate) envoy: Envoy,
    pub(crate) provider: Provider,
    pub(crate) limits: Limits,
    pub(crate) client: reqwest::Client,
    _stop: DropGuard,
}

/// ExternalModel, provider, target, key.
const MODELS: [(&str, &str, &str, &str); 7] = [
    ("claude", "anthropic", "claude-x", "sk-1"),
    ("gpt", "openai", "gpt-4o", "sk-2"),
    ("azure", "azure-openai", "gpt-az", "sk-3"),
    ("vertex", "vertex-openai", "gemini-x", "sk-4"),
    ("bedrock", "bedrock-openai", "nova-x", "sk-5"),
    ("cohere", "cohere", "command", "sk-6"),
    ("nokey", "openai", "nokey-x", ""),
];

fn fill(stores: &Stores) {
    for (name, provider, target, value) in MODELS {
        let key = ("llm".to_owned(), name.to_owned());
        let model = Model {
            provider: provider.into(),
            target_model: target.into(),
            endpoint: "provider.example".into(),
            credential: name.into(),
            created: 1,
        };
        stores.models.insert(key.clone(), model);
        if let Ok(credential) = Credential::new(&key, [("api-key".to_owned(), value.to_owned())]) {
            stores.credentials.insert(key, credential);
        }
    }
}

/// The routes of the controller: by path for internal models and the first pass, by header after the rewrite.
fn routes() -> Vec<Route> {
    let by_header = MODELS.map(|(_, _, target, _)| Route::Header("x-gateway-model-name", target));
    [Route::Prefix("/internal/"), Route::Prefix("/llm/")].into_iter().chain(by_header).collect()
}

impl Site {
    pub(crate) async fn start(mode: BodyMode) -> Option<Site> {
        Site::start_with(mode, false).await
    }

    pub(crate) async fn start_with(mode: BodyMode, tls: bool) -> Option<Site> {
        quintet_payload::tls::install_crypto();
        let provider = Provider::start().await;
        let mut plugins = PluginSpec::maas();
        plugins[2] = r#"api-translation:api-translation:{"vertexOpenAI":{"project":"p","location":"l","endpoint":"openapi"}}"#.parse().unwrap();
        let limits = Limits::new(MAX_BODY, 10 * MAX_BODY);
        let server = Server::new(Options {
            plugins,
            mode: Mode::Duplex, // whatever it says: Envoy tells the mode it uses
            limits: limits.clone(),
            identity: tls.then(|| Identity::self_signed().unwrap()),
            metrics_access: MetricsAccess::Open,
            pprof: false,
        })
        .unwrap();
        fill(server.stores());
        let listeners = Listeners::loopback().await.unwrap();
        let address: SocketAddr = listeners.grpc.local_addr().unwrap();
        let stop = CancellationToken::new();
        tokio::spawn(server.serve(listeners, None, stop.clone()));
        let config = Config {
            routes: routes(),
            upstream_http2: true,
            ext_proc: Some(ExtProc { address, tls, mode }),
            ..Config::to(provider.address)
        };
        let started = tokio::task::spawn_blocking(move || Envoy::start(&config)).await.unwrap();
        let envoy = or_skip("payload processing behind Envoy", started)?;
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        Some(Site { envoy, provider, limits, client, _stop: stop.drop_guard() })
    }

    /// A POST of JSON with the caller's credentials.
    pub(crate) async fn post(&self, path: &str, body: &str) -> reqwest::Response {
        let request = self.client.post(self.envoy.url(path)).header("content-type", "application/json");
        let request = request.bearer_auth("caller").header("x-api-key", "caller").header("api-key", "caller");
        request
            .body(body.to_owned())
            .send()
            .await
            .unwrap_or_else(|e| panic!("{e}\n{}", self.envoy.log_tail()))
    }

    /// What reached the provider.
    pub(crate) fn seen(&self) -> Seen {
        self.provider
            .seen()
            .unwrap_or_else(|| panic!("nothing reached the provider\n{}", self.envoy.log_tail()))
    }
}
