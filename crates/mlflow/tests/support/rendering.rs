//! `quintet render` equals what the controller applies: looked at after every step of every scenario.

use futures::{FutureExt, future::BoxFuture};
use quintet_stage::{Stage, rendering::compare};

/// What cannot be rendered is reported in the same words; a child that the API refused is named in the status, and only
/// that one may differ. Claims, and accounts of an earlier name, stay by design.
pub fn look(stage: &Stage) -> BoxFuture<'_, ()> {
    async {
        let Some(mlflow) = stage.subject().await.filter(|m| m.metadata.deletion_timestamp.is_none()) else {
            return;
        };
        let available = stage.condition("Available").await;
        let (status, reason, message) = available.unwrap_or_default();
        let is_refused = |id: &str| match reason.as_str() {
            "ApplyFailed" => message.starts_with(&format!("Failed to apply {id}: ")),
            "ConsoleLinkFailed" => id.starts_with("ConsoleLink/"),
            "HttpRouteFailed" => id.starts_with("HTTPRoute/"),
            // Before the decision: nothing was applied.
            "CABundleConfigMapError" | "PlatformCABundleError" => true,
            _ => false,
        };
        let stays = |id: &str| {
            let nothing_applied = is_refused("anything");
            nothing_applied || id.starts_with("PersistentVolumeClaim/") || id.starts_with("ServiceAccount/")
        };
        let owned = stage.owned().await.into_keys();
        let rendered =
            compare(&*stage.play.system, &mlflow, stage.everything().await, owned, is_refused, stays);
        if let Err(refusal) = rendered {
            // A bundle that cannot be read may well be there.
            let is_unread = message.starts_with("Failed to get CA bundle ConfigMap");
            assert!(status == "False" && (is_unread || message == refusal), "{message}\n{refusal}");
        }
    }
    .boxed()
}
