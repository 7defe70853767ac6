//! What a system brings to a stage.

use std::{fmt, sync::Arc};

use futures::future::BoxFuture;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::discovery::ApiResource;
use plane::hooks::User;
use quintet_kit::{System, rights::Holder};

use crate::Stage;

/// A system, and the cluster that it runs in.
#[derive(Clone)]
pub struct Play {
    /// The system, with its settings.
    pub system: Arc<dyn System>,
    /// The operator's namespace.
    pub home: &'static str,
    /// Its account there.
    pub account: &'static str,
    /// What scenarios are about.
    pub subject: Subject,
    /// Further namespaces.
    pub namespaces: Vec<&'static str>,
    /// The definitions of optional APIs, and whether they are served.
    pub optional: Vec<(bool, CustomResourceDefinition)>,
    /// The kinds that the operator makes.
    pub children: Vec<ApiResource>,
    /// Further kinds that scenarios make.
    pub others: Vec<ApiResource>,
    /// Whether a cluster-scoped object of this name is a scenario's, and may be cleared away.
    pub is_ours: fn(&str) -> bool,
    /// Looks at the stage whenever the operator has come to rest.
    pub look: for<'a> fn(&'a Stage) -> BoxFuture<'a, ()>,
}

impl fmt::Debug for Play {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Play").field("system", &self.system.name()).finish_non_exhaustive()
    }
}

/// The resource that scenarios are about.
#[derive(Clone, Debug)]
pub struct Subject {
    /// Its kind.
    pub resource: ApiResource,
    /// Where it is, if it is in a namespace.
    pub namespace: Option<&'static str>,
    /// What it is called.
    pub name: &'static str,
}

impl Play {
    /// Who the operator is.
    pub fn identity(&self) -> User {
        User::service_account(self.home, self.account)
    }

    /// Whose rights they are.
    pub fn holder(&self) -> Holder<'static> {
        Holder { namespace: self.home, account: self.account }
    }

    /// Where the operator makes its objects.
    pub fn place(&self) -> &'static str {
        self.subject.namespace.unwrap_or(self.home)
    }
}
