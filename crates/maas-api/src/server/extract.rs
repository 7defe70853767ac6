//! What handlers take out of a request.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use axum::extract::{FromRequest, FromRequestParts, Request};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, request::Parts};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use utoipa::ToSchema;

use crate::{app::App, reply::Refused, subscriptions::Caller};

/// The largest body.
const LARGEST: usize = 1 << 20;
/// How long a client may take to send one.
const SLOWEST: Duration = Duration::from_secs(15);

/// `{"error": "…"}`
#[derive(ToSchema)]
#[allow(dead_code)] // describes what `Refused` writes
#[schema(as = Error)]
pub(crate) struct ErrorBody {
    /// What is wrong.
    error: String,
    /// What is wrong, for programs: `invalid_subscription`, `subscription_not_ready`.
    code: Option<String>,
}

/// `{"error": {"message": "…", "type": "…"}}`
#[derive(ToSchema)]
#[allow(dead_code)] // describes what `Refused` writes
#[schema(as = OpenAiError)]
pub(crate) struct OpenAiErrorBody {
    error: OpenAiErrorDetail,
}

/// What is wrong.
#[derive(ToSchema)]
#[allow(dead_code)] // describes what `Refused` writes
#[schema(as = OpenAiErrorDetail)]
pub(crate) struct OpenAiErrorDetail {
    /// For people.
    message: String,
    /// For programs.
    r#type: String,
}

/// A header's value, trimmed. Names of users need not be ASCII.
pub(crate) fn text(value: &HeaderValue) -> String {
    String::from_utf8_lossy(value.as_bytes()).trim().to_owned()
}

/// Who asks, as the gateway says. Of a repeated header the first counts: the gateway's policies are written so.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Identity {
    pub(crate) username: String,
    pub(crate) groups: Vec<String>,
}

impl Identity {
    pub(crate) fn caller(&self) -> Caller<'_> {
        Caller { username: &self.username, groups: &self.groups }
    }

    /// The identity, or which header is at fault.
    fn read(headers: &HeaderMap) -> Result<Self, &'static str> {
        let username =
            headers.get("x-maas-username").map(text).filter(|name| !name.is_empty()).ok_or("001")?;
        let groups =
            headers.get("x-maas-group").map(text).filter(|groups| !groups.is_empty()).ok_or("002")?;
        let listed: Option<Vec<Option<String>>> = serde_json::from_str(&groups).map_err(|_| "003")?;
        let mut groups: Vec<String> = Vec::new();
        for group in listed.unwrap_or_default() {
            let group = group.unwrap_or_default().trim().to_owned();
            if group.contains('\0') {
                return Err("003"); // no database stores that
            }
            if !groups.contains(&group) {
                groups.push(group);
            }
        }
        if groups.is_empty() { Err("003") } else { Ok(Self { username, groups }) }
    }
}

impl FromRequestParts<Arc<App>> for Identity {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Refused> {
        let identity = Self::read(&parts.headers).map_err(|reference| {
            complain(reference, app.clock.now().as_second());
            Refused::auth_failure(reference)
        })?;
        match &app.rate_limit {
            Some(limit) if !limit.admit(&identity.username) => {
                Err(Refused::new(StatusCode::TOO_MANY_REQUESTS, "too many requests; try again in a minute"))
            }
            _ => Ok(identity),
        }
    }
}

/// Says once a minute that the gateway does not do its part: with each request would fill the disk.
fn complain(reference: &str, now: i64) {
    static LAST: AtomicI64 = AtomicI64::new(i64::MIN);
    let last = LAST.load(Ordering::Relaxed);
    if now.saturating_sub(last) >= 60
        && LAST.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    {
        tracing::error!(
            reference,
            "a request without identity headers; the gateway's AuthPolicy for maas-api must set X-MaaS-Username and \
             X-MaaS-Group"
        );
    }
}

/// A request's body, within reason.
pub(crate) struct Body(pub(crate) Bytes);

impl<S: Send + Sync> FromRequest<S> for Body {
    type Rejection = Refused;

    async fn from_request(request: Request, _: &S) -> Result<Self, Refused> {
        let body = Limited::new(request.into_body(), LARGEST);
        match tokio::time::timeout(SLOWEST, body.collect()).await {
            Ok(Ok(body)) => Ok(Self(body.to_bytes())),
            Ok(Err(error)) if error.is::<LengthLimitError>() => {
                Err(Refused::new(StatusCode::PAYLOAD_TOO_LARGE, "request body is larger than 1 MiB"))
            }
            Ok(Err(_)) => Err(Refused::bad_request("unexpected EOF")), // nobody is there to read it
            Err(_) => Err(Refused::new(StatusCode::REQUEST_TIMEOUT, "request body took longer than 15 s")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(headers: &[(&'static str, &str)]) -> Result<Identity, &'static str> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, HeaderValue::from_bytes(value.as_bytes()).expect("a header value"));
        }
        Identity::read(&map)
    }

    #[test]
    fn the_first_header_at_fault_is_named() {
        let user = ("x-maas-username", "alice");
        for (headers, expected) in [
            (vec![], "001"),
            (vec![("x-maas-username", "  "), ("x-maas-group", "[\"g\"]")], "001"),
            (vec![user], "002"),
            (vec![user, ("x-maas-group", "")], "002"),
            (vec![user, ("x-maas-group", "a,b")], "003"),
            (vec![user, ("x-maas-group", "[]")], "003"),
            (vec![user, ("x-maas-group", "null")], "003"),
            (vec![user, ("x-maas-group", "[1]")], "003"),
            (vec![user, ("x-maas-group", "{\"a\":1}")], "003"),
            (vec![user, ("x-maas-group", "[\"a\\u0000\"]")], "003"),
        ] {
            assert_eq!(read(&headers), Err(expected), "{headers:?}");
        }
    }

    #[test]
    fn names_are_trimmed_and_groups_told_apart() {
        let identity = read(&[
            ("x-maas-username", " zoë "),
            ("x-maas-username", "mallory"),
            ("x-maas-group", r#"[" a ","b","a"]"#),
            ("x-maas-group", r#"["root"]"#),
        ]);
        assert_eq!(identity, Ok(Identity { username: "zoë".into(), groups: vec!["a".into(), "b".into()] }));
    }
}
