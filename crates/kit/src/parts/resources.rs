//! Compute resources: what a custom resource asks for, over what a container needs by default.

use super::quantity;
use k8s_openapi::{api::core::v1::ResourceRequirements, apimachinery::pkg::api::resource::Quantity};
use std::collections::BTreeMap;

type Quantities = BTreeMap<String, Quantity>;

/// Requests and limits from text: `[("cpu", "1")]`.
#[must_use]
pub fn defaults(requests: &[(&str, &str)], limits: &[(&str, &str)]) -> ResourceRequirements {
    let quantities = |pairs: &[(&str, &str)]| -> Quantities {
        pairs.iter().map(|(name, amount)| ((*name).into(), Quantity((*amount).into()))).collect()
    };
    ResourceRequirements {
        requests: Some(quantities(requests)),
        limits: Some(quantities(limits)),
        claims: None,
    }
}

/// Each request and limit that was asked for replaces the default of that name; the others keep theirs. A default limit
/// below a request that was asked for is left out, since the API server would refuse the pod.
#[must_use]
pub fn merge(defaults: ResourceRequirements, asked: Option<&ResourceRequirements>) -> ResourceRequirements {
    let Some(asked) = asked else { return defaults };
    let over = |defaults: Option<Quantities>, asked: &Option<Quantities>| -> Quantities {
        let asked = asked.iter().flatten().map(|(name, amount)| (name.clone(), quantity::canonical(amount)));
        defaults.into_iter().flatten().chain(asked).collect()
    };
    let requests = over(defaults.requests, &asked.requests);
    let mut limits = over(defaults.limits, &asked.limits);
    let was_asked =
        |list: &Option<Quantities>, name: &str| list.as_ref().is_some_and(|list| list.contains_key(name));
    limits.retain(|name, limit| {
        let exceeded = requests.get(name).is_some_and(|request| {
            matches!((quantity::nanos(request), quantity::nanos(limit)), (Some(request), Some(limit)) if request > limit)
        });
        !exceeded || was_asked(&asked.limits, name) || !was_asked(&asked.requests, name)
    });
    ResourceRequirements {
        requests: Some(requests).filter(|r| !r.is_empty()),
        limits: Some(limits).filter(|l| !l.is_empty()),
        claims: asked.claims.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base() -> ResourceRequirements {
        defaults(&[("cpu", "1"), ("memory", "2Gi")], &[("cpu", "4"), ("memory", "3Gi")])
    }

    fn amounts(list: &Option<Quantities>) -> Vec<(&str, &str)> {
        list.iter().flatten().map(|(name, amount)| (name.as_str(), amount.0.as_str())).collect()
    }

    #[test]
    fn each_name_is_merged_alone() {
        let asked = defaults(&[("cpu", "0.5"), ("nvidia.com/gpu", "1")], &[("memory", "8192Mi")]);
        let merged = merge(base(), Some(&asked));
        assert_eq!(amounts(&merged.requests), [("cpu", "500m"), ("memory", "2Gi"), ("nvidia.com/gpu", "1")]);
        assert_eq!(amounts(&merged.limits), [("cpu", "4"), ("memory", "8Gi")]);
    }

    #[test]
    fn nothing_asked_is_all_defaults() {
        assert_eq!(merge(base(), None), base());
        assert_eq!(merge(base(), Some(&ResourceRequirements::default())), base());
    }

    #[test]
    fn a_default_limit_gives_way_to_a_larger_request() {
        let merged = merge(base(), Some(&defaults(&[("memory", "8Gi")], &[])));
        assert_eq!(amounts(&merged.limits), [("cpu", "4")]);
        let both = merge(base(), Some(&defaults(&[("memory", "8Gi")], &[("memory", "4Gi")])));
        assert_eq!(
            amounts(&both.limits),
            [("cpu", "4"), ("memory", "4Gi")],
            "what was asked for is the server's to judge"
        );
    }
}
