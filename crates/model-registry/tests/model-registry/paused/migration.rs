//! A migration that fails is tried again after ten minutes.

use std::time::Duration;

use http::StatusCode;
use quintet_harness::faults::Asked;
use serde_json::json;

use crate::{
    migration::{notes, stage, stored_versions},
    support::stage::in_tree_migrator,
};

#[tokio::test(start_paused = true)]
async fn a_migration_that_is_refused_is_tried_again_and_goes_on_where_it_was() {
    let mut stage = stage().await;
    stage.start().await;
    let of_b = |r: &Asked| r.verb == "patch" && r.name == "b" && r.subresource.is_empty();
    stage.edge.refuse(of_b, StatusCode::INTERNAL_SERVER_ERROR, "not now");
    tokio::time::sleep(Duration::from_secs(60)).await;
    let half = notes(&stage).await;
    assert!(half[0].is_some() && half[1].is_none(), "{half:?}");
    assert_eq!(
        stored_versions(&stage.admin).await,
        json!(["v1alpha1", "v1beta1"]),
        "not before all are done"
    );
    let told = stage.events_about(&["CustomResourceDefinition"]).await;
    let failed = told.iter().find(|(reason, _)| reason == "StorageMigrationFailed").expect("it is told");
    let text = "Failed to perform migration from v1alpha1 to v1beta1: 1 of 2 registries could not be migrated, \
                mr/b first: not now";
    assert!(failed.1.starts_with(text), "{}", failed.1);
    stage.edge.relent();
    tokio::time::sleep(Duration::from_secs(1200)).await;
    let all = notes(&stage).await;
    assert_eq!(all[0], half[0]);
    assert!(all[1].is_some());
    assert_eq!(stored_versions(&stage.admin).await, json!(["v1beta1"]));
}

#[tokio::test(start_paused = true)]
async fn an_api_without_a_migrator_is_not_waited_for_for_ever() {
    let mut stage = stage().await;
    quintet_stage::server::install(&stage.admin, in_tree_migrator()).await;
    stage.start().await;
    tokio::time::sleep(Duration::from_secs(300)).await;
    assert_eq!(notes(&stage).await, [None, None], "it may still begin");
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert!(notes(&stage).await.iter().all(Option::is_some));
    assert_eq!(stored_versions(&stage.admin).await, json!(["v1beta1"]));
}
