//! Lists, and deleting everything a list shows.

use std::sync::Arc;

use axum::body::Body;
use http::Response;
use serde_json::{Value, json};

use super::continuation::Continuation;
use super::read::{fresh, parse_version};
use super::writes::delete_options;
use crate::selector::{FieldSelector, LabelSelector};
use crate::server::{Ctx, Shape, Warnings, answer};
use crate::status::{Error, FieldError, Result};
use crate::store::{Facts, Listing, Object, Unavailable};
use crate::write::{Write, present_all};

/// Both selectors of a request.
#[derive(Debug, Clone, Default)]
pub(super) struct Selection {
    labels: LabelSelector,
    fields: FieldSelector,
}

impl Selection {
    pub(super) fn parse(ctx: &Ctx) -> Result<Self> {
        let labels = LabelSelector::parse(ctx.params.get("labelSelector"))?;
        let mut fields = FieldSelector::parse(ctx.params.get("fieldSelector"), &ctx.resource)?;
        if ctx.path.watch && !ctx.path.name.is_empty() {
            fields = FieldSelector::parse(&format!("metadata.name={}", ctx.path.name), &ctx.resource)?;
        }
        Ok(Self { labels, fields })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    pub(super) fn matches(&self, facts: &Facts) -> bool {
        self.fields.matches(facts) && self.labels.matches(|key| facts.label(key))
    }
}

/// What `resourceVersion` and `resourceVersionMatch` of a list mean.
struct Moment {
    /// Exactly this revision.
    exact: Option<u64>,
    /// Ignore `limit`.
    unlimited: bool,
}

pub(crate) async fn list(ctx: &Ctx) -> Result<Response<Body>> {
    check_options(ctx)?;
    let selection = Selection::parse(ctx)?;
    let limit = ctx.params.number("limit")?.unwrap_or(0).max(0) as usize;
    let token = match ctx.params.get("continue") {
        "" => None,
        text => Some(Continuation::decode(text)?),
    };
    let version = ctx.params.get("resourceVersion");
    if token.is_some() && !version.is_empty() && version != "0" {
        return Err(Error::bad_request("specifying resource version is not allowed when using continue"));
    }
    let moment = moment(ctx, version, limit).await?;
    let namespace = ctx.namespace();
    let start = token.as_ref().map_or(String::new(), |t| {
        if namespace.is_empty() { t.start.clone() } else { format!("{namespace}/{}", t.start) }
    });
    let listing = Listing {
        table: &ctx.resource.table,
        namespace,
        revision: token.as_ref().map_or(moment.exact, |t| t.revision),
        start: &start,
        limit: if moment.unlimited { 0 } else { limit },
        matches: &|object| selection.matches(&object.facts),
    };
    let page =
        ctx.plane.store().list(listing).map_err(|why| unavailable(&why, token.as_ref(), listing.revision))?;
    let next = page.next.map(|key| {
        let start =
            key.strip_prefix(&format!("{namespace}/")).filter(|_| !namespace.is_empty()).unwrap_or(&key);
        Continuation { revision: Some(page.revision), start: start.to_string() }.encode()
    });
    let remaining = (next.is_some() && selection.is_empty()).then_some(page.remaining);
    let objects = present_all(&ctx.plane, &ctx.resource, page.objects).await?;
    let meta = ListMeta { revision: page.revision, next, remaining };
    render(ctx, &objects, &meta)
}

/// A list's own metadata.
pub(crate) struct ListMeta {
    pub(crate) revision: u64,
    pub(crate) next: Option<String>,
    pub(crate) remaining: Option<usize>,
}

impl ListMeta {
    /// As JSON; lists of custom resources always show `continue`.
    pub(crate) fn to_json(&self, custom: bool) -> Value {
        let mut meta = json!({"resourceVersion": self.revision.to_string()});
        match &self.next {
            Some(next) => meta["continue"] = next.as_str().into(),
            None if custom => meta["continue"] = "".into(),
            None => {}
        }
        if let Some(remaining) = self.remaining {
            meta["remainingItemCount"] = remaining.into();
        }
        meta
    }
}

fn render(ctx: &Ctx, objects: &[Arc<Object>], meta: &ListMeta) -> Result<Response<Body>> {
    let custom = ctx.resource.is_custom();
    if ctx.accept.shape == Shape::Table {
        let rows: Vec<&Object> = objects.iter().map(AsRef::as_ref).collect();
        return Ok(ctx.encode(200, crate::table::of(ctx, &rows, Some(meta))?));
    }
    let metadata_only = ctx.accept.shape == Shape::Metadata;
    let (kind, api_version) = match metadata_only {
        true => ("PartialObjectMetadataList", ctx.accept.meta_version()),
        false => (ctx.resource.names.list_kind.as_ref(), ctx.resource.api_version.as_ref()),
    };
    let size: usize = objects.iter().map(|o| o.body().len() + 64).sum();
    let mut out = Vec::with_capacity(size + 256);
    out.extend_from_slice(
        format!("{{\"kind\":\"{kind}\",\"apiVersion\":\"{api_version}\",\"metadata\":").as_bytes(),
    );
    out.extend_from_slice(meta.to_json(custom).to_string().as_bytes());
    out.extend_from_slice(b",\"items\":[");
    for (i, object) in objects.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        if metadata_only {
            out.extend_from_slice(&answer::metadata(object, ctx.accept.meta_version()));
        } else if custom {
            out.extend_from_slice(&ctx.resource.prefix);
            out.extend_from_slice(&object.body()[1..]);
        } else {
            out.extend_from_slice(object.body());
        }
    }
    out.extend_from_slice(b"]}\n");
    Ok(ctx.encode(200, out))
}

