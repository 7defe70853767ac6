//! Subresources of Pods that are streams: `log`, `exec`, `attach`, `portforward`.
//!
//! They need a kubelet, so only a plane with workloads serves them. `exec` and `attach` speak the channel protocol of
//! Kubernetes over WebSocket ([`channels`]); `portforward` speaks it too ([`forward`]), and SPDY frames inside a
//! WebSocket ([`spdy`]), which is what kubectl uses.

mod channels;
mod forward;
mod relay;
mod spdy;
mod target;

use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::extract::ws::WebSocketUpgrade;
use http::Response;
use http::request::Parts;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use crate::hooks::{AdmissionRequest, Operation};
use crate::resource::GroupVersionKind;
use crate::server::Ctx;
use crate::status::{Error, Result};
use crate::workloads::{Workloads, logs};
use target::Target;

const V5: &str = "v5.channel.k8s.io";
const V4: &str = "v4.channel.k8s.io";
const TUNNEL: &str = "SPDY/3.1+portforward.k8s.io";

/// Whether this is a stream that changes the protocol of its connection.
pub(crate) fn upgrades(resource: &str, subresource: &str) -> bool {
    resource == "pods" && matches!(subresource, "exec" | "attach" | "portforward")
}

/// The WebSocket that a request asks for; none if it asks for none.
pub(crate) async fn upgrade(parts: &mut Parts) -> Option<WebSocketUpgrade> {
    WebSocketUpgrade::from_request_parts(parts, &()).await.ok()
}

/// Answers a request for a stream; none if it is about something else.
pub(crate) async fn serve(ctx: &Ctx, upgrade: Option<WebSocketUpgrade>) -> Option<Result<Response<Body>>> {
    let sub = ctx.path.subresource.as_str();
    let is_core = ctx.resource.gvk.group.is_empty();
    if !is_core || !(upgrades(&ctx.path.resource, sub) || (&*ctx.path.resource, sub) == ("pods", "log")) {
        return None;
    }
    let workloads = ctx.plane.workloads()?;
    Some(open(ctx, workloads, upgrade).await)
}

async fn open(ctx: &Ctx, workloads: &Workloads, upgrade: Option<WebSocketUpgrade>) -> Result<Response<Body>> {
    let stored = ctx.plane.store().get(&ctx.resource.table, &ctx.key());
    let stored = stored.ok_or_else(|| Error::not_found(&ctx.resource.names, &ctx.path.name))?;
    let pod: Pod = serde_json::from_slice(stored.body())
        .map_err(|error| Error::internal(format!("a Pod that cannot be read: {error}")))?;
    let sub = ctx.path.subresource.as_str();
    if sub == "log" {
        return logs::answer(ctx, workloads.logs(), &pod);
    }
    let target = Target::new(workloads, pod, ctx.params.get("container"), sub == "portforward")?;
    admit(ctx, options(ctx, &target.container)).await?;
    let upgrade = upgrade.ok_or_else(|| {
        Error::bad_request(format!(
            "unable to upgrade: {sub} is served over WebSocket only, by HTTP/1.1 and in the protocols {V5}, {V4}{}",
            if sub == "portforward" { format!(" and {TUNNEL}") } else { String::new() }
        ))
    })?;
    let offered: Vec<String> =
        upgrade.requested_protocols().filter_map(|value| value.to_str().ok()).map(str::to_owned).collect();
    let served: &[&'static str] = if sub == "portforward" { &[TUNNEL, V5, V4] } else { &[V5, V4] };
    let Some(chosen) = served.iter().copied().find(|known| offered.iter().any(|one| one == known)) else {
        return Err(Error::bad_request(format!(
            "unable to upgrade: none of the protocols [{}] is served; these are: {}",
            offered.join(" "),
            served.join(", ")
        )));
    };
    let upgrade = upgrade.protocols([chosen]);
    let params = ctx.params.clone();
    Ok(match (sub, chosen) {
        ("portforward", TUNNEL) => upgrade.on_upgrade(move |socket| spdy::serve(socket, target)),
        ("portforward", _) => {
            let ports = forward::ports(&params)?;
            upgrade.on_upgrade(move |socket| forward::serve(socket, target, ports))
        }
        (sub, _) => {
            let wanted = channels::Wanted::read(&params, sub == "attach")?;
            upgrade.on_upgrade(move |socket| channels::serve(socket, target, wanted))
        }
    })
}

/// What admission is shown of a stream: its options.
fn options(ctx: &Ctx, container: &str) -> Value {
    let flag = |name: &str| ctx.params.flag(name);
    let mut options = match ctx.path.subresource.as_str() {
        "exec" => {
            json!({ "kind": "PodExecOptions", "command": ctx.params.all("command").collect::<Vec<_>>() })
        }
        "attach" => json!({ "kind": "PodAttachOptions" }),
        _ => return json!({ "kind": "PodPortForwardOptions", "apiVersion": "v1" }),
    };
    options["apiVersion"] = "v1".into();
    options["container"] = container.into();
    for name in ["stdin", "stdout", "stderr", "tty"].into_iter().filter(|name| flag(name)) {
        options[name] = true.into();
    }
    options
}

async fn admit(ctx: &Ctx, object: Value) -> Result<()> {
    let kind = GroupVersionKind::new("", "v1", object["kind"].as_str().unwrap_or_default());
    let mut request = AdmissionRequest {
        user: ctx.user.clone(),
        operation: Operation::Connect,
        kind,
        names: ctx.resource.names.clone(),
        subresource: ctx.path.subresource.clone(),
        namespace: ctx.namespace().into(),
        name: ctx.path.name.clone(),
        object,
        old_object: Value::Null,
        dry_run: false,
        options: Value::Null,
        warnings: vec![],
    };
    let admit = &ctx.plane.hooks().admit;
    let outcome = match admit.mutate(&mut request).await {
        Ok(()) => admit.validate(&mut request).await,
        refused => refused,
    };
    ctx.warnings.extend(request.warnings);
    outcome
}
