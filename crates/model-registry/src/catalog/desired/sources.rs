//! What the catalog shows.

use k8s_openapi::{api::core::v1::ConfigMap, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use quintet_kit::{Adopt, Child, WritePolicy};

use super::Plan;
use crate::catalog::{
    names::{NAME, family},
    user_sources::KEY,
};

/// The platform's own sources.
const DEFAULT: &str = "default-catalog-sources";
/// Sources of models that users add.
pub(crate) const MODELS: (&str, &str) = ("model-catalog-sources", "catalogs: []");
/// Sources of MCP servers that users add.
pub(crate) const MCP: (&str, &str) = ("mcp-catalog-sources", "mcp_catalogs: []");

/// The platform's own sources. Edits are reset.
pub(super) fn default(plan: &Plan<'_>) -> ConfigMap {
    let metadata = ObjectMeta { labels: Some(family().labels(NAME)), ..plan.meta(DEFAULT) };
    holding(metadata, include_str!("default-sources.yaml").trim_end())
}

/// Users' sources: made when missing, then theirs. Only what an earlier release put there is taken out, once.
pub(super) fn users(plan: &Plan<'_>, (map, empty): (&str, &str)) -> Child {
    let metadata = plan.owned(family().labels(NAME), map, None);
    match plan.inputs.cleaned.get(map) {
        Some(cleaned) => Child::new(holding(metadata, cleaned))
            .policy(WritePolicy::PatchForeign(vec![format!("data[{KEY}]")]))
            .adopt(Adopt::Always),
        None => Child::new(holding(metadata, empty)).policy(WritePolicy::CreateOnly).adopt(Adopt::Always),
    }
}

fn holding(metadata: ObjectMeta, text: &str) -> ConfigMap {
    ConfigMap { metadata, data: Some([(KEY.to_owned(), text.to_owned())].into()), ..ConfigMap::default() }
}
