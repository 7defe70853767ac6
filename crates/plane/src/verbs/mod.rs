//! The verbs: each reads its parameters, does its work on the store or through [`crate::write`], and answers.

mod collection;
mod continuation;
mod patch;
mod read;
mod scale;
mod watch;
mod writes;

use axum::body::Body;
use http::Response;
use serde_json::Value;

pub(crate) use collection::{ListMeta, delete_collection, list};
pub(crate) use patch::patch;
pub(crate) use read::get;
pub(crate) use watch::{cut_watch, delay_watch, expired_watch, watch};
pub(crate) use writes::{create, delete, update};

use crate::hooks::{Answer, ExtraRequest};
use crate::server::{Ctx, body};
use crate::status::{Error, Result};
use crate::write::Outcome;

/// Requests that something behind [`crate::hooks::Extra`] answers.
pub(crate) async fn extra(ctx: &Ctx, verb: &str, request: Body) -> Result<Response<Body>> {
    let bytes = body::read(request).await?;
    let content = if bytes.is_empty() {
        Value::Null
    } else {
        body::decode_any(&ctx.headers, &bytes, &ctx.resource.gvk.kind)?.value
    };
    let request = ExtraRequest {
        user: ctx.user.clone(),
        verb: verb.into(),
        names: ctx.resource.names.clone(),
        kind: ctx.resource.gvk.clone(),
        namespace: ctx.namespace().into(),
        name: ctx.path.name.clone(),
        subresource: ctx.path.subresource.clone(),
        body: content,
        manager: ctx.manager(Some(ctx.params.get("fieldManager")).filter(|manager| !manager.is_empty())),
        query: ctx.params.pairs().to_vec(),
    };
    match ctx.plane.hooks().extra.answer(&ctx.plane, request).await {
        Some(Ok(Answer::Object(code, value))) => Ok(ctx.value(code, &value)),
        Some(Err(error)) => Err(error),
        None => Err(Error::method_not_allowed()),
    }
}

/// Answers the object a write left, in the request's version.
async fn respond(ctx: &Ctx, code: u16, outcome: Outcome) -> Result<Response<Body>> {
    match outcome {
        Outcome::Dry(value) => Ok(ctx.value(code, &value)),
        Outcome::Stored(object) => {
            let mut shown = crate::write::present_all(&ctx.plane, &ctx.resource, vec![object]).await?;
            let object = shown.pop().ok_or_else(|| Error::internal("the object was lost on its way out"))?;
            ctx.object(code, &object)
        }
    }
}
