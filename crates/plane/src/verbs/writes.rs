//! POST, PUT and DELETE.

use axum::body::Body;
use http::Response;
use serde_json::{Value, json};

use super::{respond, scale};
use crate::server::params::WriteOptions;
use crate::server::{Ctx, answer, body};
use crate::status::{Error, FieldError, Result};
use crate::write::{DeleteOptions, Deleted, Edit, Outcome, Source, Write, typed};

/// A write with this request's options.
pub(super) fn write<'a>(ctx: &'a Ctx, options: &WriteOptions, manager: &'a str) -> Write<'a> {
    Write {
        plane: &ctx.plane,
        resource: &ctx.resource,
        user: &ctx.user,
        namespace: ctx.namespace(),
        subresource: &ctx.path.subresource,
        dry_run: options.dry_run,
        validation: options.validation,
        manager,
        applied: false,
        warnings: &ctx.warnings,
    }
}

pub(crate) async fn create(ctx: &Ctx, request: Body) -> Result<Response<Body>> {
    let options = WriteOptions::parse(&ctx.params, "CreateOptions", false)?;
    let bytes = body::read(request).await?;
    let parsed = body::decode(&ctx.headers, &bytes, &ctx.resource)?;
    same_kind(ctx, &parsed.value)?;
    fits(ctx, &parsed.value)?;
    let manager = ctx.manager(options.manager.as_deref());
    let source = Source::body(parsed.duplicates, bytes);
    let outcome = write(ctx, &options, &manager).create(parsed.value, source).await?;
    respond(ctx, 201, outcome).await
}

/// A custom resource's kind must be the URL's.
fn same_kind(ctx: &Ctx, object: &Value) -> Result<()> {
    let (kind, wanted) = (object["kind"].as_str().unwrap_or_default(), ctx.resource.gvk.kind.as_ref());
    if kind == wanted {
        return Ok(());
    }
    let error = FieldError::invalid("kind", kind, format!("must be {wanted}"));
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    Err(Error::invalid_kind(&ctx.resource.gvk.group, kind, name, &[error]))
}

/// What the decoder reads must have its types: a built-in kind's fields, and resources embedded in a custom one.
fn fits(ctx: &Ctx, object: &Value) -> Result<()> {
    let mismatch = typed::mismatch(&ctx.resource, object).map(|mismatch| mismatch.text());
    let Some(text) = mismatch.or_else(|| typed::embedded(&ctx.resource, object)) else { return Ok(()) };
    let gvk = &ctx.resource.gvk;
    Err(Error::bad_request(format!(
        "{0} in version \"{1}\" cannot be handled as a {0}: {2}",
        gvk.kind, gvk.version, text
    )))
}

pub(crate) async fn update(ctx: &Ctx, request: Body) -> Result<Response<Body>> {
    let options = WriteOptions::parse(&ctx.params, "UpdateOptions", false)?;
    let bytes = body::read(request).await?;
    let manager = ctx.manager(options.manager.as_deref());
    let write = write(ctx, &options, &manager);
    if ctx.path.subresource == "scale" {
        let given = body::decode_any(&ctx.headers, &bytes, "Scale")?.value;
        return scale::replace(ctx, &write, given).await;
    }
    let parsed = body::decode(&ctx.headers, &bytes, &ctx.resource)?;
    same_kind(ctx, &parsed.value)?;
    fits(ctx, &parsed.value)?;
    let source = Source::body(parsed.duplicates, bytes);
    let edit = |_: &Value| Ok(Edit { object: parsed.value.clone(), source: source.clone() });
    match write.update(&ctx.path.name, true, edit).await {
        Err(error)
            if error.code == 404
                && ctx.resource.traits.create_on_update
                && ctx.path.subresource.is_empty() =>
        {
            let mut object = parsed.value;
            if let Some(metadata) = object["metadata"].as_object_mut() {
                metadata.remove("resourceVersion");
                metadata.remove("uid");
            }
            object["metadata"]["name"] = json!(ctx.path.name);
            let outcome = write.create(object, source).await?;
            respond(ctx, 201, outcome).await
        }
        Err(error) => Err(error),
        Ok(outcome) => respond(ctx, 200, outcome).await,
    }
}

/// How to delete, as the body and the query say.
pub(super) async fn delete_options(ctx: &Ctx, request: Body) -> Result<DeleteOptions> {
    let bytes = body::read(request).await?;
    let content = if bytes.is_empty() {
        Value::Null
    } else {
        body::decode_any(&ctx.headers, &bytes, "DeleteOptions")?.value
    };
    DeleteOptions::parse(&content, &ctx.params)
}

pub(crate) async fn delete(ctx: &Ctx, request: Body) -> Result<Response<Body>> {
    let options = delete_options(ctx, request).await?;
    let write_options = WriteOptions {
        dry_run: options.dry_run,
        ..WriteOptions::parse(&ctx.params, "DeleteOptions", false)?
    };
    match write(ctx, &write_options, "").delete(&ctx.path.name, &options).await? {
        Deleted::Pending(object) => respond(ctx, 200, Outcome::Stored(object)).await,
        Deleted::Gone(object) | Deleted::Dry(object) if ctx.resource.traits.returns_deleted => {
            respond(ctx, 200, Outcome::Stored(object)).await
        }
        Deleted::Gone(object) | Deleted::Dry(object) => {
            let names = &ctx.resource.names;
            let mut details =
                json!({"name": object.facts.name, "kind": names.plural, "uid": object.facts.uid});
            if !names.group.is_empty() {
                details["group"] = json!(names.group);
            }
            let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
                "details": details});
            Ok(answer::json(200, &status))
        }
    }
}
