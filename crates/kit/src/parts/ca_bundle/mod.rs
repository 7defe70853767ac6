//! CA bundles: certificates from several ConfigMaps, combined with the image's own into one file that every library in
//! the pod is pointed to.
//!
//! ConfigMaps are mounted, an init container combines them, and a sidecar combines them again when they change. The
//! pod template depends on which ConfigMaps there are, not on what they hold.

use super::{env, resources, volume};
use k8s_openapi::api::core::v1::{Container, EnvVar, PodSpec, ResourceRequirements, Volume, VolumeMount};
use std::borrow::Cow;

/// Directory of the combined bundle.
const COMBINED_DIR: &str = "/etc/pki/tls/certs/combined";
/// The combined bundle.
pub const COMBINED: &str = "/etc/pki/tls/certs/combined/ca-bundle.crt";
/// The image's own bundle.
const SYSTEM: &str = "/etc/pki/tls/certs/ca-bundle.crt";
const COMBINED_VOLUME: &str = "combined-ca-bundle";
const INIT_CONTAINER: &str = "combine-ca-bundles";
const SIDECAR: &str = "ca-bundle-watcher";

/// Combines once and ends.
pub const COMBINE_SCRIPT: &str = concat!(include_str!("functions.sh"), include_str!("combine.sh"));
/// Combines again whenever a source changes, for ever.
pub const WATCH_SCRIPT: &str = concat!(include_str!("functions.sh"), include_str!("watch.sh"));

/// The two programs: ours, unless others that do the same are to stay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scripts {
    /// Combines once and ends.
    pub combine: Cow<'static, str>,
    /// Combines again whenever a source changes, for ever.
    pub watch: Cow<'static, str>,
}

impl Default for Scripts {
    fn default() -> Self {
        Scripts { combine: COMBINE_SCRIPT.into(), watch: WATCH_SCRIPT.into() }
    }
}

impl Scripts {
    /// The programs that a pod has.
    #[must_use]
    pub fn of(pod: &PodSpec) -> Option<Self> {
        let script = |containers: &[Container], name: &str| {
            let container = containers.iter().find(|container| container.name == name)?;
            container.command.as_ref()?.get(2).cloned().map(Cow::Owned)
        };
        Some(Scripts {
            combine: script(pod.init_containers.as_ref()?, INIT_CONTAINER)?,
            watch: script(&pod.containers, SIDECAR)?,
        })
    }
}

/// A ConfigMap with certificates, and where it is mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Name of the ConfigMap.
    pub config_map: String,
    /// Directory it is mounted at.
    pub directory: &'static str,
}

/// The sources of a pod, in order. With none, nothing is added to the pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CaBundles {
    sources: Vec<Source>,
    scripts: Scripts,
}

impl FromIterator<Source> for CaBundles {
    fn from_iter<I: IntoIterator<Item = Source>>(sources: I) -> Self {
        CaBundles { sources: sources.into_iter().collect(), scripts: Scripts::default() }
    }
}

impl CaBundles {
    /// With these programs.
    #[must_use]
    pub fn with_scripts(mut self, scripts: Scripts) -> Self {
        self.scripts = scripts;
        self
    }

    /// True if there is nothing to combine.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// Volumes of the sources and of the combined bundle.
    #[must_use]
    pub fn volumes(&self) -> Vec<Volume> {
        if self.is_empty() {
            return vec![];
        }
        // Optional: a ConfigMap that goes away must not keep a pod from starting.
        let sources = self.sources.iter().enumerate();
        let sources =
            sources.map(|(i, source)| volume::optional_config_map(volume_name(i), &source.config_map));
        sources.chain([volume::scratch(COMBINED_VOLUME, None)]).collect()
    }

    /// The combined bundle, for a container that uses it.
    #[must_use]
    pub fn mount(&self) -> Option<VolumeMount> {
        (!self.is_empty()).then(|| volume::read_only(COMBINED_VOLUME, COMBINED_DIR))
    }

    /// The container that combines before the others start. `like` gives image, pull policy and security context.
    #[must_use]
    pub fn init_container(&self, like: &Container) -> Option<Container> {
        let amounts = resources::defaults(
            &[("cpu", "10m"), ("memory", "16Mi")],
            &[("cpu", "100m"), ("memory", "64Mi")],
        );
        (!self.is_empty())
            .then(|| self.container(INIT_CONTAINER, &self.scripts.combine, vec![], amounts, like))
    }

    /// The container that combines again when a source changes.
    #[must_use]
    pub fn sidecar(&self, like: &Container) -> Option<Container> {
        let amounts =
            resources::defaults(&[("cpu", "5m"), ("memory", "8Mi")], &[("cpu", "50m"), ("memory", "32Mi")]);
        let interval = vec![env::value("CA_BUNDLE_WATCH_INTERVAL", "30")];
        (!self.is_empty()).then(|| self.container(SIDECAR, &self.scripts.watch, interval, amounts, like))
    }

    fn container(
        &self,
        name: &str,
        script: &str,
        mut settings: Vec<EnvVar>,
        amounts: ResourceRequirements,
        like: &Container,
    ) -> Container {
        let directories: Vec<&str> = self.sources.iter().map(|source| source.directory).collect();
        settings.extend([
            env::value("CA_BUNDLE_FILE_PATHS", SYSTEM),
            env::value("CA_BUNDLE_MOUNT_PATHS", directories.join(" ")),
            env::value("CA_BUNDLE_OUTPUT", COMBINED),
        ]);
        let mut mounts = vec![volume::mount("tmp", "/tmp"), volume::mount(COMBINED_VOLUME, COMBINED_DIR)];
        let sources = self.sources.iter().enumerate();
        mounts.extend(sources.map(|(i, source)| volume::read_only(volume_name(i), source.directory)));
        Container {
            name: name.into(),
            image: like.image.clone(),
            image_pull_policy: like.image_pull_policy.clone(),
            command: Some(vec!["/bin/sh".into(), "-c".into(), script.into()]),
            env: Some(settings),
            volume_mounts: Some(mounts),
            security_context: like.security_context.clone(),
            resources: Some(amounts),
            ..Container::default()
        }
    }
}

fn volume_name(index: usize) -> String {
    format!("ca-bundle-{index}")
}

#[cfg(test)]
mod tests;
