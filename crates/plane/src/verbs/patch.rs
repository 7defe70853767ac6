//! PATCH, of all four kinds.

use axum::body::Body;
use bytes::Bytes;
use http::Response;
use serde_json::{Value, json};

use super::writes::write;
use super::{respond, scale};
use crate::patch::{self, PatchError};
use crate::resource::Resource;
use crate::server::params::{FieldValidation, WriteOptions};
use crate::server::{Ctx, body, json, yaml};
use crate::status::{Details, Error, FieldError, Result};
use crate::write::{Edit, Form, Source, Write, typed};

/// How the body is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Json,
    Merge,
    Strategic,
    Apply,
}

impl Kind {
    fn of(media_type: &str, resource: &Resource) -> Result<Self> {
        match media_type {
            "application/json-patch+json" => Ok(Self::Json),
            "application/merge-patch+json" => Ok(Self::Merge),
            "application/strategic-merge-patch+json" if !resource.is_custom() => Ok(Self::Strategic),
            "application/apply-patch+yaml" => Ok(Self::Apply),
            _ if resource.is_custom() => Err(Error::new(
                415,
                "UnsupportedMediaType",
                "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
            )),
            _ => Err(Error::new(415, "UnsupportedMediaType", "415: Unsupported Media Type")
                .with_details(Details::default())),
        }
    }
}

pub(crate) async fn patch(ctx: &Ctx, request: Body) -> Result<Response<Body>> {
    let kind = Kind::of(body::media_type(&ctx.headers), &ctx.resource)?;
    let options = WriteOptions::parse(&ctx.params, "PatchOptions", kind == Kind::Apply)?;
    let bytes = body::read(request).await?;
    let manager = ctx.manager(options.manager.as_deref());
    let write = Write { applied: kind == Kind::Apply, ..write(ctx, &options, &manager) };
    let force = options.force.unwrap_or(false);
    let (parsed, duplicates) = parse(kind, &bytes, options.validation)?;
    let form = match kind {
        Kind::Json | Kind::Merge => Form::Patch,
        Kind::Strategic if options.validation == FieldValidation::Strict => {
            Form::Strategic(patch::strategic::go_print(&parsed))
        }
        Kind::Strategic => Form::Patch,
        Kind::Apply => Form::Made,
    };
    let source = Source { duplicates, form };
    if ctx.path.subresource == "scale" {
        let edit = |live: &Value| {
            let shown = scale::show(&ctx.resource, live)?;
            let changed = apply(kind, &ctx.resource, &shown, &parsed, "Scale")?;
            Ok(Edit { object: scale::put(&ctx.resource, live, &changed)?, source: Source::default() })
        };
        return scale::answer(ctx, write.update(&ctx.path.name, false, edit).await?).await;
    }
    let edit = |live: &Value| {
        let object = match kind {
            Kind::Apply => write.apply(Some(live), &parsed, force)?,
            _ => apply(kind, &ctx.resource, live, &parsed, &ctx.resource.gvk.kind)?,
        };
        fits(kind, ctx, &object, &parsed)?;
        Ok(Edit { object, source: source.clone() })
    };
    match write.update(&ctx.path.name, false, edit).await {
        Err(error) if error.code == 404 && kind == Kind::Apply && ctx.path.subresource.is_empty() => {
            let name = parsed["metadata"]["name"].as_str().unwrap_or_default();
            if !name.is_empty() && name != ctx.path.name {
                return Err(Error::bad_request(format!(
                    "the name of the object ({name}) does not match the name on the URL ({})",
                    ctx.path.name
                )));
            }
            let uid = parsed["metadata"]["uid"].as_str().unwrap_or_default();
            if !uid.is_empty() {
                let why = format!(
                    "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
                );
                return Err(Error::conflict(&ctx.resource.names, &ctx.path.name, &why));
            }
            let mut object = write.apply(None, &parsed, force)?;
            fits(kind, ctx, &object, &parsed)?;
            if let Some(metadata) = object["metadata"].as_object_mut() {
                metadata.remove("resourceVersion");
            }
            object["metadata"]["name"] = json!(ctx.path.name);
            let outcome = write.create(object, source).await?;
            respond(ctx, 201, outcome).await
        }
        Err(error) => Err(error),
        Ok(outcome) => respond(ctx, 200, outcome).await,
    }
}

