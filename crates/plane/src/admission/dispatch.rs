//! The two chains of webhooks.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use parking_lot::Mutex;
use serde_json::Value;
use uuid::Uuid;

use crate::hooks::{AdmissionRequest, Admit, Attributes, Decision, User};
use crate::resource::GroupVersionKind;
use crate::schema::cel::Scope;
use crate::status::{Error, Result};
use crate::webhook::Caller;

use super::configuration::{Hook, Phase};
use super::review::{Verdict, described, failed_call, request as review_request, review, verdict};
use super::rights::{self, Rights};
use super::{condition, matching, policy};

/// What admission must know of the plane around it.
pub trait Surroundings: Send + Sync {
    /// The configurations of a phase, sorted by name.
    fn configurations(&self, phase: Phase) -> Vec<Arc<Value>>;
    /// The ValidatingAdmissionPolicies and their bindings, each sorted by name.
    fn policies(&self) -> (Vec<Arc<Value>>, Vec<Arc<Value>>);
    /// A Namespace.
    fn namespace(&self, name: &str) -> Option<Arc<Value>>;
    /// The versions in which a resource is served, for `matchPolicy: Equivalent`.
    fn served_versions(&self, group: &str, resource: &str) -> Vec<String>;
    /// An object in another of its versions.
    fn convert<'a>(&'a self, object: &'a Value, to: &'a GroupVersionKind) -> BoxFuture<'a, Result<Value>>;
    /// An object that a webhook has changed, read and completed as the kind it is; the error is what does not fit.
    fn complete(&self, kind: &GroupVersionKind, object: Value) -> Result<Value, String>;
    /// Whether a user may; for `authorizer` in expressions.
    fn authorize(&self, user: &User, attributes: &Attributes) -> Decision;
    /// Whether a kind is namespaced, and all objects of it; for the parameters of policies. None if it is not served.
    fn objects(&self, kind: &GroupVersionKind) -> Option<(bool, Vec<Arc<Value>>)>;
}

/// The webhooks of a configuration, and the version they were read from.
type Versioned = (String, Arc<[Hook]>);

/// Admission by webhooks and policies.
pub struct Webhooks {
    surroundings: Arc<dyn Surroundings>,
    caller: Caller,
    /// By phase and name of the configuration.
    read: Mutex<HashMap<(Phase, String), Versioned>>,
}

/// A webhook that wants to be asked, and in which version.
struct Invocation {
    hook: Arc<[Hook]>,
    index: usize,
    version: String,
}

impl Invocation {
    fn hook(&self) -> &Hook {
        &self.hook[self.index]
    }
}

impl Webhooks {
    /// Admission that reads its configuration from `surroundings` and calls webhooks by `caller`.
    pub fn new(surroundings: Arc<dyn Surroundings>, caller: Caller) -> Self {
        Self { surroundings, caller, read: Mutex::default() }
    }

    /// All webhooks of a phase in the order they are asked: configurations by name, then as listed.
    fn hooks(&self, phase: Phase) -> Result<Vec<(Arc<[Hook]>, usize)>> {
        let mut all = vec![];
        for configuration in self.surroundings.configurations(phase) {
            let text = |path: &str| {
                configuration.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned()
            };
            let (name, version) = (text("/metadata/name"), text("/metadata/resourceVersion"));
            let mut read = self.read.lock();
            let hooks = match read.get(&(phase, name.clone())) {
                Some((seen, hooks)) if *seen == version => hooks.clone(),
                _ => {
                    let hooks: Arc<[Hook]> =
                        Hook::of_configuration(&configuration).map_err(Error::internal)?.into();
                    read.insert((phase, name), (version, hooks.clone()));
                    hooks
                }
            };
            all.extend((0..hooks.len()).map(|index| (hooks.clone(), index)));
        }
        Ok(all)
    }

