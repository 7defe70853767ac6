//! What a system is: a name, its wiring, its definitions, what it would make of an object, and how to start it.

use super::context::Context;
use super::controller::Controller;
use crate::desired::Desired;
use crate::hub::Hubs;
use crate::install::{Operator, Site};
use crate::key::ObjectKey;
use crate::kind::Kind;
use crate::webhook::Webhooks;
use crate::wiring::SystemRows;
use futures::future::BoxFuture;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::ResourceExt;
use kube::api::DynamicObject;
use std::error::Error;
use std::fmt;
use thiserror::Error as ThisError;

/// An error that a system cannot go on with. It is stopped, marked as not ready, and started again after a while.
pub type Fatal = Box<dyn Error + Send + Sync>;

/// One operator: made from its configuration, which it then keeps.
pub trait System: Send + Sync + 'static {
    /// The name, as the command line and the metrics use it.
    fn name(&self) -> &'static str;

    /// All that the system watches, reads, writes, serves and is configured by.
    fn rows(&self) -> SystemRows;

    /// The definitions of the kinds that it brings.
    fn crds(&self) -> Vec<CustomResourceDefinition>;

    /// How it is installed at a site; none if no original's manifests have to be matched.
    fn install(&self, _site: &Site) -> Option<Operator> {
        None
    }

    /// What the system would make of an object, if the cluster held just what was observed. No cluster is needed.
    ///
    /// # Errors
    /// If the object is not one of the system's kinds, or is not valid.
    fn render(&self, object: &DynamicObject, observed: &Observed) -> Result<Desired, RenderError>;

    /// The webhooks that the system serves, whether it may write or not. The caches are those that it runs on.
    fn webhooks(&self, _hubs: &Hubs) -> Webhooks {
        Webhooks::new()
    }

    /// Gets ready to run: reads what must be read first, and makes the controllers.
    fn start(&self, context: Context) -> BoxFuture<'_, Result<Started, Fatal>>;
}

/// A system that is ready to run.
#[derive(Default)]
pub struct Started {
    pub(crate) controllers: Vec<Controller>,
    pub(crate) tasks: Vec<BoxFuture<'static, Result<(), Fatal>>>,
}

impl fmt::Debug for Started {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Started")
            .field("controllers", &self.controllers)
            .field("tasks", &self.tasks.len())
            .finish()
    }
}

impl Started {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Started::default()
    }

    /// With this controller.
    #[must_use]
    pub fn controller(mut self, controller: Controller) -> Self {
        self.controllers.push(controller);
        self
    }

    /// With this task beside the controllers. It may end; if it fails, the system stops and is started again.
    #[must_use]
    pub fn task(mut self, task: impl Future<Output = Result<(), Fatal>> + Send + 'static) -> Self {
        self.tasks.push(Box::pin(task));
        self
    }
}

impl FromIterator<Controller> for Started {
    fn from_iter<I: IntoIterator<Item = Controller>>(controllers: I) -> Self {
        Started { controllers: controllers.into_iter().collect(), tasks: vec![] }
    }
}

/// Why an object could not be rendered.
#[derive(Debug, ThisError)]
pub enum RenderError {
    /// The kind is not one of the system's.
    #[error("{0} is not reconciled by this system")]
    NotOurs(String),
    /// The object does not fit its type.
    #[error("{kind} {key} is not valid: {message}")]
    Invalid {
        /// The kind.
        kind: String,
        /// Which object.
        key: ObjectKey,
        /// What is wrong with it.
        message: String,
    },
    /// The system would refuse it.
    #[error("{kind} {key}: {message}")]
    Refused {
        /// The kind.
        kind: String,
        /// Which object.
        key: ObjectKey,
        /// Why.
        message: String,
    },
}

impl RenderError {
    /// The system would refuse the object, for this reason.
    pub fn refused<K: Kind>(object: &K, error: &dyn Error) -> Self {
        let message = crate::error::chain(error);
        RenderError::Refused { kind: K::kind(&()).into_owned(), key: ObjectKey::of(object), message }
    }

    /// The object as its type, if it is of that kind.
    ///
    /// # Errors
    /// [`RenderError::Invalid`] if it does not fit.
    pub fn parse<K: Kind>(object: &DynamicObject) -> Result<K, RenderError> {
        let invalid = |message: String| RenderError::Invalid {
            kind: K::kind(&()).into_owned(),
            key: ObjectKey::of(object),
            message,
        };
        let value = serde_json::to_value(object).map_err(|error| invalid(error.to_string()))?;
        // `spec.replicas: invalid type …`: where it is wrong, too.
        serde_path_to_error::deserialize(value).map_err(|error| invalid(error.to_string()))
    }
}

/// Objects that are taken to exist when rendering without a cluster.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    objects: Vec<DynamicObject>,
}

impl Observed {
    /// Just these.
    #[must_use]
    pub fn new(objects: Vec<DynamicObject>) -> Self {
        Observed { objects }
    }

    /// The observed objects of a kind that fit their type.
    #[must_use]
    pub fn all<K: Kind>(&self) -> Vec<K> {
        let ours = self.objects.iter().filter(|object| is::<K>(object));
        ours.filter_map(|object| object.clone().try_parse().ok()).collect()
    }

    /// The observed object of a kind and name.
    #[must_use]
    pub fn get<K: Kind>(&self, key: &ObjectKey) -> Option<K> {
        let mut ours = self.objects.iter().filter(|object| is::<K>(object));
        let found = ours.find(|object| {
            object.name_any() == key.name && (!K::is_namespaced() || object.namespace() == key.namespace)
        })?;
        found.clone().try_parse().ok()
    }
}

/// True if the object says it is of this kind, whatever the version.
fn is<K: Kind>(object: &DynamicObject) -> bool {
    object.types.as_ref().is_some_and(|types| {
        let group = types.api_version.rsplit_once('/').map_or("", |(group, _)| group);
        types.kind == K::kind(&()) && group == K::group(&())
    })
}
