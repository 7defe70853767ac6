//! What a ServiceAccount token says, and whether what it says is still true.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::hooks::User;

const CREDENTIAL_ID: &str = "authentication.kubernetes.io/credential-id";
const POD_NAME: &str = "authentication.kubernetes.io/pod-name";
const POD_UID: &str = "authentication.kubernetes.io/pod-uid";
const NODE_NAME: &str = "authentication.kubernetes.io/node-name";
const NODE_UID: &str = "authentication.kubernetes.io/node-uid";

/// The live core objects that tokens are bound to. A token of something that is gone is invalid at once.
pub trait CoreObjects {
    /// The object of a core/v1 resource (`serviceaccounts`, `pods`, `secrets`, `nodes`); the namespace is empty for nodes.
    fn get(&self, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>>;
}

/// An object and its uid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// Name within the namespace.
    pub name: String,
    /// Uid of that one object, not of a later namesake.
    #[serde(default)]
    pub uid: String,
}

/// What a token dies with, besides its ServiceAccount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BoundObject {
    /// A Pod, with its node once it has one.
    Pod(Account, Option<Account>),
    /// A Secret.
    Secret(Account),
    /// A Node.
    Node(Account),
}

/// The claims of a ServiceAccount token.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Claims {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) aud: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) exp: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) iat: Option<i64>,
    pub(super) iss: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) jti: Option<String>,
    #[serde(rename = "kubernetes.io", skip_serializing_if = "Option::is_none")]
    pub(super) private: Option<PrivateClaims>,
    #[serde(flatten)]
    pub(super) legacy: LegacyClaims,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) nbf: Option<i64>,
    pub(super) sub: String,
}

/// The claims under `kubernetes.io`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct PrivateClaims {
    pub(super) namespace: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) node: Option<Account>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pod: Option<Account>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) secret: Option<Account>,
    pub(super) serviceaccount: Account,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) warnafter: Option<i64>,
}

/// The claims of a token kept in a Secret of type `kubernetes.io/service-account-token`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct LegacyClaims {
    #[serde(rename = "kubernetes.io/serviceaccount/namespace", skip_serializing_if = "Option::is_none")]
    pub(super) namespace: Option<String>,
    #[serde(rename = "kubernetes.io/serviceaccount/secret.name", skip_serializing_if = "Option::is_none")]
    pub(super) secret: Option<String>,
    #[serde(
        rename = "kubernetes.io/serviceaccount/service-account.name",
        skip_serializing_if = "Option::is_none"
    )]
    pub(super) account: Option<String>,
    #[serde(
        rename = "kubernetes.io/serviceaccount/service-account.uid",
        skip_serializing_if = "Option::is_none"
    )]
    pub(super) uid: Option<String>,
}

/// Why a token was not believed. Told to those who review tokens; whoever sends one only hears `Unauthorized`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidToken {
    /// Not one of ours at all.
    #[error("invalid bearer token")]
    Foreign,
    /// Forged, expired, or of something that is gone.
    #[error("[invalid bearer token, {0}]")]
    Worthless(String),
    /// Good, but made for somebody else.
    #[error("[invalid bearer token, token audiences {} is invalid for the target audiences {}]", go_list(.token), go_list(.target))]
    Audience {
        /// Whom the token was made for.
        token: Vec<String>,
        /// Who was asked to believe it.
        target: Vec<String>,
    },
}

/// Go's `%q` of a list of strings.
pub(crate) fn go_list(items: &[String]) -> String {
    let quoted: Vec<String> = items.iter().map(|item| format!("{item:?}")).collect();
    format!("[{}]", quoted.join(" "))
}

impl Claims {
    /// The user these claims name, if time and the live objects still agree with them.
    pub(super) fn user(&self, objects: &dyn CoreObjects, now: Timestamp) -> Result<User, InvalidToken> {
        let now = now.as_second();
        if self.exp.is_some_and(|exp| now >= exp) {
            return Err(InvalidToken::Worthless("service account token has expired".into()));
        }
        if self.nbf.is_some_and(|nbf| now < nbf) {
            return Err(InvalidToken::Worthless("service account token is not valid yet".into()));
        }
        match &self.private {
            Some(private) => self.bound_user(private, objects),
            None => self.legacy_user(objects).ok_or_else(invalidated),
        }
    }

    fn bound_user(&self, private: &PrivateClaims, objects: &dyn CoreObjects) -> Result<User, InvalidToken> {
        let PrivateClaims { namespace, node, pod, secret, serviceaccount, .. } = private;
        let mut user = User::service_account(namespace, &serviceaccount.name);
        if user.name != self.sub {
            return Err(InvalidToken::Foreign);
        }
        if objects.get("serviceaccounts", namespace, &serviceaccount.name).is_none() {
            let why = format!("serviceaccounts {:?} not found", serviceaccount.name);
            return Err(InvalidToken::Worthless(why));
        }
        alive(objects, "serviceaccounts", namespace, serviceaccount).ok_or_else(invalidated)?;
        if let Some(secret) = secret {
            alive(objects, "secrets", namespace, secret).ok_or_else(invalidated)?;
        }
        if let Some(jti) = &self.jti {
            user.extra.insert(CREDENTIAL_ID.into(), vec![format!("JTI={jti}")]);
        }
        match (pod, node) {
            (Some(pod), node) => {
                alive(objects, "pods", namespace, pod).ok_or_else(invalidated)?;
                user.extra.insert(POD_NAME.into(), vec![pod.name.clone()]);
                user.extra.insert(POD_UID.into(), vec![pod.uid.clone()]);
                if let Some(node) = node {
                    insert_node(&mut user, node);
                }
            }
            (None, Some(node)) => {
                alive(objects, "nodes", "", node).ok_or_else(invalidated)?;
                insert_node(&mut user, node);
            }
            (None, None) => {}
        }
        user.uid = serviceaccount.uid.clone();
        Ok(user)
    }

    fn legacy_user(&self, objects: &dyn CoreObjects) -> Option<User> {
        let LegacyClaims { namespace, secret, account, uid } = &self.legacy;
        let (namespace, secret, account, uid) =
            (namespace.as_ref()?, secret.as_ref()?, account.as_ref()?, uid.as_ref()?);
        let mut user = User::service_account(namespace, account);
        if user.name != self.sub {
            return None;
        }
        alive(objects, "serviceaccounts", namespace, &Account { name: account.clone(), uid: uid.clone() })?;
        objects.get("secrets", namespace, secret)?;
        user.uid = uid.clone();
        Some(user)
    }
}

/// What a token was bound to is gone, or is another by the same name.
fn invalidated() -> InvalidToken {
    InvalidToken::Worthless("service account token has been invalidated".into())
}

fn insert_node(user: &mut User, node: &Account) {
    user.extra.insert(NODE_NAME.into(), vec![node.name.clone()]);
    if !node.uid.is_empty() {
        user.extra.insert(NODE_UID.into(), vec![node.uid.clone()]);
    }
}

/// Some if the very object still exists and is not past its deletion grace.
fn alive(objects: &dyn CoreObjects, resource: &str, namespace: &str, account: &Account) -> Option<()> {
    let object = objects.get(resource, namespace, &account.name)?;
    (object.pointer("/metadata/uid").and_then(Value::as_str) == Some(account.uid.as_str())).then_some(())
}
