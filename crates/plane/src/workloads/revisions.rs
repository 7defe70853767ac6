//! ControllerRevisions: the templates that a StatefulSet or DaemonSet has had, newest last.

use k8s_openapi::Metadata;
use k8s_openapi::api::apps::v1::ControllerRevision;
use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::runtime::RawExtension;
use serde_json::json;

use super::plan::{Plan, owner};

/// The label of Pods and revisions that says which template they have.
pub(super) const LABEL: &str = "controller-revision-hash";
/// Says that the template in a revision replaces another one whole; `kubectl rollout undo` sends it as a patch.
const REPLACE: &str = "$patch";

/// One template as it should be recorded.
pub(super) struct Current<'a> {
    /// The revision's name.
    pub(super) name: String,
    /// The value of [`LABEL`].
    pub(super) label: String,
    pub(super) template: &'a PodTemplateSpec,
}

/// Records the template in use, and forgets old ones beyond `limit` that no Pod has (`used` are labels of Pods).
pub(super) fn sync<K: Metadata<Ty = ObjectMeta>>(
    plan: &mut Plan,
    set: &K,
    current: &Current<'_>,
    known: &[ControllerRevision],
    limit: Option<i32>,
    used: &[&str],
) {
    let highest = known.iter().map(|revision| revision.revision).max().unwrap_or(0);
    match known.iter().find(|revision| revision.metadata.name.as_ref() == Some(&current.name)) {
        None => plan.create(&recorded(set, current, highest + 1)),
        // Somebody went back to it.
        Some(old) if old.revision < highest => {
            plan.update(&ControllerRevision { revision: highest + 1, ..old.clone() });
        }
        Some(_) => {}
    }
    let label = |revision: &ControllerRevision| revision.metadata.labels.as_ref()?.get(LABEL).cloned();
    let mut old: Vec<&ControllerRevision> = known
        .iter()
        .filter(|revision| revision.metadata.name.as_ref() != Some(&current.name))
        .filter(|revision| label(revision).is_none_or(|label| !used.contains(&label.as_str())))
        .collect();
    old.sort_by_key(|revision| revision.revision);
    let excess = old.len().saturating_sub(usize::try_from(limit.unwrap_or(10)).unwrap_or(0));
    old.into_iter().take(excess).for_each(|revision| plan.delete(revision));
}

fn recorded<K: Metadata<Ty = ObjectMeta>>(set: &K, current: &Current<'_>, number: i64) -> ControllerRevision {
    let mut labels =
        current.template.metadata.as_ref().and_then(|meta| meta.labels.clone()).unwrap_or_default();
    labels.insert(LABEL.into(), current.label.clone());
    let mut template = serde_json::to_value(current.template).unwrap_or_default();
    template[REPLACE] = "replace".into();
    ControllerRevision {
        metadata: ObjectMeta {
            name: Some(current.name.clone()),
            namespace: set.metadata().namespace.clone(),
            labels: Some(labels),
            owner_references: Some(vec![owner(set)]),
            ..ObjectMeta::default()
        },
        data: Some(RawExtension(json!({ "spec": { "template": template } }))),
        revision: number,
    }
}

/// The template of the revision with this name.
pub(super) fn template(known: &[ControllerRevision], name: &str) -> Option<PodTemplateSpec> {
    let revision = known.iter().find(|revision| revision.metadata.name.as_deref() == Some(name))?;
    let mut template = revision.data.as_ref()?.0["spec"]["template"].clone();
    template.as_object_mut()?.remove(REPLACE);
    serde_json::from_value(template).ok()
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::apps::v1::StatefulSet;

    use super::super::plan::Write;
    use super::*;

    fn record(known: &mut Vec<ControllerRevision>, image: &str, limit: i32, used: &[&str]) -> Vec<String> {
        let set: StatefulSet =
            serde_json::from_value(json!({ "metadata": { "name": "st", "uid": "u" } })).unwrap();
        let template = json!({ "metadata": { "labels": { "a": "b" } }, "spec": { "containers": [{ "name": "c", "image": image }] } });
        let template: PodTemplateSpec = serde_json::from_value(template).unwrap();
        let current =
            Current { name: format!("st-{image}"), label: format!("st-{image}"), template: &template };
        let mut plan = Plan::default();
        sync(&mut plan, &set, &current, known, Some(limit), used);
        let mut told = vec![];
        for write in plan.writes {
            match write {
                Write::Create(revision) => known.push(serde_json::from_value(revision).unwrap()),
                Write::Update(revision) => {
                    let revision: ControllerRevision = serde_json::from_value(revision).unwrap();
                    known.retain(|old| old.metadata.name != revision.metadata.name);
                    told.push(format!(
                        "{} is {}",
                        revision.metadata.name.as_ref().unwrap(),
                        revision.revision
                    ));
                    known.push(revision);
                }
                Write::Delete { object, .. } => told.push(format!("{} goes", object.name.unwrap())),
                other => panic!("{other:?}"),
            }
        }
        told
    }

    #[test]
    fn each_template_is_recorded_once_and_going_back_makes_it_the_newest() {
        let mut known = vec![];
        for image in ["one", "two", "two"] {
            assert!(record(&mut known, image, 10, &[]).is_empty());
        }
        assert_eq!(known.iter().map(|revision| revision.revision).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(record(&mut known, "one", 10, &[]), ["st-one is 3"]);
        let back = template(&known, "st-two").unwrap();
        assert_eq!(back.spec.unwrap().containers[0].image.as_deref(), Some("two"));
    }

    #[test]
    fn old_ones_go_unless_a_pod_still_has_them() {
        let mut known = vec![];
        for image in ["one", "two", "three"] {
            record(&mut known, image, 10, &[]);
        }
        assert_eq!(record(&mut known, "three", 1, &["st-one"]), [] as [&str; 0]);
        assert_eq!(record(&mut known, "three", 1, &[]), ["st-one goes"]);
    }
}
