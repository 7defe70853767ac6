//! Authentication, authorisation, admission and conversion, put together from the store's own objects.
//!
//! An open plane (the default) lets everybody do everything, but webhooks, conversion, tokens and access reviews work.
//! A secured one asks who it is and enforces RBAC; [`crate::Plane::client`] stays an administrator.

mod aggregation;
mod authorization;
mod grants;
mod identity;
mod reviews;
mod surroundings;

use std::sync::{Arc, OnceLock};

use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::Plane;
use crate::admission::Webhooks;
use crate::auth::{Authenticator, KeyError, StaticTokens, TokenIssuer};
use crate::clock::{self, Clock};
use crate::conversion::Converter;
use crate::hooks::{Authenticate, Authorize, Hooks, User};
use crate::plugins::Plugins;
use crate::rbac::bootstrap_objects;
use crate::resource::Registry;
use crate::store::{Draft, Expect, Store, TableId, key};
use crate::webhook::{Backends, Caller};

use authorization::LivePolicy;
use surroundings::StoreView;

/// Who is let in, and what stands behind Services that webhooks refer to.
#[derive(Debug, Default)]
#[must_use]
pub struct Security {
    tokens: StaticTokens,
    signing_key: Option<String>,
    no_anonymous: bool,
    enforced: bool,
}

impl Security {
    /// RBAC is enforced, requests are authenticated, and the roles every cluster has exist.
    pub fn enforced() -> Self {
        Self { enforced: true, ..Self::default() }
    }

    /// Lets a bearer token stand for a user.
    pub fn token(mut self, token: &str, user: User) -> Self {
        self.tokens.insert(token, user);
        self
    }

    /// The key that signs ServiceAccount tokens (PKCS#8 PEM, RSA or P-256), so that they survive a restart.
    pub fn signing_key(mut self, pem: impl Into<String>) -> Self {
        self.signing_key = Some(pem.into());
        self
    }

    /// Refuses requests without credentials instead of treating them as `system:anonymous`.
    pub fn without_anonymous(mut self) -> Self {
        self.no_anonymous = true;
        self
    }
}

/// The running half of [`Security`].
pub(crate) struct Guard {
    store: Arc<Store>,
    clock: Arc<dyn Clock>,
    policy: Arc<LivePolicy>,
    settings: Security,
    /// Made on first use: most planes never see a token.
    authenticator: OnceLock<Result<Authenticator, KeyError>>,
    backends: Arc<Backends>,
    /// Whether the controllers of built-in kinds run.
    controlled: bool,
}

impl Guard {
    pub(crate) fn new(
        settings: Security,
        store: Arc<Store>,
        clock: Arc<dyn Clock>,
        controlled: bool,
    ) -> Arc<Self> {
        let policy = Arc::new(LivePolicy::new(store.clone()));
        let (authenticator, backends) = (OnceLock::new(), Arc::default());
        Arc::new(Self { store, clock, policy, settings, authenticator, backends, controlled })
    }

    pub(crate) fn is_enforced(&self) -> bool {
        self.settings.enforced
    }

    /// The table that webhooks' Services are resolved from.
    pub(crate) fn backends(&self) -> &Arc<Backends> {
        &self.backends
    }

    /// The seams of the request pipeline, with this behind them.
    pub(crate) fn hooks(self: &Arc<Self>, registry: Arc<Registry>) -> Hooks {
        let store = self.store.clone();
        let services = TableId::new("", "services");
        let caller = Caller::new(self.backends.clone(), move |namespace, name| {
            store.get(&services, &key(namespace, name)).is_some()
        });
        let converter = Arc::new(Converter::new(caller.clone()));
        let view = Arc::new(StoreView::new(
            self.store.clone(),
            registry,
            converter.clone(),
            self.is_enforced().then(|| self.policy.clone()),
        ));
        let webhooks = Arc::new(Webhooks::new(view, caller));
        let open = Hooks::default();
        let (authenticate, authorize): (Arc<dyn Authenticate>, Arc<dyn Authorize>) = if self.is_enforced() {
            (self.clone(), self.clone())
        } else {
            (open.authenticate, open.authorize)
        };
        Hooks {
            authenticate,
            authorize,
            admit: Arc::new(grants::Admission {
                plugins: Plugins::new(self.store.clone(), self.controlled),
                guard: self.clone(),
                webhooks,
            }),
            convert: converter,
            extra: self.clone(),
        }
    }

    pub(crate) fn authenticator(&self) -> crate::status::Result<&Authenticator> {
        let made = self.authenticator.get_or_init(|| {
            let issuer = match &self.settings.signing_key {
                Some(pem) => TokenIssuer::from_pem(pem)?,
                None => TokenIssuer::generate()?,
            };
            Ok(Authenticator {
                tokens: self.settings.tokens.clone(),
                issuer,
                anonymous: !self.settings.no_anonymous,
            })
        });
        made.as_ref().map_err(|error| crate::status::Error::internal(error.to_string()))
    }
}

/// Makes the roles every cluster has, and keeps aggregated ones up to date.
pub(crate) fn start(plane: &Plane, stop: CancellationToken) {
    if plane.guard().is_enforced() {
        for mut object in bootstrap_objects() {
            let resource =
                if object["kind"] == "ClusterRole" { "clusterroles" } else { "clusterrolebindings" };
            object["metadata"]["uid"] = json!(uuid::Uuid::new_v4().to_string());
            object["metadata"]["creationTimestamp"] = json!(clock::seconds(plane.clock().now()));
            let draft = Draft::new(&object, "v1".into(), vec![]);
            // Only an object that is there already is refused, and then it stays.
            let _ = plane.store().put(
                &TableId::new("rbac.authorization.k8s.io", resource),
                &draft,
                Expect::Absent,
            );
        }
    }
    aggregation::start(plane, stop);
}
