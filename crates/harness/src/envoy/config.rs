//! Envoy's bootstrap configuration.

use std::net::SocketAddr;

use serde_json::{Value, json};

/// What Envoy is to do.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where requests go, tried in order; every route leads to [`Config::upstream`].
    pub routes: Vec<Route>,
    /// The server behind.
    pub upstream: SocketAddr,
    /// Whether the upstream speaks HTTP/2, which trailers need.
    pub upstream_http2: bool,
    /// The filter, if any.
    pub ext_proc: Option<ExtProc>,
    /// Worker threads.
    pub workers: usize,
}

/// Which requests are let through, and what the upstream is told about the choice.
#[derive(Clone, Debug)]
pub enum Route {
    /// By the beginning of the path.
    Prefix(&'static str),
    /// By a header's exact value, whatever the path.
    Header(&'static str, &'static str),
}

/// How bodies are handed to ext_proc.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyMode {
    /// `FULL_DUPLEX_STREAMED`, with trailers.
    Duplex,
    /// `BUFFERED`.
    Buffered,
}

/// The external processor.
#[derive(Clone, Debug)]
pub struct ExtProc {
    /// Where it listens.
    pub address: SocketAddr,
    /// Whether over TLS (which is not verified, as in the deployment).
    pub tls: bool,
    /// How bodies are handed over.
    pub mode: BodyMode,
}

impl Config {
    /// All requests to one upstream.
    pub fn to(upstream: SocketAddr) -> Config {
        Config {
            routes: vec![Route::Prefix("/")],
            upstream,
            upstream_http2: false,
            ext_proc: None,
            workers: 1,
        }
    }

    pub(super) fn render(&self, listener: SocketAddr, admin: SocketAddr) -> Value {
        let mut upstream = cluster("upstream", self.upstream);
        if self.upstream_http2 {
            upstream["typed_extension_protocol_options"] = http2();
        }
        let mut clusters = vec![upstream];
        let mut filters = Vec::new();
        if let Some(ext_proc) = &self.ext_proc {
            clusters.push(ext_proc.cluster());
            filters.push(ext_proc.filter());
        }
        filters.push(filter("router", "envoy.extensions.filters.http.router.v3.Router", json!({})));
        let routes: Vec<Value> = self.routes.iter().map(Route::render).collect();
        let manager = json!({
            "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
            "stat_prefix": "test",
            "http_protocol_options": {"enable_trailers": true},
            "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": routes}]},
            "http_filters": filters,
        });
        json!({
            "admin": {"address": address(admin)},
            "static_resources": {
                "listeners": [{
                    "address": address(listener),
                    "filter_chains": [{"filters": [{"name": "http", "typed_config": manager}]}],
                }],
                "clusters": clusters,
            },
        })
    }
}

impl Route {
    /// The upstream reads in `x-route` which sort of route was taken.
    fn render(&self) -> Value {
        let (matched, sort) = match self {
            Route::Prefix(prefix) => (json!({"prefix": prefix}), "by-path"),
            Route::Header(name, value) => {
                let header = json!({"name": name, "string_match": {"exact": value}});
                (json!({"prefix": "/", "headers": [header]}), "by-header")
            }
        };
        json!({
            "match": matched,
            "route": {"cluster": "upstream", "timeout": "60s"},
            "request_headers_to_add": [{"header": {"key": "x-route", "value": sort}}],
        })
    }
}

impl ExtProc {
    fn cluster(&self) -> Value {
        let mut cluster = cluster("ext_proc", self.address);
        cluster["typed_extension_protocol_options"] = http2();
        if self.tls {
            cluster["transport_socket"] = json!({
                "name": "tls",
                "typed_config": {
                    "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
                    "common_tls_context": {"alpn_protocols": ["h2"]},
                },
            });
        }
        cluster
    }

    fn filter(&self) -> Value {
        let (body, trailers) = match self.mode {
            BodyMode::Duplex => ("FULL_DUPLEX_STREAMED", "SEND"),
            BodyMode::Buffered => ("BUFFERED", "SKIP"),
        };
        filter(
            "ext_proc",
            "envoy.extensions.filters.http.ext_proc.v3.ExternalProcessor",
            json!({
                "failure_mode_allow": false,
                "allow_mode_override": true,
                "message_timeout": "10s",
                "processing_mode": {
                    "request_header_mode": "SEND",
                    "response_header_mode": "SEND",
                    "request_body_mode": body,
                    "response_body_mode": body,
                    "request_trailer_mode": trailers,
                    "response_trailer_mode": trailers,
                },
                "grpc_service": {"envoy_grpc": {"cluster_name": "ext_proc"}},
            }),
        )
    }
}

fn http2() -> Value {
    json!({
        "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
            "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
            "explicit_http_config": {"http2_protocol_options": {}},
        },
    })
}

fn filter(name: &str, kind: &str, mut config: Value) -> Value {
    config["@type"] = json!(format!("type.googleapis.com/{kind}"));
    json!({"name": name, "typed_config": config})
}

fn cluster(name: &str, to: SocketAddr) -> Value {
    json!({
        "name": name,
        "type": "STATIC",
        "connect_timeout": "5s",
        "load_assignment": {
            "cluster_name": name,
            "endpoints": [{"lb_endpoints": [{"endpoint": {"address": address(to)}}]}],
        },
        "circuit_breakers": {"thresholds": [{"max_connections": 10_000, "max_pending_requests": 10_000, "max_requests": 10_000}]},
    })
}

fn address(to: SocketAddr) -> Value {
    json!({"socket_address": {"address": to.ip().to_string(), "port_value": to.port()}})
}
