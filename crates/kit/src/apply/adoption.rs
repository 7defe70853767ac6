//! Whose is an object that exists?

use crate::desired::Adopt;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

/// Says whose the live object is, if it must be left alone.
pub(super) fn foreign(adopt: Adopt, wanted: &ObjectMeta, live: &ObjectMeta) -> Option<String> {
    if adopt == Adopt::Always || shares_owner(wanted, live) {
        return None;
    }
    if let Some(other) = controller(live).filter(|other| !is_predecessor(wanted, other)) {
        return Some(format!("is controlled by {} {}", other.kind, other.name));
    }
    if adopt == Adopt::Uncontrolled {
        return None;
    }
    let owners = wanted.owner_references.as_deref().unwrap_or_default();
    if let Some(owner) = owners.iter().find(|owner| owner.controller == Some(true)).or(owners.first()) {
        return Some(format!("does not belong to {} {}", owner.kind, owner.name));
    }
    let labels = wanted.labels.iter().flatten();
    let carried = |(label, value)| live.labels.as_ref().and_then(|live| live.get(label)) == Some(value);
    if wanted.labels.as_ref().is_none_or(std::collections::BTreeMap::is_empty)
        || !labels.into_iter().all(carried)
    {
        return Some("does not carry our labels".into());
    }
    None
}

fn shares_owner(wanted: &ObjectMeta, live: &ObjectMeta) -> bool {
    let uids = |meta: &ObjectMeta| -> Vec<String> {
        meta.owner_references.iter().flatten().map(|owner| owner.uid.clone()).collect()
    };
    let live = uids(live);
    uids(wanted).iter().any(|uid| live.contains(uid))
}

/// True if our own controller was deleted and made again under its name: what it left behind is ours, unless the garbage
/// collector is faster.
fn is_predecessor(wanted: &ObjectMeta, other: &OwnerReference) -> bool {
    let group =
        |owner: &OwnerReference| owner.api_version.rsplit_once('/').map(|(group, _)| group.to_owned());
    controller(wanted)
        .is_some_and(|ours| ours.kind == other.kind && ours.name == other.name && group(ours) == group(other))
}

fn controller(meta: &ObjectMeta) -> Option<&OwnerReference> {
    meta.owner_references.iter().flatten().find(|owner| owner.controller == Some(true))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meta(owner: Option<(&str, bool)>, labels: &[(&str, &str)]) -> ObjectMeta {
        let owner = owner.map(|(uid, controller)| OwnerReference {
            kind: "Site".into(),
            name: format!("site-{uid}"),
            uid: uid.into(),
            controller: Some(controller),
            ..OwnerReference::default()
        });
        ObjectMeta {
            owner_references: owner.map(|owner| vec![owner]),
            labels: Some(labels.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect()),
            ..ObjectMeta::default()
        }
    }

    #[test]
    fn an_object_with_our_owner_is_ours() {
        assert_eq!(foreign(Adopt::Never, &meta(Some(("a", true)), &[]), &meta(Some(("a", true)), &[])), None);
        assert_eq!(
            foreign(Adopt::Never, &meta(Some(("a", false)), &[]), &meta(Some(("a", false)), &[])),
            None
        );
    }

    #[test]
    fn what_another_controls_is_taken_over_only_if_told_so() {
        let (wanted, live) = (meta(Some(("a", true)), &[]), meta(Some(("b", true)), &[]));
        assert_eq!(foreign(Adopt::Never, &wanted, &live).unwrap(), "is controlled by Site site-b");
        assert!(foreign(Adopt::Uncontrolled, &wanted, &live).is_some());
        assert_eq!(foreign(Adopt::Always, &wanted, &live), None);
    }

    #[test]
    fn what_a_deleted_namesake_of_our_owner_left_is_adopted_if_uncontrolled_objects_are() {
        let (wanted, mut live) = (meta(Some(("new", true)), &[]), meta(Some(("old", true)), &[]));
        live.owner_references.as_mut().unwrap()[0].name = "site-new".into();
        assert_eq!(foreign(Adopt::Uncontrolled, &wanted, &live), None);
        assert!(foreign(Adopt::Never, &wanted, &live).is_some());
    }

    #[test]
    fn what_nobody_controls_is_not_ours_either() {
        let (wanted, live) = (meta(Some(("a", true)), &[]), meta(None, &[]));
        assert_eq!(foreign(Adopt::Never, &wanted, &live).unwrap(), "does not belong to Site site-a");
        assert_eq!(foreign(Adopt::Uncontrolled, &wanted, &live), None);
    }

    #[test]
    fn without_an_owner_labels_tell() {
        let ours = meta(None, &[("made-by", "us")]);
        assert_eq!(foreign(Adopt::Never, &ours, &meta(None, &[("made-by", "us"), ("more", "x")])), None);
        assert!(foreign(Adopt::Never, &ours, &meta(None, &[])).is_some());
        assert!(foreign(Adopt::Never, &ours, &meta(Some(("b", true)), &[("made-by", "us")])).is_some());
        assert!(foreign(Adopt::Never, &meta(None, &[]), &meta(None, &[])).is_some(), "nothing to know it by");
    }
}
