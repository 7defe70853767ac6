//! GET of one object.

use std::time::Duration;

use axum::body::Body;
use http::Response;

use super::scale;
use crate::server::Ctx;
use crate::status::{Error, Result};
use crate::write;

/// How long a read waits for a revision that is still to come.
pub(super) const PATIENCE: Duration = Duration::from_secs(3);

pub(crate) async fn get(ctx: &Ctx) -> Result<Response<Body>> {
    let version = ctx.params.get("resourceVersion");
    if !version.is_empty() {
        let revision = parse_version(version)
            .map_err(|why| Error::bad_request(format!("invalid resource version: {why}")))?;
        fresh(ctx, revision).await?;
    }
    let object = ctx
        .plane
        .store()
        .get(&ctx.resource.table, &ctx.key())
        .ok_or_else(|| Error::not_found(&ctx.resource.names, &ctx.path.name))?;
    if ctx.path.subresource == "scale" {
        let value = write::present(&ctx.plane, &ctx.resource, &object).await?;
        return Ok(ctx.value(200, &scale::show(&ctx.resource, &value)?));
    }
    let mut shown = write::present_all(&ctx.plane, &ctx.resource, vec![object]).await?;
    let object = shown.pop().ok_or_else(|| Error::not_found(&ctx.resource.names, &ctx.path.name))?;
    ctx.object(200, &object)
}

/// A resourceVersion, or what Go says about it.
pub(super) fn parse_version(text: &str) -> std::result::Result<u64, String> {
    text.parse().map_err(|_| {
        let quoted = crate::status::go_quote(text);
        format!(
            "resourceVersion: Invalid value: {quoted}: strconv.ParseUint: parsing {quoted}: invalid syntax"
        )
    })
}

/// Waits a little for a revision that is still to come.
pub(super) async fn fresh(ctx: &Ctx, revision: u64) -> Result<()> {
    let store = ctx.plane.store();
    if revision <= store.revision() || store.reached(revision, PATIENCE).await {
        return Ok(());
    }
    Err(Error::too_large_resource_version(revision, store.revision()))
}
