//! The systems that this build has, made from the environment.

use std::sync::Arc;

use anyhow::Result;
use quintet_kit::System;
use quintet_kit::config::{Environment, check};
use quintet_kit::wiring::{Edge, SystemRows};
use quintet_mlflow::Mlflow;
use quintet_model_registry::ModelRegistryOperator;

use crate::errors::{Exit, Refusal};

/// Every system by the name that commands and metrics use.
pub const NAMES: [&str; 2] = ["mlflow", "model-registry"];

/// Systems with their settings.
#[derive(Clone)]
pub struct Systems(Vec<Arc<dyn System>>);

impl std::fmt::Debug for Systems {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.iter().map(|system| system.name())).finish()
    }
}

impl From<Vec<Arc<dyn System>>> for Systems {
    fn from(systems: Vec<Arc<dyn System>>) -> Self {
        Systems(systems)
    }
}

impl Systems {
    /// With settings from the process's environment and everything in `namespace`.
    pub fn new(namespace: &str) -> Result<Self> {
        checked(&Environment::of_process())?;
        Self::with(namespace, &set)
    }

    /// The same for an install: where the environment says nothing, with what the originals' own manifests set.
    pub fn to_install(namespace: &str) -> Result<Self> {
        checked(&Environment::of_process())?;
        Self::with(namespace, &|system, name| set(system, name).or_else(|| preset(system, name)))
    }

    /// With the settings that `set` gives for a system and a variable, and everything in `namespace`.
    pub fn with(namespace: &str, set: &dyn Fn(&str, &str) -> Option<String>) -> Result<Self> {
        let wrong = |system: &str, error: &dyn std::fmt::Display| {
            Refusal::new(Exit::Usage, format!("settings of {system}: {error}"))
        };
        let mlflow = quintet_mlflow::Config::new(namespace, |name| set("mlflow", name))
            .map_err(|error| wrong("mlflow", &error))?;
        let registry = quintet_model_registry::Config::new(|name| set("model-registry", name))
            .map_err(|error| wrong("model-registry", &error))?;
        Ok(Systems(vec![
            Arc::new(Mlflow::new(mlflow)),
            Arc::new(ModelRegistryOperator::new(registry.at_home(namespace))),
        ]))
    }

    /// No system at all.
    pub fn none() -> Self {
        Systems(vec![])
    }

    /// For commands that run beside no cluster.
    pub fn offline() -> Result<Self> {
        Self::new(&home_namespace())
    }

    /// Only these; all if none is named.
    pub fn only(self, names: &[String]) -> Result<Self> {
        for name in names {
            if !self.0.iter().any(|s| s.name() == name) {
                return Err(Refusal::new(Exit::Usage, format!("there is no system called {name:?}"))
                    .next(format!("one of {}", NAMES.join(", ")))
                    .into());
            }
        }
        Ok(Systems(
            self.0.into_iter().filter(|s| names.is_empty() || names.iter().any(|n| n == s.name())).collect(),
        ))
    }

    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn System>> {
        self.0.iter()
    }

    /// What each watches, writes, serves and is configured by.
    pub fn rows(&self) -> Vec<SystemRows> {
        self.0.iter().map(|s| s.rows()).collect()
    }

    /// True if one of them reconciles this kind.
    pub fn reconcile(&self, group: &str, kind: &str) -> bool {
        let watches = self.rows().into_iter().flat_map(|r| r.controllers).flat_map(|c| c.watches);
        watches.filter(|w| w.edge == Edge::For).any(|w| w.kind.group == group && w.kind.kind == kind)
    }
}

/// What the original's own manifests set a variable of a system to.
pub fn preset(system: &str, name: &str) -> Option<String> {
    let mut presets = quintet_model_registry::INSTALLED.iter().filter(|_| system == "model-registry");
    presets.find(|(preset, _)| *preset == name).map(|(_, value)| (*value).to_owned())
}

/// The variable that sets something for one system only, whatever the bare name means to the others.
pub fn variable(system: &str, name: &str) -> String {
    format!("QUINTET_{}_{name}", system.to_uppercase().replace('-', "_"))
}

/// The value of a variable for one system: under its own name, else under the bare one.
fn set(system: &str, name: &str) -> Option<String> {
    std::env::var(variable(system, name)).or_else(|_| std::env::var(name)).ok()
}

/// Refuses variables of ours that nobody reads, and bare ones that mean different things to different systems.
fn checked(environment: &Environment) -> Result<()> {
    let known: [(&str, &[_]); 2] = [
        ("mlflow", &quintet_mlflow::config::VARIABLES),
        ("model-registry", &quintet_model_registry::config::VARIABLES),
    ];
    let wrong = check(&known, environment);
    if wrong.is_empty() {
        return Ok(());
    }
    let told: Vec<String> = wrong.iter().map(ToString::to_string).collect();
    Err(Refusal::new(Exit::Usage, told.join("; "))
        .next("`quintet dataflow` lists the variables of each system")
        .into())
}

/// The namespace of the pod that this process runs in; none outside a cluster.
pub fn pod_namespace() -> Option<String> {
    let text = std::fs::read_to_string("/var/run/secrets/kubernetes.io/serviceaccount/namespace").ok()?;
    Some(text.trim().to_owned()).filter(|name| !name.is_empty())
}

/// Where the operators' own objects live: `QUINTET_NAMESPACE`, else the pod's own namespace, else `opendatahub`.
pub fn home_namespace() -> String {
    let named = std::env::var("QUINTET_NAMESPACE").ok().filter(|n| !n.is_empty());
    named.or_else(pod_namespace).unwrap_or_else(|| "opendatahub".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_the_systems() {
        let systems = Systems::new("opendatahub").unwrap();
        assert_eq!(systems.iter().map(|s| s.name()).collect::<Vec<_>>(), NAMES);
    }

    #[test]
    fn a_misspelt_variable_of_ours_is_refused_with_the_right_one() {
        checked(&Environment::from_iter([("QUINTET_MLFLOW_MLFLOW_IMAGE", "x"), ("HOME", "/")])).unwrap();
        let error =
            checked(&Environment::from_iter([("QUINTET_MLFLOW_MLFLOW_IMGE", "x")])).unwrap_err().to_string();
        assert!(error.contains("did you mean") && error.contains("MLFLOW_IMAGE"), "{error}");
    }

    #[test]
    fn an_unknown_system_is_refused_with_the_known_ones() {
        let error = Systems::new("x").unwrap().only(&["mlfow".into()]).err().unwrap();
        let refusal = error.downcast::<Refusal>().unwrap();
        assert_eq!(refusal.to_string(), "there is no system called \"mlfow\"");
        assert_eq!(refusal.advice(), Some("one of mlflow, model-registry"));
    }
}
