//! What the server serves, and how a word typed by a person names one of its kinds.

use anyhow::{Context, Result};
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject};
use kube::core::discovery::v2::{APIGroupDiscoveryList, APIResourceDiscovery};
use kube::core::gvk::GroupVersionKind;
use quintet_kit::spelling::distance;

use crate::errors::{Exit, Refusal};

/// One kind that the server serves.
#[derive(Clone, Debug)]
pub struct Served {
    /// Group, version, kind and plural.
    pub api: ApiResource,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// Its verbs.
    pub verbs: Vec<String>,
    names: Vec<String>,
}

impl Served {
    /// `deployments.apps`, `pods`: how messages name the kind.
    pub fn resource(&self) -> String {
        if self.api.group.is_empty() {
            self.api.plural.clone()
        } else {
            format!("{}.{}", self.api.plural, self.api.group)
        }
    }

    /// `deployment.apps/name`: how messages name an object of the kind.
    pub fn object(&self, name: &str) -> String {
        let kind = self.api.kind.to_lowercase();
        if self.api.group.is_empty() {
            format!("{kind}/{name}")
        } else {
            format!("{kind}.{}/{name}", self.api.group)
        }
    }

    /// An untyped API of the kind, in the namespace if it has one.
    pub fn api(&self, client: &Client, namespace: &str) -> Api<DynamicObject> {
        if self.namespaced {
            Api::namespaced_with(client.clone(), namespace, &self.api)
        } else {
            Api::all_with(client.clone(), &self.api)
        }
    }

    /// The path of the collection: one namespace's (or the cluster's), or with `None` all namespaces'.
    pub fn path(&self, namespace: Option<&str>) -> String {
        let namespace = namespace.filter(|_| self.namespaced);
        <DynamicObject as kube::Resource>::url_path(&self.api, namespace)
    }

    fn answers_to(&self, word: &str) -> bool {
        self.names.iter().any(|n| n == word)
    }
}

/// Every kind that the server serves, the preferred version of each first.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    served: Vec<Served>,
}

impl Catalogue {
    /// Asks the server: two requests.
    pub async fn discover(client: &Client) -> Result<Self> {
        let core =
            client.list_core_api_versions_aggregated().await.context("asking the server what it serves")?;
        let groups = client.list_api_groups_aggregated().await.context("asking the server what it serves")?;
        Ok(Self::from_documents([core, groups]))
    }

    fn from_documents(documents: impl IntoIterator<Item = APIGroupDiscoveryList>) -> Self {
        let mut served = vec![];
        for group in documents.into_iter().flat_map(|d| d.items) {
            let name = group.metadata.and_then(|m| m.name).unwrap_or_default();
            for version in group.versions {
                let number = version.version.unwrap_or_default();
                served.extend(version.resources.into_iter().filter_map(|r| entry(&name, &number, r)));
            }
        }
        Catalogue { served }
    }

    /// All kinds that can be listed, each once.
    pub fn listable(&self) -> impl Iterator<Item = &Served> {
        self.served.iter().enumerate().filter_map(|(i, s)| {
            let again =
                self.served[..i].iter().any(|e| e.api.group == s.api.group && e.api.plural == s.api.plural);
            (!again && s.verbs.iter().any(|v| v == "list")).then_some(s)
        })
    }

    /// The kind that a word names: `mlflow`, `mlflows`, `deploy`, `deployments.apps`, `httproutes.v1.gateway.networking.k8s.io`.
    pub fn find(&self, word: &str) -> Result<&Served> {
        let word = word.to_lowercase();
        let (name, rest) = word.split_once('.').unwrap_or((&word, ""));
        let matches = |s: &&Served| {
            s.answers_to(name)
                && (rest.is_empty()
                    || s.api.group == rest
                    || format!("{}.{}", s.api.version, s.api.group) == rest)
        };
        self.served.iter().find(matches).ok_or_else(|| self.unknown(&word).into())
    }

    /// The kind of a manifest.
    pub fn of(&self, api_version: &str, kind: &str) -> Result<&Served> {
        self.served.iter().find(|s| s.api.api_version == api_version && s.api.kind == kind).ok_or_else(|| {
            Refusal::new(Exit::NotFound, format!("the server has no kind {kind} in {api_version}"))
                .next("`quintet crds | quintet apply -f -` installs Quintet's kinds")
                .into()
        })
    }

    fn unknown(&self, word: &str) -> Refusal {
        let near: Vec<String> = self
            .listable()
            .filter(|s| {
                s.names
                    .iter()
                    .any(|n| n.starts_with(word) || word.starts_with(n.as_str()) || distance(n, word) <= 2)
            })
            .map(Served::resource)
            .take(5)
            .collect();
        let refusal = Refusal::new(Exit::NotFound, format!("the server has no kind called {word:?}"));
        if near.is_empty() {
            refusal.next("`quintet get` with no kind lists what it serves")
        } else {
            refusal.next(near.join(", "))
        }
    }
}

fn entry(group: &str, version: &str, found: APIResourceDiscovery) -> Option<Served> {
    let plural = found.resource?;
    let kind = found.response_kind.as_ref().and_then(|k| k.kind.clone())?;
    let mut names = vec![plural.clone(), kind.to_lowercase()];
    names.extend(found.singular_resource.filter(|s| !s.is_empty()));
    names.extend(found.short_names);
    let gvk = GroupVersionKind::gvk(group, version, &kind);
    Some(Served {
        api: ApiResource::from_gvk_with_plural(&gvk, &plural),
        namespaced: found.scope.as_deref() == Some("Namespaced"),
        verbs: found.verbs,
        names,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn catalogue() -> Catalogue {
        let resource = |plural: &str, kind: &str, short: &[&str]| {
            json!({"resource": plural, "responseKind": {"group": "", "version": "", "kind": kind}, "scope": "Namespaced",
                   "singularResource": kind.to_lowercase(), "verbs": ["get", "list"], "shortNames": short})
        };
        let group = |name: &str, version: &str, resources: Vec<serde_json::Value>| json!({"metadata": {"name": name}, "versions": [{"version": version, "resources": resources}]});
        let document = json!({"items": [
            group("", "v1", vec![resource("services", "Service", &["svc"])]),
            group("apps", "v1", vec![resource("deployments", "Deployment", &["deploy"])]),
            group("serving.knative.dev", "v1", vec![resource("services", "Service", &["kservice"])]),
        ]});
        Catalogue::from_documents([serde_json::from_value(document).unwrap()])
    }

    #[test]
    fn words_name_kinds_as_in_kubectl() {
        let all = catalogue();
        for (word, resource) in [
            ("deploy", "deployments.apps"),
            ("Deployment", "deployments.apps"),
            ("deployments.apps", "deployments.apps"),
            ("deployments.v1.apps", "deployments.apps"),
            ("svc", "services"),
            ("services.serving.knative.dev", "services.serving.knative.dev"),
        ] {
            assert_eq!(all.find(word).unwrap().resource(), resource, "{word}");
        }
    }

    #[test]
    fn a_typing_error_gets_a_suggestion() {
        let error = catalogue().find("deploymnt").unwrap_err();
        assert_eq!(error.to_string(), "the server has no kind called \"deploymnt\"");
        let refusal = error.downcast::<Refusal>().unwrap();
        assert_eq!(refusal.advice(), Some("deployments.apps"));
    }
}
