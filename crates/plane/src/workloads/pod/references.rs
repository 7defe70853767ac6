//! What a Pod needs before it can start: ConfigMaps, Secrets and claims it names.

use k8s_openapi::api::core::v1::{Container, Pod, Volume};

/// Something named by a Pod that may not be there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) enum Needed {
    /// A volume cannot be set up without it: the Pod stays in creation.
    Volume(Kind, String),
    /// A container's environment cannot be made without it, nor without this key of it.
    Environment(Kind, String, Option<String>),
    /// The Pod cannot be scheduled without it.
    Claim(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Kind {
    ConfigMap,
    Secret,
}

impl Kind {
    pub(in super::super) fn word(self) -> &'static str {
        match self {
            Self::ConfigMap => "configmap",
            Self::Secret => "secret",
        }
    }
}

/// Everything a Pod needs, claims first.
pub(in super::super) fn needed(pod: &Pod) -> Vec<Needed> {
    let Some(spec) = &pod.spec else { return vec![] };
    let mut all: Vec<Needed> = spec.volumes.iter().flatten().flat_map(of_volume).collect();
    all.sort_by_key(|needed| !matches!(needed, Needed::Claim(_)));
    let containers = spec.init_containers.iter().flatten().chain(&spec.containers);
    all.extend(containers.flat_map(of_container));
    all
}

fn of_volume(volume: &Volume) -> Vec<Needed> {
    let required = |optional: Option<bool>| optional != Some(true);
    let mut all = vec![];
    if let Some(claim) = &volume.persistent_volume_claim {
        all.push(Needed::Claim(claim.claim_name.clone()));
    }
    if let Some(source) = volume.config_map.as_ref().filter(|source| required(source.optional)) {
        all.push(Needed::Volume(Kind::ConfigMap, source.name.clone()));
    }
    if let Some(source) = volume.secret.as_ref().filter(|source| required(source.optional)) {
        all.push(Needed::Volume(Kind::Secret, source.secret_name.clone().unwrap_or_default()));
    }
    for source in volume.projected.iter().flat_map(|projected| projected.sources.iter().flatten()) {
        if let Some(source) = source.config_map.as_ref().filter(|source| required(source.optional)) {
            all.push(Needed::Volume(Kind::ConfigMap, source.name.clone()));
        }
        if let Some(source) = source.secret.as_ref().filter(|source| required(source.optional)) {
            all.push(Needed::Volume(Kind::Secret, source.name.clone()));
        }
    }
    all
}

fn of_container(container: &Container) -> Vec<Needed> {
    let required = |optional: Option<bool>| optional != Some(true);
    let mut all = vec![];
    for from in container.env_from.iter().flatten() {
        if let Some(source) = from.config_map_ref.as_ref().filter(|source| required(source.optional)) {
            all.push(Needed::Environment(Kind::ConfigMap, source.name.clone(), None));
        }
        if let Some(source) = from.secret_ref.as_ref().filter(|source| required(source.optional)) {
            all.push(Needed::Environment(Kind::Secret, source.name.clone(), None));
        }
    }
    for source in container.env.iter().flatten().filter_map(|env| env.value_from.as_ref()) {
        if let Some(key) = source.config_map_key_ref.as_ref().filter(|key| required(key.optional)) {
            all.push(Needed::Environment(Kind::ConfigMap, key.name.clone(), Some(key.key.clone())));
        }
        if let Some(key) = source.secret_key_ref.as_ref().filter(|key| required(key.optional)) {
            all.push(Needed::Environment(Kind::Secret, key.name.clone(), Some(key.key.clone())));
        }
    }
    all
}
