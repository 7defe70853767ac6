//! Every object of the cluster, of whatever kind.

use std::collections::BTreeSet;

use kube::api::{DynamicObject, ListParams};
use kube::discovery::{Discovery, verbs};
use kube::{Api, Client, ResourceExt};

/// `resource.group namespace/name` of all there is. Not Events: they tell what happened, and expire by themselves.
pub(crate) async fn inventory(admin: &Client) -> BTreeSet<String> {
    let discovery = Discovery::new(admin.clone()).run().await.expect("discovery");
    let mut all = BTreeSet::new();
    for (kind, capabilities) in discovery.groups().flat_map(|group| group.recommended_resources()) {
        if !capabilities.supports_operation(verbs::LIST) || kind.plural == "events" {
            continue;
        }
        let api: Api<DynamicObject> = Api::all_with(admin.clone(), &kind);
        let list = match api.list(&ListParams::default()).await {
            Ok(list) => list,
            // Its definition was deleted a moment ago.
            Err(kube::Error::Api(status)) if status.code == 404 || status.code == 405 => continue,
            Err(error) => panic!("{}: {error}", kind.plural),
        };
        for object in list {
            let namespace = object.namespace().unwrap_or_default();
            all.insert(format!("{}.{} {namespace}/{}", kind.plural, kind.group, object.name_any()));
        }
    }
    all
}