    /// Whether a webhook is to be asked.
    fn invocation(
        &self,
        hooks: &Arc<[Hook]>,
        index: usize,
        request: &AdmissionRequest,
    ) -> Result<Option<Invocation>> {
        let hook = &hooks[index];
        let own = &*request.kind.version;
        let covered = |version: &str| hook.rules.iter().any(|rule| rule.covers(request, version));
        let version = if covered(own) {
            own.to_owned()
        } else if hook.match_policy.as_deref() == Some("Exact") {
            return Ok(None);
        } else {
            let others = self.surroundings.served_versions(&request.names.group, &request.names.plural);
            let Some(other) = others.into_iter().find(|version| version != own && covered(version)) else {
                return Ok(None);
            };
            other
        };
        let namespace = self.surroundings.namespace(&request.namespace);
        if !matching::namespace_matches(hook.namespace_selector.as_ref(), request, namespace.as_deref())
            || !matching::object_matches(hook.object_selector.as_ref(), request)
        {
            return Ok(None);
        }
        if !hook.match_conditions.is_empty() {
            let rights = Rights { surroundings: &*self.surroundings, user: &request.user };
            let described = described(request);
            let mut scope = Scope::new(condition::BUDGET)
                .with("object", &request.object)
                .with("oldObject", &request.old_object)
                .with("request", &described)
                .with("namespaceObject", &Value::Null)
                .with_authorizer(&rights, rights::own(request));
            match condition::all_hold(&hook.match_conditions, &mut scope) {
                Ok(true) => {}
                Ok(false) => return Ok(None),
                Err(_) if hook.ignores_failures() => return Ok(None),
                Err(why) => return Err(Error::forbidden(&request.names, &request.name, &why)),
            }
        }
        if request.dry_run && !hook.may_run_dry() {
            let message = format!("admission webhook {:?} does not support dry run", hook.name);
            return Err(Error::bad_request(message));
        }
        Ok(Some(Invocation { hook: hooks.clone(), index, version }))
    }

    /// Asks one webhook. None if it failed and that is to be ignored.
    async fn ask(
        &self,
        phase: Phase,
        invocation: &Invocation,
        request: &AdmissionRequest,
    ) -> Result<Option<Verdict>> {
        let hook = invocation.hook();
        let asked = self.ask_strictly(phase, invocation, request).await;
        match asked {
            Err(why) if hook.ignores_failures() => {
                tracing::warn!(webhook = hook.name, %why, "webhook failed and is ignored");
                Ok(None)
            }
            Err(why) => Err(failed_call(hook, &why)),
            Ok(verdict) => Ok(Some(verdict)),
        }
    }

    async fn ask_strictly(
        &self,
        phase: Phase,
        invocation: &Invocation,
        request: &AdmissionRequest,
    ) -> Result<Verdict, String> {
        let (hook, version) = (invocation.hook(), invocation.version.as_str());
        let (object, old) = if version == &*request.kind.version {
            (request.object.clone(), request.old_object.clone())
        } else {
            (
                self.converted(&request.object, request, version).await?,
                self.converted(&request.old_object, request, version).await?,
            )
        };
        let uid = Uuid::new_v4().to_string();
        let question = review(hook.review_version(), review_request(request, &uid, version, &object, &old));
        let body = Bytes::from(question.to_string());
        let answer = self
            .caller
            .post(&hook.client_config, hook.timeout(), body)
            .await
            .map_err(|error| format!("failed to call webhook: {error}"))?;
        verdict(phase, hook.review_version(), &uid, &answer)
    }

    async fn converted(
        &self,
        object: &Value,
        request: &AdmissionRequest,
        version: &str,
    ) -> Result<Value, String> {
        if object.is_null() {
            return Ok(Value::Null);
        }
        let to = GroupVersionKind::new(&request.names.group, version, &request.kind.kind);
        self.surroundings.convert(object, &to).await.map_err(|error| error.message)
    }

    /// Asks a mutating webhook and applies its patch. True if the object changed.
    async fn mutate_by(&self, invocation: &Invocation, request: &mut AdmissionRequest) -> Result<bool> {
        let Some(mut verdict) = self.ask(Phase::Mutating, invocation, request).await? else {
            return Ok(false);
        };
        request.warnings.append(&mut verdict.warnings);
        let Some(patch) = verdict.allowed.then(|| verdict.patch.take()).flatten() else {
            return if verdict.allowed { Ok(false) } else { Err(verdict.denial(&invocation.hook().name)) };
        };
        if request.object.is_null() {
            return Ok(false);
        }
        let to_own = |object: Value| async {
            if invocation.version == *request.kind.version {
                return Ok(object);
            }
            self.converted(&object, request, &request.kind.version).await.map_err(Error::internal)
        };
        let base = if invocation.version == *request.kind.version {
            request.object.clone()
        } else {
            self.converted(&request.object, request, &invocation.version).await.map_err(Error::internal)?
        };
        // The next webhook sees what a client would have got: typed, pruned and with its defaults.
        let kind = GroupVersionKind::new(&request.names.group, &invocation.version, &request.kind.kind);
        let patched =
            self.surroundings.complete(&kind, apply_patch(base, &patch)?).map_err(Error::internal)?;
        let patched = to_own(patched).await?;
        let changed = patched != request.object;
        request.object = patched;
        Ok(changed)
    }

