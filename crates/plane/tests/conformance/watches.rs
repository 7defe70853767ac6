//! Watches.

use serde_json::{Value, json};

use crate::support::Case;

fn brief(events: &[Value]) -> Vec<(&str, &str)> {
    let text = |value: &'_ Value| -> &'static str {
        Box::leak(value.as_str().unwrap_or("").to_owned().into_boxed_str())
    };
    events.iter().map(|event| (text(&event["type"]), text(&event["object"]["metadata"]["name"]))).collect()
}

#[tokio::test]
async fn from_nothing_what_exists_comes_first() {
    let case = Case::new().await;
    case.post(&case.path("secrets"), json!({"metadata": {"name": "s"}})).await;
    let seen = case.watch(&case.path("secrets?watch=true"), 1).await;
    assert_eq!(brief(&seen), [("ADDED", "s")]);
}

#[tokio::test]
async fn from_a_version_every_change_comes_in_order() {
    let case = Case::new().await;
    let from = case.get(&case.path("secrets")).await.text("/metadata/resourceVersion").to_owned();
    case.post(&case.path("secrets"), json!({"metadata": {"name": "s"}})).await;
    case.patch("merge", &case.path("secrets/s"), json!({"data": {"a": "aGk="}})).await;
    case.delete(&case.path("secrets/s")).await;
    let seen = case.watch(&case.path(&format!("secrets?watch=true&resourceVersion={from}")), 3).await;
    assert_eq!(brief(&seen), [("ADDED", "s"), ("MODIFIED", "s"), ("DELETED", "s")]);
    let version = |event: &Value| {
        event["object"]["metadata"]["resourceVersion"]
            .as_str()
            .and_then(|v| v.parse::<u64>().ok())
            .unwrap_or(0)
    };
    assert!(version(&seen[0]) < version(&seen[1]) && version(&seen[1]) < version(&seen[2]));
}

#[tokio::test]
async fn leaving_a_selector_is_a_deletion_with_the_old_content() {
    let case = Case::new().await;
    let from = case.get(&case.path("secrets")).await.text("/metadata/resourceVersion").to_owned();
    case.post(&case.path("secrets"), json!({"metadata": {"name": "s", "labels": {"app": "x"}}})).await;
    let gone =
        case.patch("merge", &case.path("secrets/s"), json!({"metadata": {"labels": {"app": "y"}}})).await;
    let path = case.path(&format!("secrets?watch=true&labelSelector=app%3Dx&resourceVersion={from}"));
    let seen = case.watch(&path, 2).await;
    assert_eq!(brief(&seen), [("ADDED", "s"), ("DELETED", "s")]);
    assert_eq!(seen[1]["object"]["metadata"]["labels"]["app"], "x");
    assert_eq!(&seen[1]["object"]["metadata"]["resourceVersion"], gone.at("/metadata/resourceVersion"));
}

#[tokio::test]
async fn initial_events_end_with_a_bookmark() {
    let case = Case::new().await;
    case.post(&case.path("secrets"), json!({"metadata": {"name": "s"}})).await;
    let options =
        "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let seen = case.watch(&case.path(&format!("secrets?{options}")), 2).await;
    assert_eq!(seen[1]["type"], "BOOKMARK");
    assert_eq!(seen[1]["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
}

#[tokio::test]
async fn a_timeout_ends_the_stream_cleanly() {
    let case = Case::new().await;
    let from = case.get(&case.path("secrets")).await.text("/metadata/resourceVersion").to_owned();
    let path = case.path(&format!("secrets?watch=true&timeoutSeconds=1&resourceVersion={from}"));
    assert_eq!(case.watch(&path, 1).await, Vec::<Value>::new());
}

#[tokio::test]
async fn the_old_watch_paths_still_work() {
    let case = Case::new().await;
    case.post(&case.path("secrets"), json!({"metadata": {"name": "s"}})).await;
    let seen = case.watch(&format!("/api/v1/watch/namespaces/{}/secrets", case.ns), 1).await;
    assert_eq!(brief(&seen), [("ADDED", "s")]);
}
