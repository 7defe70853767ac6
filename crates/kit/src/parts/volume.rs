//! Volumes and mounts.

use k8s_openapi::{
    api::core::v1::{
        ConfigMapVolumeSource, EmptyDirVolumeSource, PersistentVolumeClaimVolumeSource, SecretVolumeSource,
        Volume, VolumeMount,
    },
    apimachinery::pkg::api::resource::Quantity,
};

/// A volume that lives as long as its pod, limited in size if a limit is given.
#[must_use]
pub fn scratch(name: &str, limit: Option<&str>) -> Volume {
    let source = EmptyDirVolumeSource { size_limit: limit.map(|l| Quantity(l.into())), medium: None };
    Volume { name: name.into(), empty_dir: Some(source), ..Volume::default() }
}

/// The volume of a claim.
#[must_use]
pub fn claim(name: &str, claim: impl Into<String>) -> Volume {
    let source = PersistentVolumeClaimVolumeSource { claim_name: claim.into(), read_only: None };
    Volume { name: name.into(), persistent_volume_claim: Some(source), ..Volume::default() }
}

/// The entries of a Secret as files of this mode.
#[must_use]
pub fn secret(name: &str, secret: impl Into<String>, mode: i32) -> Volume {
    let source = SecretVolumeSource {
        secret_name: Some(secret.into()),
        default_mode: Some(mode),
        ..SecretVolumeSource::default()
    };
    Volume { name: name.into(), secret: Some(source), ..Volume::default() }
}

/// The entries of a ConfigMap as files; none if there is no such ConfigMap.
#[must_use]
pub fn optional_config_map(name: impl Into<String>, config_map: impl Into<String>) -> Volume {
    let source = ConfigMapVolumeSource {
        name: config_map.into(),
        optional: Some(true),
        ..ConfigMapVolumeSource::default()
    };
    Volume { name: name.into(), config_map: Some(source), ..Volume::default() }
}

/// A volume at a path.
#[must_use]
pub fn mount(name: impl Into<String>, path: &str) -> VolumeMount {
    VolumeMount { name: name.into(), mount_path: path.into(), ..VolumeMount::default() }
}

/// A volume at a path that the container cannot write to.
#[must_use]
pub fn read_only(name: impl Into<String>, path: &str) -> VolumeMount {
    VolumeMount { read_only: Some(true), ..mount(name, path) }
}