async fn moment(ctx: &Ctx, version: &str, limit: usize) -> Result<Moment> {
    let latest = Moment { exact: None, unlimited: false };
    if version.is_empty() {
        return Ok(latest);
    }
    let revision = parse_version(version)
        .map_err(|why| Error::bad_request(format!("invalid resource version: {why}")))?;
    if revision == 0 {
        return Ok(Moment { exact: None, unlimited: true });
    }
    fresh(ctx, revision).await?;
    Ok(match ctx.params.get("resourceVersionMatch") {
        "Exact" => Moment { exact: Some(revision), ..latest },
        "" if limit > 0 => Moment { exact: Some(revision), ..latest },
        _ => latest,
    })
}

fn unavailable(why: &Unavailable, token: Option<&Continuation>, asked: Option<u64>) -> Error {
    match (why, token) {
        (Unavailable::Future(current), _) => Error::too_large_resource_version(asked.unwrap_or(0), *current),
        (Unavailable::TooOld(_), None) => {
            Error::expired("The resourceVersion for the provided list is too old.")
        }
        (Unavailable::TooOld(_), Some(token)) => {
            let mut error = Error::expired(
                "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.",
            );
            error.continue_token = Some(Continuation { revision: None, ..token.clone() }.encode());
            error
        }
    }
}

/// Combinations of list and watch parameters that make no sense.
pub(super) fn check_options(ctx: &Ctx) -> Result<()> {
    let (params, watch) = (&ctx.params, ctx.params.flag("watch") || ctx.path.watch);
    let (version, matching) = (params.get("resourceVersion"), params.get("resourceVersionMatch"));
    let initial = params.has("sendInitialEvents");
    let path = "resourceVersionMatch";
    let mut errors = Vec::new();
    if watch {
        if initial {
            if matching != "NotOlderThan" {
                errors.push(FieldError::forbidden(
                    path,
                    "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
                ));
            }
        } else if !matching.is_empty() {
            let words = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
            errors.push(FieldError::forbidden(path, words));
        }
    } else {
        if initial {
            errors
                .push(FieldError::forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
        }
        if !matching.is_empty() {
            if version.is_empty() {
                let words = "resourceVersionMatch is forbidden unless resourceVersion is provided";
                errors.push(FieldError::forbidden(path, words));
            }
            if !params.get("continue").is_empty() {
                let words = "resourceVersionMatch is forbidden when continue is provided";
                errors.push(FieldError::forbidden(path, words));
            }
            if !matches!(matching, "Exact" | "NotOlderThan") {
                errors.push(FieldError::not_supported(path, matching, &["Exact", "NotOlderThan", ""]));
            }
            if matching == "Exact" && version == "0" {
                let words = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
                errors.push(FieldError::forbidden(path, words));
            }
        }
    }
    if errors.is_empty() {
        Ok(())
    } else {
        Err(Error::invalid_kind("meta.k8s.io", "ListOptions", "", &errors))
    }
}

/// Deletes what the selectors match, one by one, and answers the list of it.
pub(crate) async fn delete_collection(ctx: &Ctx, request: Body) -> Result<Response<Body>> {
    check_options(ctx)?;
    let options = delete_options(ctx, request).await?;
    let selection = Selection::parse(ctx)?;
    let matches = |object: &Object| selection.matches(&object.facts);
    let listing = Listing::now(&ctx.resource.table, ctx.namespace(), &matches);
    let page = ctx.plane.store().list(listing).map_err(|why| unavailable(&why, None, None))?;
    let quiet = Warnings::default();
    for object in &page.objects {
        let write = Write {
            plane: &ctx.plane,
            resource: &ctx.resource,
            user: &ctx.user,
            namespace: &object.facts.namespace,
            subresource: "",
            dry_run: options.dry_run,
            validation: crate::server::params::FieldValidation::Ignore,
            manager: "",
            applied: false,
            warnings: &quiet,
        };
        match write.delete(&object.facts.name, &options).await {
            // Somebody else was faster: fine.
            Err(error) if error.code == 404 => {}
            other => drop(other?),
        }
    }
    let objects = present_all(&ctx.plane, &ctx.resource, page.objects).await?;
    render(ctx, &objects, &ListMeta { revision: ctx.plane.store().revision(), next: None, remaining: None })
}
