//! Requests whose headers matter: Tables for eyes, and the server's warnings.

use anyhow::{Context, Result};
use http::{HeaderMap, Request, header};
use kube::Client;
use kube::client::Body;
use kube::core::Status;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Asks for a Table; servers that know none answer with the object itself.
pub const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

/// What the server answered: the body, and the warnings it sent along.
#[derive(Debug)]
pub struct Answer<T> {
    /// HTTP status code; 201 tells a creation from a change.
    pub code: u16,
    /// The decoded body.
    pub body: T,
    /// Texts of the `Warning` headers.
    pub warnings: Vec<String>,
}

/// Sends a request and decodes the answer; a failure is the server's own Status.
pub async fn send<T: DeserializeOwned>(client: &Client, request: Request<Vec<u8>>) -> Result<Answer<T>> {
    let (head, body) = request.into_parts();
    let response = client.send(Request::from_parts(head, Body::from(body))).await?;
    let (code, warnings) = (response.status(), warnings(response.headers()));
    let bytes = response.into_body().collect_bytes().await.context("reading the server's answer")?;
    if code.is_success() {
        let body = serde_json::from_slice(&bytes).context("the server's answer is not what was asked for")?;
        return Ok(Answer { code: code.as_u16(), body, warnings });
    }
    let status = serde_json::from_slice::<Status>(&bytes).unwrap_or_else(|_| {
        Status::failure(&String::from_utf8_lossy(&bytes), code.canonical_reason().unwrap_or("Unknown"))
            .with_code(code.as_u16())
    });
    Err(kube::Error::Api(Box::new(status)).into())
}

/// The texts in `Warning: 299 - "…"` headers.
fn warnings(headers: &HeaderMap) -> Vec<String> {
    let quoted = |value: &str| {
        let text = value.split_once('"')?.1.strip_suffix('"')?;
        Some(text.replace("\\\"", "\"").replace("\\\\", "\\"))
    };
    headers.get_all(header::WARNING).iter().filter_map(|v| quoted(v.to_str().ok()?)).collect()
}

/// The server's own rendering of objects as rows.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerTable {
    /// Only the first Table of a watch carries them.
    #[serde(default)]
    pub column_definitions: Vec<Column>,
    /// One per object.
    #[serde(default)]
    pub rows: Vec<Row>,
    /// List metadata; `continue` tells of a further page.
    #[serde(default)]
    pub metadata: Value,
}

/// A column of a [`ServerTable`].
#[derive(Clone, Debug, Deserialize)]
pub struct Column {
    /// Its heading.
    pub name: String,
    /// 0 for what everybody sees; more for `-o wide`.
    #[serde(default)]
    pub priority: i32,
}

/// A row of a [`ServerTable`].
#[derive(Clone, Debug, Deserialize)]
pub struct Row {
    /// One per column.
    #[serde(default)]
    pub cells: Vec<Value>,
    /// At least the object's metadata.
    #[serde(default)]
    pub object: Value,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_are_unquoted() {
        let mut headers = HeaderMap::new();
        headers.append("warning", r#"299 - "unknown field \"spec.x\"""#.parse().unwrap());
        headers.append("warning", "nonsense".parse().unwrap());
        assert_eq!(warnings(&headers), ["unknown field \"spec.x\""]);
    }
}
