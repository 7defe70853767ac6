//! The names that users and groups go by.

use crate::hooks::User;

/// Everybody who showed a credential.
pub(super) const AUTHENTICATED: &str = "system:authenticated";
/// Everybody who did not.
pub(super) const UNAUTHENTICATED: &str = "system:unauthenticated";
/// The name of a sender without credentials.
pub(super) const ANONYMOUS: &str = "system:anonymous";
/// The group that RBAC never refuses.
pub const MASTERS: &str = "system:masters";
/// All ServiceAccounts; those of one namespace are in `system:serviceaccounts:<namespace>`.
const SERVICE_ACCOUNTS: &str = "system:serviceaccounts";
const SERVICE_ACCOUNT_PREFIX: &str = "system:serviceaccount:";

impl User {
    /// Namespace and name if this is a ServiceAccount.
    pub fn as_service_account(&self) -> Option<(&str, &str)> {
        split_service_account(&self.name)
    }

    /// Whether the user is in a group.
    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|g| g == group)
    }
}

/// `system:serviceaccount:<namespace>:<name>`.
pub fn service_account_name(namespace: &str, name: &str) -> String {
    format!("{SERVICE_ACCOUNT_PREFIX}{namespace}:{name}")
}

/// The groups of every ServiceAccount in a namespace, without `system:authenticated`.
pub(super) fn service_account_groups(namespace: &str) -> [String; 2] {
    [SERVICE_ACCOUNTS.into(), format!("{SERVICE_ACCOUNTS}:{namespace}")]
}

/// The inverse of [`service_account_name`].
pub(super) fn split_service_account(user: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user.strip_prefix(SERVICE_ACCOUNT_PREFIX)?.split_once(':')?;
    (!namespace.is_empty() && !name.is_empty() && !name.contains(':')).then_some((namespace, name))
}
