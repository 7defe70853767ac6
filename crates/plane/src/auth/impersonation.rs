//! `Impersonate-User` and its companions: acting as somebody else, for those who may.

use std::collections::BTreeMap;

use http::HeaderMap;

use super::service_account::go_list;
use super::user::{ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED, service_account_groups, split_service_account};
use crate::hooks::User;

const USER: &str = "impersonate-user";
const GROUP: &str = "impersonate-group";
const UID: &str = "impersonate-uid";
const EXTRA_PREFIX: &str = "impersonate-extra-";

/// Whom the headers ask to act as.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Impersonation {
    user: String,
    uid: String,
    groups: Vec<String>,
    extra: BTreeMap<String, Vec<String>>,
}

/// The headers do not add up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImpersonationError {
    /// Groups, a uid or extra facts of nobody.
    #[error(
        "requested &user.DefaultInfo{{Name:\"\", UID:{uid:?}, Groups:{groups}, Extra:{extra}}} without impersonating a user name"
    )]
    NoUser {
        /// The uid asked for.
        uid: String,
        /// The groups asked for, as Go prints them.
        groups: String,
        /// The extra facts asked for, as Go prints them.
        extra: String,
    },
}

/// One right needed to impersonate: the verb is `impersonate`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Needed<'a> {
    /// API group of the resource.
    pub group: &'static str,
    /// `users`, `groups`, `serviceaccounts`, `uids` or `userextras`.
    pub resource: &'static str,
    /// The key of an extra fact.
    pub subresource: &'a str,
    /// Set for ServiceAccounts.
    pub namespace: &'a str,
    /// Who or what is asked for.
    pub name: &'a str,
}

impl Impersonation {
    /// What the headers ask for; none if they do not ask.
    pub fn requested(headers: &HeaderMap) -> Result<Option<Self>, ImpersonationError> {
        let text =
            |name: &str| headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or_default().to_owned();
        let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, value) in headers {
            if let (Some(key), Ok(value)) = (name.as_str().strip_prefix(EXTRA_PREFIX), value.to_str()) {
                extra.entry(percent_decoded(key).to_lowercase()).or_default().push(value.to_owned());
            }
        }
        let groups: Vec<String> =
            headers.get_all(GROUP).iter().filter_map(|v| v.to_str().ok()).map(str::to_owned).collect();
        let asked = Self { user: text(USER), uid: text(UID), groups, extra };
        if asked == Self::default() {
            return Ok(None);
        }
        if asked.user.is_empty() {
            return Err(ImpersonationError::NoUser {
                groups: go_strings(&asked.groups),
                extra: go_extra(&asked.extra),
                uid: asked.uid,
            });
        }
        Ok(Some(asked))
    }

    /// Whether a ServiceAccount is asked for.
    pub fn of_service_account(&self) -> bool {
        split_service_account(&self.user).is_some()
    }

    /// All that the sender must be allowed to `impersonate`.
    pub fn needs(&self) -> Vec<Needed<'_>> {
        let none = Needed { group: "", resource: "users", subresource: "", namespace: "", name: "" };
        let mut needs = vec![match split_service_account(&self.user) {
            Some((namespace, name)) => Needed { resource: "serviceaccounts", namespace, name, ..none },
            None => Needed { name: &self.user, ..none },
        }];
        needs.extend(self.groups.iter().map(|name| Needed { resource: "groups", name, ..none }));
        let authentication = "authentication.k8s.io";
        if !self.uid.is_empty() {
            needs.push(Needed { group: authentication, resource: "uids", name: &self.uid, ..none });
        }
        for (key, values) in &self.extra {
            needs.extend(values.iter().map(|name| Needed {
                group: authentication,
                resource: "userextras",
                subresource: key,
                name,
                ..none
            }));
        }
        needs
    }

    /// The user to act as, once the rights are found to be there.
    pub fn into_user(self) -> User {
        let Self { user: name, uid, mut groups, extra } = self;
        if let (true, Some((namespace, _))) = (groups.is_empty(), split_service_account(&name)) {
            groups.extend(service_account_groups(namespace));
        }
        let everybody = if name == ANONYMOUS { UNAUTHENTICATED } else { AUTHENTICATED };
        if !groups.iter().any(|group| group == AUTHENTICATED || group == UNAUTHENTICATED) {
            groups.push(everybody.into());
        }
        User { name, uid, groups, extra }
    }
}

/// Go's `%#v` of a list of strings.
fn go_strings(items: &[String]) -> String {
    if items.is_empty() {
        return "[]string(nil)".into();
    }
    let list = go_list(items);
    format!("[]string{{{}}}", list[1..list.len() - 1].replace("\" \"", "\", \""))
}

/// Go's `%#v` of a map of lists of strings.
fn go_extra(extra: &BTreeMap<String, Vec<String>>) -> String {
    if extra.is_empty() {
        return "map[string][]string(nil)".into();
    }
    let items: Vec<String> =
        extra.iter().map(|(key, values)| format!("{key:?}:{}", go_strings(values))).collect();
    format!("map[string][]string{{{}}}", items.join(", "))
}

/// Header names cannot hold all characters, so keys come percent-encoded; what is no encoding stays as it is.
fn percent_decoded(key: &str) -> String {
    let bytes = key.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let code = (bytes[at] == b'%')
            .then(|| key.get(at + 1..at + 3))
            .flatten()
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match code {
            Some(byte) => {
                decoded.push(byte);
                at += 3;
            }
            None => {
                decoded.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8(decoded).unwrap_or_else(|_| key.to_owned())
}