    async fn mutate_all(&self, request: &mut AdmissionRequest) -> Result<()> {
        if matching::is_exempt(request) {
            return Ok(());
        }
        let hooks = self.hooks(Phase::Mutating)?;
        // Those asked before the last change that want to hear of it.
        let (mut reinvocable, mut due) = (vec![], BTreeSet::new());
        for (place, (configuration, index)) in hooks.iter().enumerate() {
            let Some(invocation) = self.invocation(configuration, *index, request)? else { continue };
            if self.mutate_by(&invocation, request).await? {
                due.extend(reinvocable.drain(..));
            }
            if invocation.hook().is_reinvocable() {
                reinvocable.push(place);
            }
        }
        // Once more, in the same order; what changes now concerns those that are still to come.
        for (place, (configuration, index)) in hooks.iter().enumerate() {
            if !due.remove(&place) {
                continue;
            }
            let Some(invocation) = self.invocation(configuration, *index, request)? else { continue };
            if self.mutate_by(&invocation, request).await? {
                due.extend(reinvocable.drain(..));
            }
            reinvocable.push(place);
        }
        Ok(())
    }

    async fn validate_all(&self, request: &mut AdmissionRequest) -> Result<()> {
        if matching::is_exempt(request) {
            return Ok(());
        }
        let (outcome, mut warnings) = policy::check(&*self.surroundings, request);
        request.warnings.append(&mut warnings);
        outcome?;
        let mut invocations = vec![];
        for (configuration, index) in self.hooks(Phase::Validating)? {
            invocations.extend(self.invocation(&configuration, index, request)?);
        }
        let mut warnings = vec![];
        let mut refusal = Ok(());
        {
            let request = &*request;
            let asked = invocations.iter().map(|invocation| async move {
                (invocation, self.ask(Phase::Validating, invocation, request).await)
            });
            let mut answers: FuturesUnordered<_> = asked.collect();
            while let Some((invocation, answer)) = answers.next().await {
                let refused = match answer {
                    Ok(None) => None,
                    Ok(Some(mut verdict)) => {
                        warnings.append(&mut verdict.warnings);
                        (!verdict.allowed).then(|| verdict.denial(&invocation.hook().name))
                    }
                    Err(error) => Some(error),
                };
                // The first to answer is the one reported; the others are still heard for their warnings.
                if let (Some(error), Ok(())) = (refused, &refusal) {
                    refusal = Err(error);
                }
            }
        }
        request.warnings.append(&mut warnings);
        refusal
    }
}

impl Admit for Webhooks {
    fn mutate<'a>(&'a self, request: &'a mut AdmissionRequest) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.mutate_all(request))
    }

    fn validate<'a>(&'a self, request: &'a mut AdmissionRequest) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.validate_all(request))
    }
}

/// Applies a webhook's patch, one operation at a time so that the one that fails can be named.
fn apply_patch(mut object: Value, patch: &Value) -> Result<Value> {
    for operation in patch.as_array().into_iter().flatten() {
        let one = Value::Array(vec![operation.clone()]);
        let patched = crate::patch::json::apply(&object, &one).map_err(|_| {
            let text = |key: &str| operation.get(key).and_then(Value::as_str).unwrap_or_default();
            let (kind, path) = (text("op"), text("path"));
            let (parent, key) = path.rsplit_once('/').unwrap_or_default();
            Error::internal(match kind {
                "remove" if object.pointer(parent).is_some_and(Value::is_object) => {
                    format!("error in remove for path: '{path}': Unable to remove nonexistent key: {key}: missing value")
                }
                "test" => format!("testing value {path} failed: test failed"),
                _ => format!("{kind} operation does not apply: doc is missing path: {path:?}: missing value"),
            })
        })?;
        object = patched;
    }
    Ok(object)
}
