//! Asking a model whether a caller may use it: `GET <url>/v1/models` with the caller's own credential.
//!
//! | answer | meaning |
//! |---|---|
//! | 2xx with a list of models | allowed, and these are the names it serves |
//! | 2xx with an empty list, 405, 429 | allowed, under the MaaSModelRef's name |
//! | 2xx without a list, or one of more than 4 MiB | denied |
//! | 401, 403, 404, a redirect to another host | denied |
//! | anything else, no connection | tried again, four times in all, then denied |

use std::time::Duration;

use futures::StreamExt;
use http::{HeaderValue, StatusCode, header};
use rand::RngExt;
use reqwest::{Client, Response, Url, redirect};
use serde::Deserialize;

/// The header that says which subscription is asked about.
const SUBSCRIPTION: &str = "x-maas-subscription";
/// The largest list that is read.
const LARGEST: usize = 4 << 20;
/// The pauses between tries; each is lengthened by up to a tenth, so that many do not come back at once.
const PAUSES: [Duration; 3] =
    [Duration::from_millis(100), Duration::from_millis(200), Duration::from_millis(400)];

/// What a probe found.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Probed {
    /// Allowed; the models it says it serves.
    Serves(Vec<Served>),
    /// Allowed; it says nothing about names.
    Allowed,
    /// Denied, or no answer to rely on.
    Denied,
}

/// A model that a backend says it serves.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub(super) struct Served {
    /// Its name; may be empty.
    pub(super) id: Option<String>,
    /// Seconds since 1970.
    pub(super) created: Option<i64>,
}

#[derive(Deserialize)]
struct Page {
    #[serde(default)]
    data: Option<Vec<Served>>,
}

/// The client could not be made.
#[derive(Debug, thiserror::Error)]
#[error("cannot make a client for access checks: {0}")]
pub struct ProberError(String);

/// Probes models.
#[derive(Clone, Debug)]
pub struct Prober {
    client: Client,
}

impl Prober {
    /// A prober that checks certificates against the given authorities (PEM), or not at all if there are none: the
    /// gateway's certificate is often signed by nobody this process knows, and the original does not check either.
    pub fn new(authorities: Option<&[u8]>) -> Result<Self, ProberError> {
        let _ = rustls::crypto::ring::default_provider().install_default(); // fails if there is one: just as good
        let stay = redirect::Policy::custom(|attempt| {
            let from = attempt
                .previous()
                .last()
                .map(|url| (url.host_str().map(str::to_owned), url.port_or_known_default()));
            let to = (attempt.url().host_str().map(str::to_owned), attempt.url().port_or_known_default());
            match from {
                _ if attempt.previous().len() > 10 => attempt.stop(),
                Some(from) if from == to => attempt.follow(),
                _ => attempt.stop(), // never carry a credential, or a subscription, to somebody else
            }
        });
        let builder = Client::builder()
            .no_proxy()
            .http1_only()
            .redirect(stay)
            .pool_max_idle_per_host(10)
            .pool_idle_timeout(Duration::from_secs(90));
        let builder = match authorities {
            None => builder.tls_danger_accept_invalid_certs(true),
            Some(pem) => {
                let authorities = reqwest::Certificate::from_pem_bundle(pem)
                    .map_err(|error| ProberError(error.to_string()))?;
                builder.tls_certs_only(authorities)
            }
        };
        Ok(Self { client: builder.build().map_err(|error| ProberError(error.to_string()))? })
    }

    /// Asks, and asks again if that may help. Sends the credential and the subscription and nothing else of the
    /// caller's.
    pub(super) async fn probe(&self, url: &str, authorization: &HeaderValue, subscription: &str) -> Probed {
        let (Some(url), Ok(subscription)) = (target(url), HeaderValue::from_str(subscription)) else {
            return Probed::Denied;
        };
        for pause in PAUSES {
            match self.attempt(&url, authorization, &subscription).await {
                Verdict::Final(probed) => return probed,
                Verdict::Retry(why) => tracing::debug!(host = url.host_str(), why, "probing again"),
            }
            let jitter = rand::rng().random_range(1.0..1.1);
            tokio::time::sleep(pause.mul_f64(jitter)).await;
        }
        match self.attempt(&url, authorization, &subscription).await {
            Verdict::Final(probed) => probed,
            Verdict::Retry(why) => {
                tracing::debug!(host = url.host_str(), why, "giving up; the model is left out");
                Probed::Denied
            }
        }
    }

    async fn attempt(&self, url: &Url, authorization: &HeaderValue, subscription: &HeaderValue) -> Verdict {
        let request = self.client.get(url.clone()).header(header::AUTHORIZATION, authorization.clone());
        match request.header(SUBSCRIPTION, subscription.clone()).send().await {
            Ok(response) => judge(response).await,
            Err(error) => Verdict::Retry(error.without_url().to_string()),
        }
    }
}

/// `/v1/models` under the model's URL; its query stays.
fn target(url: &str) -> Option<Url> {
    let mut url = Url::parse(url).ok()?;
    let path = format!("{}/v1/models", url.path().trim_end_matches('/'));
    url.set_path(&path);
    matches!(url.scheme(), "http" | "https").then_some(url)
}

enum Verdict {
    Final(Probed),
    Retry(String),
}

async fn judge(response: Response) -> Verdict {
    match response.status() {
        status if status.is_success() => read(response).await,
        StatusCode::METHOD_NOT_ALLOWED | StatusCode::TOO_MANY_REQUESTS => Verdict::Final(Probed::Allowed),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::NOT_FOUND => {
            Verdict::Final(Probed::Denied)
        }
        status if status.is_redirection() => Verdict::Final(Probed::Denied),
        status => Verdict::Retry(format!("status {status}")),
    }
}

async fn read(response: Response) -> Verdict {
    let mut body = Vec::new();
    let mut chunks = response.bytes_stream();
    while let Some(chunk) = chunks.next().await {
        match chunk {
            Ok(chunk) if body.len() + chunk.len() > LARGEST => return Verdict::Final(Probed::Denied),
            Ok(chunk) => body.extend_from_slice(&chunk),
            Err(error) => return Verdict::Retry(error.without_url().to_string()),
        }
    }
    match serde_json::from_slice::<Option<Page>>(&body) {
        Err(error) => Verdict::Retry(format!("not a list of models: {error}")),
        Ok(page) => Verdict::Final(match page.and_then(|page| page.data) {
            None => Probed::Denied,
            Some(models) if models.iter().all(|m| m.id.as_deref().unwrap_or_default().is_empty()) => {
                Probed::Allowed
            }
            Some(models) => Probed::Serves(models),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::target;

    #[test]
    fn the_path_is_joined_and_the_query_kept() {
        for (url, expected) in [
            ("https://h/llm/llama", Some("https://h/llm/llama/v1/models")),
            ("https://h/llm/llama/", Some("https://h/llm/llama/v1/models")),
            ("http://h", Some("http://h/v1/models")),
            ("http://h:81/a?x=1", Some("http://h:81/a/v1/models?x=1")),
            ("ftp://h/a", None),
            ("file:///etc/passwd", None),
            ("relative", None),
        ] {
            assert_eq!(target(url).as_ref().map(|u| u.as_str()), expected);
        }
    }
}
