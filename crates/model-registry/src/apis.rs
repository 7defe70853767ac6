//! Which of the APIs that a cluster may lack are served. It is watched: one that appears later counts from then on.

use quintet_api::foreign::{
    openshift::{Group, Ingress, Route},
    platform::Auth,
};
use quintet_kit::Hubs;

/// Which of the APIs that a cluster may lack are served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Apis {
    /// `route.openshift.io`: we are on OpenShift.
    pub route: bool,
    /// `user.openshift.io`. OpenShift without it has its users elsewhere, and groups of our names may exist there.
    pub group: bool,
    /// `config.openshift.io`: the cluster tells its domain.
    pub config: bool,
    /// `services.platform.opendatahub.io`: the platform tells who its administrators are.
    pub auth: bool,
}

impl Apis {
    /// As far as the caches know.
    pub fn of(hubs: &Hubs) -> Self {
        Apis {
            route: hubs.serves::<Route>() == Some(true),
            group: hubs.serves::<Group>() == Some(true),
            config: hubs.serves::<Ingress>() == Some(true),
            auth: hubs.serves::<Auth>() == Some(true),
        }
    }
}

/// The domain of Routes: what the operator was told, else what the cluster says.
pub(crate) fn domain(configured: Option<&str>, ingress: Option<&Ingress>) -> Option<String> {
    let of_cluster = ingress.and_then(|ingress| {
        let filled = |domain: &Option<String>| domain.clone().filter(|domain| !domain.is_empty());
        filled(&ingress.spec.apps_domain).or_else(|| filled(&ingress.spec.domain))
    });
    configured.map(Into::into).or(of_cluster)
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_api::foreign::openshift::IngressSpec;

    #[test]
    fn the_domain_is_the_configured_one_else_the_clusters() {
        let ingress = |apps: Option<&str>, domain: &str| {
            Ingress::new(
                "cluster",
                IngressSpec { apps_domain: apps.map(Into::into), domain: Some(domain.into()) },
            )
        };
        assert_eq!(domain(Some("a"), Some(&ingress(None, "b"))).as_deref(), Some("a"));
        assert_eq!(domain(None, Some(&ingress(Some("apps"), "b"))).as_deref(), Some("apps"));
        assert_eq!(domain(None, Some(&ingress(Some(""), "b"))).as_deref(), Some("b"));
        assert_eq!(domain(None, Some(&ingress(None, ""))), None);
        assert_eq!(domain(None, None), None);
    }
}
