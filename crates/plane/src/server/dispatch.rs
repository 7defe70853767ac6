//! The order of things for every request: who, what, may they, then the verb.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::ws::WebSocketUpgrade;
use http::{Method, Request, Response, header};

use super::params::Params;
use super::path::{self, ResourcePath, Target};
use super::{Accept, Ctx, Warnings, answer, other};
use crate::Plane;
use crate::faults::Effect;
use crate::hooks::{Attributes, Decision, User};
use crate::requests;
use crate::resource::Resource;
use crate::status::{Details, Error, Result};
use crate::streams;
use crate::verbs;

pub(super) async fn handle(plane: Plane, user: Option<User>, request: Request<Body>) -> Response<Body> {
    let warnings = Arc::new(Warnings::default());
    let mut response = match route(plane, user, request, warnings.clone()).await {
        Ok(response) => response,
        Err(error) => answer::error(&error),
    };
    answer::finish(&mut response, warnings.take());
    response
}

async fn route(
    plane: Plane,
    user: Option<User>,
    request: Request<Body>,
    warnings: Arc<Warnings>,
) -> Result<Response<Body>> {
    let (mut parts, body) = request.into_parts();
    let target = path::parse(parts.uri.path()).ok_or_else(Error::unknown_path)?;
    let user = match user {
        Some(user) => user,
        None => plane.hooks().authenticate.authenticate(&parts).await?,
    };
    let params = Params::parse(parts.uri.query().unwrap_or_default());
    let path = match target {
        Target::Resource(path) => path,
        Target::Other(path) => {
            let attributes = Attributes {
                verb: parts.method.as_str().to_lowercase(),
                path: path.clone(),
                ..Attributes::default()
            };
            authorize(&plane, &user, &attributes).await?;
            return other::serve(&plane, &parts, &path, &params).await;
        }
    };
    let verb = verb(&parts.method, &path, &params)?;
    let noted = requests::Request {
        verb,
        group: path.group.clone(),
        resource: path.resource.clone(),
        subresource: path.subresource.clone(),
        namespace: path.namespace.clone(),
        name: path.name.clone(),
        user: user.name.clone(),
        agent: parts.headers.get(header::USER_AGENT).and_then(|v| v.to_str().ok()).unwrap_or_default().into(),
        code: 0,
    };
    let effect = plane.faults().strike(&noted);
    let log = plane.requests().clone();
    let id = log.note(noted);
    match &effect {
        Some(Effect::Refuse(error)) => {
            log.answered(id, error.code);
            return Err(error.clone());
        }
        Some(Effect::Disconnect) => return Ok(answer::disconnected()),
        Some(Effect::ExpireWatch) if verb == "watch" => return Ok(verbs::expired_watch()),
        Some(Effect::Delay(time)) => tokio::time::sleep(*time).await,
        _ => {}
    }
    let result = async {
        authorize(&plane, &user, &attributes(verb, &path, &params)).await?;
        let mut upgrade = None;
        if path.group.is_empty() && streams::upgrades(&path.resource, &path.subresource) {
            // Opening a stream is an act, whatever method a WebSocket needs.
            authorize(&plane, &user, &attributes("create", &path, &params)).await?;
            upgrade = streams::upgrade(&mut parts).await;
        }
        let resource = find(&plane, &path, verb)?;
        if let Some(warning) = resource.custom.as_ref().and_then(|c| c.deprecation.clone()) {
            warnings.add(warning);
        }
        if resource.gvk.group.is_empty() && resource.gvk.kind.as_ref() == "Endpoints" {
            warnings.add("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice");
        }
        let accept = Accept::negotiate(&parts.headers, resource.is_custom(), verb == "list")?;
        let ctx = Ctx { plane, user, resource, path, params, headers: parts.headers, accept, warnings };
        perform(ctx, verb, body, upgrade).await
    }
    .await;
    log.answered(id, result.as_ref().map_or_else(|e| e.code, |r| r.status().as_u16()));
    match effect {
        Some(Effect::LoseAnswer(error)) if result.is_ok() => Err(error),
        Some(Effect::CutWatch(events)) if verb == "watch" => result.map(|r| verbs::cut_watch(r, events)),
        Some(Effect::DelayEvents(time)) if verb == "watch" => result.map(|r| verbs::delay_watch(r, time)),
        _ => result,
    }
}

/// The verb and, if it names a resource, the path of a request.
pub(crate) fn requested(parts: &http::request::Parts) -> (String, Option<ResourcePath>) {
    match path::parse(parts.uri.path()) {
        Some(Target::Resource(path)) => {
            let params = Params::parse(parts.uri.query().unwrap_or_default());
            (verb(&parts.method, &path, &params).unwrap_or_default().to_owned(), Some(path))
        }
        _ => (parts.method.as_str().to_lowercase(), None),
    }
}

fn verb(method: &Method, path: &ResourcePath, params: &Params) -> Result<&'static str> {
    let named = !path.name.is_empty();
    Ok(match *method {
        Method::GET | Method::HEAD if path.watch => "watch",
        Method::GET | Method::HEAD if named => "get",
        Method::GET | Method::HEAD if params.flag("watch") => "watch",
        Method::GET | Method::HEAD => "list",
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE if named => "delete",
        Method::DELETE => "deletecollection",
        _ => return Err(Error::method_not_allowed()),
    })
}