/// The patched object must still have its types.
fn fits(kind: Kind, ctx: &Ctx, object: &Value, patch: &Value) -> Result<()> {
    if kind == Kind::Apply {
        // Wrong types were told when the configuration was merged; what only looks right is told here.
        let Some(mismatch) = typed::mismatch(&ctx.resource, patch) else { return Ok(()) };
        let (meta, gvk) = (&patch["metadata"], &ctx.resource.gvk);
        let text = |field: &str| meta[field].as_str().unwrap_or_default();
        return Err(Error::bare(format!(
            "failed to convert new object ({}/{}; {gvk}) to proper version: unable to convert unstructured object to {gvk}: {}",
            text("namespace"),
            text("name"),
            mismatch.patch_text()
        )));
    }
    let Some(mismatch) = typed::mismatch(&ctx.resource, object) else { return Ok(()) };
    let error = match kind {
        Kind::Strategic => {
            FieldError::invalid("patch", patch::strategic::go_print(patch), mismatch.patch_text())
        }
        _ => FieldError::invalid("patch", object.to_string(), mismatch.text()),
    };
    Err(Error::invalid_kind("", "", "", &[error]))
}

/// The patch, and the fields given twice in it.
fn parse(kind: Kind, bytes: &Bytes, validation: FieldValidation) -> Result<(Value, Vec<String>)> {
    if kind == Kind::Apply {
        let text = std::str::from_utf8(bytes).map_err(|e| Error::bad_request(e.to_string()))?;
        match json::parse(bytes) {
            Ok(parsed) if parsed.duplicates.is_empty() => return Ok((parsed.value, Vec::new())),
            _ => {} // JSON is YAML too, and is read as such when something is wrong with it
        }
        let read = yaml::parse(text).map_err(|e| {
            Error::bad_request(format!("error decoding YAML: error converting YAML to JSON: {e}"))
        })?;
        return match read.repeated {
            Some(repeated) if validation == FieldValidation::Strict => Err(Error::bad_request(format!(
                "error strict decoding YAML: error converting YAML to JSON: {repeated}"
            ))),
            _ => Ok((read.value, Vec::new())),
        };
    }
    let prefix = if kind == Kind::Strategic { "" } else { "error decoding patch: " };
    let parsed = json::parse(bytes).map_err(|why| Error::bad_request(format!("{prefix}{why}")))?;
    let found = patch::go_kind(&parsed.value);
    let target = match kind {
        Kind::Json if found != "array" => "[]handlers.jsonPatchOp",
        Kind::Merge | Kind::Strategic if found != "object" => "map[string]interface {}",
        _ => return Ok((parsed.value, parsed.duplicates)),
    };
    Err(Error::bad_request(format!("{prefix}json: cannot unmarshal {found} into Go value of type {target}")))
}

fn apply(kind: Kind, resource: &Resource, live: &Value, patch: &Value, expected: &str) -> Result<Value> {
    let patched = match kind {
        Kind::Json => patch::json::apply(live, patch),
        // An apply that gets here is of a Scale, which has one field.
        Kind::Merge | Kind::Apply => patch::merge::apply(live, patch),
        Kind::Strategic => match crate::builtin::schema(&resource.gvk).filter(|_| expected != "Scale") {
            Some(schema) => patch::strategic::apply(schema, live, patch),
            None => patch::merge::apply(live, patch),
        },
    };
    let mut patched = patched.map_err(refused)?;
    if kind == Kind::Strategic && expected != "Scale" {
        patched["apiVersion"] = live["apiVersion"].clone();
        patched["kind"] = live["kind"].clone();
    }
    Ok(patched)
}

fn refused(error: PatchError) -> Error {
    match error {
        PatchError::BadRequest(message) => Error::bad_request(message),
        PatchError::TooLarge(message) => Error::new(413, "RequestEntityTooLarge", message),
        PatchError::Rejected(_) => {
            Error::new(422, "Invalid", "the server rejected our request due to an error in our request")
                .with_details(Details::default())
        }
        PatchError::Internal(message) => Error::bare(message),
    }
}
