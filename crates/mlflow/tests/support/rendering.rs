//! `quintet render` equals what the controller applies: looked at after every step of every scenario.

use kube::api::DynamicObject;
use quintet_kit::{
    System, WritePolicy,
    run::{Observed, RenderError},
};
use quintet_mlflow::{Config, Mlflow};
use serde_json::Value;

use super::{difference, id, stage::Stage};

/// Renders the stored resource with all else that is stored, and compares that with what is stored.
///
/// - What cannot be rendered is reported, in the same words.
/// - What is rendered is there as rendered, whatever the server or others added; of a claim only that it is there.
/// - Nothing else is owned, but for what stays by design: claims, and accounts of an earlier name.
/// - A child that the API refused is named in the status, and only that one may differ.
pub async fn check(stage: &Stage, config: &Config) {
    let Some(mlflow) = stage.dynamic().await.filter(|m| m.metadata.deletion_timestamp.is_none()) else {
        return;
    };
    let available = stage.condition("Available").await;
    let stored = stage.everything().await;
    let rendered = Mlflow::new(config.clone()).render(&mlflow, &Observed::new(stored.clone()));
    let desired = match rendered {
        Ok(desired) => desired,
        Err(RenderError::Refused { message, .. }) => {
            let (status, _, reported) = available.expect("a refusal is reported");
            // A bundle that cannot be read may well be there.
            let is_unread = reported.starts_with("Failed to get CA bundle ConfigMap");
            assert!(status == "False" && (is_unread || reported == message), "{reported}\n{message}");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    let (_, reason, message) = available.unwrap_or_default();
    let is_refused = |id: &str| match reason.as_str() {
        "ApplyFailed" => message.starts_with(&format!("Failed to apply {id}: ")),
        "ConsoleLinkFailed" => id.starts_with("ConsoleLink/"),
        "HttpRouteFailed" => id.starts_with("HTTPRoute/"),
        // Before the decision: nothing was applied.
        "CABundleConfigMapError" | "PlatformCABundleError" => true,
        _ => false,
    };
    let mut wanted = vec![];
    for child in desired.children() {
        let value = child.to_value();
        let id = id(&value);
        wanted.push(id.clone());
        if is_refused(&id) {
            continue;
        }
        let live = find(&stored, &value).unwrap_or_else(|| panic!("{id} is rendered and not there"));
        assert!(
            *child.write_policy() == WritePolicy::CreateOnly || covers(&live, &value),
            "{id} is not as rendered:\n{}",
            difference(&[(id.clone(), value)].into(), &[(id.clone(), live)].into())
        );
    }
    for id in stage.owned().await.into_keys() {
        let stays = id.starts_with("PersistentVolumeClaim/") || id.starts_with("ServiceAccount/");
        let nothing_applied = is_refused("anything");
        assert!(stays || nothing_applied || wanted.contains(&id), "{id} is there and not rendered");
    }
}

fn find(stored: &[DynamicObject], wanted: &Value) -> Option<Value> {
    let mut values = stored.iter().map(|object| serde_json::to_value(object).expect("an object"));
    values.find(|live| {
        let same = |field: &str| live["metadata"].get(field) == wanted["metadata"].get(field);
        live["kind"] == wanted["kind"] && same("name") && same("namespace")
    })
}

/// True if everything that `wanted` says is so in `live`, whatever else there is. Lists whose items have names may have
/// further items, as others may add them.
pub fn covers(live: &Value, wanted: &Value) -> bool {
    match (live, wanted) {
        (Value::Object(live), Value::Object(wanted)) => {
            wanted.iter().all(|(name, wanted)| live.get(name).is_some_and(|live| covers(live, wanted)))
        }
        (Value::Array(live), Value::Array(wanted))
            if wanted.iter().all(|item| item.get("name").is_some()) =>
        {
            let mut live = live.iter();
            wanted.iter().all(|wanted| {
                let found = live.by_ref().find(|live| live["name"] == wanted["name"]);
                found.is_some_and(|live| covers(live, wanted))
            })
        }
        (Value::Array(live), Value::Array(wanted)) => {
            live.len() == wanted.len() && live.iter().zip(wanted).all(|(live, wanted)| covers(live, wanted))
        }
        _ => live == wanted,
    }
}
