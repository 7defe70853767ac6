//! Children that nobody controls are taken over by the owner whose selector they match, as after an orphaning deletion.

use k8s_openapi::Metadata;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use serde::Serialize;

use super::plan::{Plan, owner};

/// Makes `parent` the controller of each candidate that has none and matches its selector. An owner or a child that is
/// being deleted is left alone.
pub(super) fn plan<P, C>(parent: &P, selector: &LabelSelector, candidates: Vec<C>) -> Plan
where
    P: Metadata<Ty = ObjectMeta>,
    C: Metadata<Ty = ObjectMeta> + Serialize,
{
    let mut plan = Plan::default();
    if parent.metadata().deletion_timestamp.is_some() {
        return plan;
    }
    let selector = serde_json::to_value(selector)
        .ok()
        .and_then(|value| crate::label_selector::LabelSelector::of(&value));
    for mut child in candidates {
        let meta = child.metadata();
        let label = |name: &str| meta.labels.as_ref()?.get(name).map(String::as_str);
        let matches = selector.as_ref().is_some_and(|selector| selector.matches(label));
        let controlled = meta.owner_references.iter().flatten().any(|owner| owner.controller == Some(true));
        if matches && !controlled && meta.deletion_timestamp.is_none() {
            child.metadata_mut().owner_references.get_or_insert_default().push(owner(parent));
            plan.update(&child);
        }
    }
    plan
}

#[cfg(test)]
mod tests {
    use super::super::plan::Write;
    use super::*;
    use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
    use serde_json::json;

    fn set(name: &str, labels: serde_json::Value, more: serde_json::Value) -> ReplicaSet {
        let mut meta = json!({"name": name, "labels": labels});
        meta.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value(json!({"metadata": meta})).unwrap()
    }

    #[test]
    fn only_free_and_matching_children_that_stay_are_taken() {
        let parent: Deployment =
            serde_json::from_value(json!({"metadata": {"name": "web", "uid": "u"}})).unwrap();
        let selector: LabelSelector = serde_json::from_value(json!({"matchLabels": {"app": "web"}})).unwrap();
        let anothers = json!({"ownerReferences": [{"apiVersion": "v1", "kind": "X", "name": "x", "uid": "x", "controller": true}]});
        let candidates = vec![
            set("free", json!({"app": "web"}), json!({})),
            set("other", json!({"app": "db"}), json!({})),
            set("taken", json!({"app": "web"}), anothers),
            set("going", json!({"app": "web"}), json!({"deletionTimestamp": "2026-01-01T00:00:00Z"})),
        ];
        let plan = plan(&parent, &selector, candidates);
        let [Write::Update(adopted)] = &plan.writes[..] else { panic!("{:?}", plan.writes) };
        assert_eq!(adopted["metadata"]["name"], "free");
        assert_eq!(adopted["metadata"]["ownerReferences"][0]["uid"], "u");
    }
}
