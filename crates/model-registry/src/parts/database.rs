//! What both databases that the operator runs have in common.

use std::collections::BTreeMap;

use k8s_openapi::{
    api::core::v1::{
        EnvVar, PersistentVolumeClaim, PersistentVolumeClaimSpec, ResourceRequirements, SecretKeySelector,
        VolumeResourceRequirements,
    },
    apimachinery::pkg::{api::resource::Quantity, apis::meta::v1::ObjectMeta},
};
use quintet_kit::parts::{env, quantity, resources};

/// PostgreSQL's port.
pub(crate) const PORT: i32 = 5432;
const SIZE: &str = "5Gi";

/// Compute resources of a database.
pub(crate) fn amounts() -> ResourceRequirements {
    resources::defaults(&[("memory", "256Mi"), ("cpu", "250m")], &[("memory", "512Mi"), ("cpu", "500m")])
}

/// The database's volume. A claim may grow and never shrinks: what somebody enlarged stays so.
pub(crate) fn claim(metadata: ObjectMeta, live: Option<&PersistentVolumeClaim>) -> PersistentVolumeClaim {
    let there = live.and_then(requested);
    let wanted = Quantity(SIZE.into());
    let size = match &there {
        Some(there) if quantity::nanos(there) > quantity::nanos(&wanted) => there.clone(),
        _ => wanted,
    };
    PersistentVolumeClaim {
        metadata,
        spec: Some(PersistentVolumeClaimSpec {
            access_modes: Some(vec!["ReadWriteOnce".into()]),
            resources: Some(VolumeResourceRequirements {
                requests: Some([("storage".to_owned(), size)].into()),
                limits: None,
            }),
            ..PersistentVolumeClaimSpec::default()
        }),
        status: None,
    }
}

fn requested(claim: &PersistentVolumeClaim) -> Option<Quantity> {
    claim.spec.as_ref()?.resources.as_ref()?.requests.as_ref()?.get("storage").cloned()
}

/// A variable with the value of a Secret's key.
pub(crate) fn from_secret(name: &str, secret: &str, key: &str) -> EnvVar {
    env::secret(name, SecretKeySelector { name: secret.into(), key: key.into(), optional: None })
}

/// A Secret's data, from text.
pub(crate) fn secret_data<'a>(
    entries: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> BTreeMap<String, k8s_openapi::ByteString> {
    let bytes = |text: &str| k8s_openapi::ByteString(text.as_bytes().to_vec());
    entries.into_iter().map(|(name, text)| (name.to_owned(), bytes(text))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_raised_and_never_lowered() {
        let live = |size: &str| -> PersistentVolumeClaim {
            let mut live = claim(ObjectMeta::default(), None);
            let spec = live.spec.as_mut().unwrap().resources.as_mut().unwrap();
            spec.requests = Some([("storage".to_owned(), Quantity(size.into()))].into());
            live
        };
        let size =
            |live: &PersistentVolumeClaim| requested(&claim(ObjectMeta::default(), Some(live))).unwrap().0;
        assert_eq!(size(&live("20Gi")), "20Gi");
        assert_eq!(size(&live("1Gi")), "5Gi");
        assert_eq!(size(&live("5120Mi")), "5Gi");
    }
}