fn attributes(verb: &str, path: &ResourcePath, params: &Params) -> Attributes {
    // Asking for one object by its name in a field selector is asking for that object.
    let selected =
        params.get("fieldSelector").strip_prefix("metadata.name=").map(|name| name.trim_start_matches('='));
    let selected =
        selected.filter(|name| matches!(verb, "list" | "watch") && !name.contains([',', '=', '!']));
    Attributes {
        verb: verb.into(),
        group: path.group.clone(),
        version: path.version.clone(),
        resource: path.resource.clone(),
        subresource: path.subresource.clone(),
        namespace: path.namespace.clone(),
        name: selected.unwrap_or(&path.name).to_owned(),
        path: String::new(),
    }
}

async fn authorize(plane: &Plane, user: &User, attributes: &Attributes) -> Result<()> {
    let reason = match plane.hooks().authorize.authorize(user, attributes).await {
        Decision::Allow(_) => return Ok(()),
        Decision::Deny(reason) => reason,
    };
    let a = attributes;
    let after = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    if a.resource.is_empty() {
        let message = format!("forbidden: User {:?} cannot {} path {:?}{after}", user.name, a.verb, a.path);
        return Err(Error::new(403, "Forbidden", escape(&message)).with_details(Details::default()));
    }
    let resource = if a.subresource.is_empty() {
        a.resource.clone()
    } else {
        format!("{}/{}", a.resource, a.subresource)
    };
    let place = if a.namespace.is_empty() {
        "at the cluster scope".to_string()
    } else {
        format!("in the namespace {:?}", a.namespace)
    };
    let plural = if a.group.is_empty() { a.resource.clone() } else { format!("{}.{}", a.resource, a.group) };
    let subject = if a.name.is_empty() { plural } else { format!("{plural} {:?}", a.name) };
    let message = format!(
        "{subject} is forbidden: User {:?} cannot {} resource {resource:?} in API group {:?} {place}{after}",
        user.name, a.verb, a.group
    );
    let details = Details {
        name: a.name.clone(),
        group: a.group.clone(),
        kind: a.resource.clone(),
        ..Details::default()
    };
    Err(Error::new(403, "Forbidden", escape(&message)).with_details(details))
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The resource meant, or the refusal that fits: plain text for what no group has, a Status within built-in groups.
fn find(plane: &Plane, path: &ResourcePath, verb: &str) -> Result<Arc<Resource>> {
    let catalog = plane.catalog();
    let group = catalog.group(&path.group).ok_or_else(Error::unknown_path)?;
    let resources = catalog.version(&path.group, &path.version).ok_or_else(Error::unknown_path)?;
    let Some(resource) = resources.iter().find(|r| r.names.plural.as_ref() == path.resource) else {
        return Err(if group.custom { Error::unknown_path() } else { Error::unknown_resource() });
    };
    let is_namespace = path.resource == "namespaces" && path.group.is_empty();
    let scope_fits = if resource.namespaced() {
        !path.namespace.is_empty() || (path.name.is_empty() && matches!(verb, "list" | "watch"))
    } else {
        path.namespace.is_empty() || is_namespace
    };
    if !scope_fits {
        let across = resource.namespaced() && path.name.is_empty();
        return Err(match (resource.is_custom(), across) {
            (true, _) => Error::unknown_path(),
            (false, true) => Error::method_not_allowed(),
            (false, false) => Error::unknown_resource(),
        });
    }
    Ok(resource.clone())
}

async fn perform(
    ctx: Ctx,
    verb: &str,
    body: Body,
    upgrade: Option<WebSocketUpgrade>,
) -> Result<Response<Body>> {
    let sub = ctx.path.subresource.as_str();
    let own = matches!(sub, "" | "status" | "scale" | "finalize");
    if !sub.is_empty() {
        let Some(subresource) = ctx.resource.subresource(sub) else {
            return Err(if ctx.resource.is_custom() {
                Error::not_found(&ctx.resource.names, &ctx.path.name)
            } else {
                Error::unknown_resource()
            });
        };
        if !subresource.verbs.contains(&verb) {
            return Err(Error::method_not_allowed());
        }
    } else if !ctx.resource.verbs.contains(&verb) {
        return Err(Error::method_not_allowed());
    }
    if let Some(stream) = streams::serve(&ctx, upgrade).await {
        return stream;
    }
    if !own || !ctx.resource.traits.stored {
        return verbs::extra(&ctx, verb, body).await;
    }
    match verb {
        "get" => verbs::get(&ctx).await,
        "list" => verbs::list(&ctx).await,
        "watch" => verbs::watch(ctx).await,
        "create" if !ctx.path.name.is_empty() => Err(Error::method_not_allowed()),
        "create" => verbs::create(&ctx, body).await,
        "update" if ctx.path.name.is_empty() && ctx.resource.is_custom() => {
            Err(Error::bad_request("name must be provided"))
        }
        "update" | "patch" if ctx.path.name.is_empty() => Err(Error::method_not_allowed()),
        "update" => verbs::update(&ctx, body).await,
        "patch" => verbs::patch(&ctx, body).await,
        "delete" => verbs::delete(&ctx, body).await,
        "deletecollection" => verbs::delete_collection(&ctx, body).await,
        _ => Err(Error::method_not_allowed()),
    }
}
