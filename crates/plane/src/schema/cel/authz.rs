//! `authorizer`: what expressions of admission may ask about rights.
//!
//! A question is put together step by step (`authorizer.group('apps').resource('deployments').check('get').allowed()`);
//! each step is a value of its own type, so that a step left out is found when the expression is compiled.

use std::fmt;
use std::rc::Rc;

use super::functions::Out;
use super::value::Val;

/// What may be asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Question {
    /// `get`, `list`, …
    pub verb: String,
    /// API group.
    pub group: String,
    /// Plural resource; empty when a path is asked about.
    pub resource: String,
    /// Subresource, or empty.
    pub subresource: String,
    /// Namespace, or empty.
    pub namespace: String,
    /// Name, or empty.
    pub name: String,
    /// The path, when it is one.
    pub path: String,
}

/// Answers for the sender of a request, or for a ServiceAccount (namespace, name) in its place.
pub trait Authorizer: fmt::Debug {
    /// Whether they may, and why.
    fn decide(&self, account: Option<(&str, &str)>, question: &Question) -> (bool, String);
}

/// A question on its way.
#[derive(Debug, Clone)]
pub(super) struct Asking<'a> {
    authorizer: &'a dyn Authorizer,
    account: Option<(String, String)>,
    /// What the request itself is about, for `authorizer.requestResource`.
    own: Rc<Question>,
    question: Question,
    stage: Stage,
}

#[derive(Debug, Clone, PartialEq)]
enum Stage {
    Authorizer,
    Group,
    Resource,
    Path,
    Decision(bool, String),
}

impl<'a> Asking<'a> {
    pub(super) fn new(authorizer: &'a dyn Authorizer, own: Question) -> Self {
        let question = Question::default();
        Self { authorizer, account: None, own: Rc::new(own), question, stage: Stage::Authorizer }
    }

    pub(super) fn type_name(&self) -> &'static str {
        match self.stage {
            Stage::Authorizer => "kubernetes.authorization.Authorizer",
            Stage::Group => "kubernetes.authorization.GroupCheck",
            Stage::Resource => "kubernetes.authorization.ResourceCheck",
            Stage::Path => "kubernetes.authorization.PathCheck",
            Stage::Decision(..) => "kubernetes.authorization.Decision",
        }
    }

    /// `authorizer.requestResource`.
    pub(super) fn field(&self, name: &str) -> Option<Val<'a>> {
        (name == "requestResource" && self.stage == Stage::Authorizer)
            .then(|| self.at(Stage::Resource, |question| *question = (*self.own).clone()))
    }

    fn at(&self, stage: Stage, change: impl FnOnce(&mut Question)) -> Val<'a> {
        let mut next = Self { stage, ..self.clone() };
        change(&mut next.question);
        Val::Asking(Rc::new(next))
    }
}

/// The member functions of a question.
pub(super) fn call<'a>(name: &str, values: &[Val<'a>]) -> Option<Out<'a>> {
    let [Val::Asking(asking), rest @ ..] = values else { return None };
    let word = || match rest {
        [Val::Text(text)] => Some(text.to_string()),
        _ => None,
    };
    Some(Ok(match (&asking.stage, name) {
        (Stage::Authorizer, "path") => {
            let path = word()?;
            asking.at(Stage::Path, |question| question.path = path)
        }
        (Stage::Authorizer, "group") => {
            let group = word()?;
            asking.at(Stage::Group, |question| question.group = group)
        }
        (Stage::Authorizer, "serviceAccount") => {
            let [Val::Text(namespace), Val::Text(name)] = rest else { return None };
            let account = Some((namespace.to_string(), name.to_string()));
            Val::Asking(Rc::new(Asking { account, ..(**asking).clone() }))
        }
        (Stage::Group, "resource") => {
            let resource = word()?;
            asking.at(Stage::Resource, |question| question.resource = resource)
        }
        (Stage::Resource, "subresource" | "namespace" | "name") => {
            let value = word()?;
            asking.at(Stage::Resource, |question| match name {
                "subresource" => question.subresource = value,
                "namespace" => question.namespace = value,
                _ => question.name = value,
            })
        }
        // RBAC knows no selectors: narrowing by one changes nothing.
        (Stage::Resource, "fieldSelector" | "labelSelector") => Val::Asking(asking.clone()),
        (Stage::Resource | Stage::Path, "check") => {
            let question = Question { verb: word()?, ..asking.question.clone() };
            let account =
                asking.account.as_ref().map(|(namespace, name)| (namespace.as_str(), name.as_str()));
            let (allowed, reason) = asking.authorizer.decide(account, &question);
            asking.at(Stage::Decision(allowed, reason), |_| {})
        }
        (Stage::Decision(allowed, _), "allowed") => Val::Bool(*allowed),
        (Stage::Decision(_, reason), "reason") => Val::text(reason),
        (Stage::Decision(..), "errored") => Val::Bool(false),
        (Stage::Decision(..), "error") => Val::text(""),
        _ => return None,
    }))
}
