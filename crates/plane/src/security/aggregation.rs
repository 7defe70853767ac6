//! Keeps the rules of aggregated ClusterRoles what their selectors say.

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::Plane;
use crate::internal::Internal;
use crate::rbac::aggregated_rules;
use crate::store::TableId;

/// Follows ClusterRoles until stopped.
pub(crate) fn start(plane: &Plane, stop: CancellationToken) {
    let table = TableId::new("rbac.authorization.k8s.io", "clusterroles");
    let Ok(mut watcher) = plane.store().watch(&table, plane.store().revision()) else { return };
    // Weak: the controller must not keep the plane alive.
    let plane = plane.downgrade();
    tokio::spawn(async move {
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                alive = watcher.changed() => if !alive { return },
            }
            // What changed does not matter: all roles are looked at.
            drop(watcher.read());
            let Some(plane) = plane.upgrade() else { return };
            aggregate(&plane, &table).await;
        }
    });
}

async fn aggregate(plane: &Plane, table: &TableId) {
    let roles: Vec<Value> = plane.store().all(table, "").iter().map(|role| role.to_value()).collect();
    let writer = Internal::new(plane, "clusterrole-aggregation-controller");
    for role in &roles {
        let Some(rules) = aggregated_rules(role, &roles) else { continue };
        let rules = Value::from(rules);
        let known = role.get("rules").filter(|rules| !rules.is_null()).cloned().unwrap_or_else(|| json!([]));
        if known == rules {
            continue;
        }
        let mut updated = role.clone();
        updated["apiVersion"] = json!("rbac.authorization.k8s.io/v1");
        updated["kind"] = json!("ClusterRole");
        updated["rules"] = rules;
        if let Err(error) = writer.update(updated, "").await {
            tracing::warn!(%error, "an aggregated ClusterRole could not be written");
        }
    }
}
