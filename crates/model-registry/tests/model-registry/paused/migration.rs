//! A migration that fails is tried again after ten minutes.

use std::time::Duration;

use http::StatusCode;
use quintet_harness::faults::Asked;
use serde_json::json;

use crate::migration::{notes, stage, stored_versions};

#[tokio::test(start_paused = true)]
async fn a_migration_that_is_refused_is_tried_again_and_goes_on_where_it_was() {
    let mut stage = stage().await;
    stage.start().await;
    let of_b = |r: &Asked| r.verb == "patch" && r.name == "b" && r.subresource.is_empty();
    stage.edge.refuse(of_b, StatusCode::INTERNAL_SERVER_ERROR, "not now");
    tokio::time::sleep(Duration::from_secs(60)).await;
    let half = notes(&stage).await;
    assert!(half[0].is_some() && half[1].is_none(), "{half:?}");
    assert_eq!(stored_versions(&stage).await, json!(["v1alpha1", "v1beta1"]), "not before all are done");
    stage.edge.relent();
    tokio::time::sleep(Duration::from_secs(1200)).await;
    let all = notes(&stage).await;
    assert_eq!(all[0], half[0]);
    assert!(all[1].is_some());
    assert_eq!(stored_versions(&stage).await, json!(["v1beta1"]));
}
