//! What a request wants to do, as authorisation sees it.

use std::fmt::Write;

use crate::hooks::User;

/// What is asked, by whom.
#[derive(Debug, Clone, Copy)]
pub struct Attributes<'a> {
    /// The sender, after impersonation.
    pub user: &'a User,
    /// `get`, `list`, `watch`, `create`, …; for paths the lower-case HTTP method.
    pub verb: &'a str,
    /// What it is asked of.
    pub target: Target<'a>,
}

/// An API resource or any other path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target<'a> {
    /// A resource of the API; parts that do not apply are empty.
    Resource {
        /// API group; empty for core.
        group: &'a str,
        /// Plural resource.
        resource: &'a str,
        /// `status`, `scale`, `log`, …
        subresource: &'a str,
        /// Empty at cluster scope and across namespaces.
        namespace: &'a str,
        /// Empty for collections.
        name: &'a str,
    },
    /// Anything else, such as `/version`.
    Path(&'a str),
}

/// The message of a 403. `reason` is what authorisation had to add, such as roles that do not exist.
pub fn forbidden_message(attributes: &Attributes<'_>, reason: &str) -> String {
    let mut message = String::new();
    let user = &attributes.user.name;
    let verb = attributes.verb;
    match attributes.target {
        Target::Path(path) => {
            let _ = write!(message, "forbidden: User {user:?} cannot {verb} path {path:?}");
        }
        Target::Resource { group, resource, subresource, namespace, name } => {
            message.push_str(resource);
            if !group.is_empty() {
                let _ = write!(message, ".{group}");
            }
            if !name.is_empty() {
                let _ = write!(message, " {name:?}");
            }
            let slash = if subresource.is_empty() { "" } else { "/" };
            let _ = write!(
                message,
                " is forbidden: User {user:?} cannot {verb} resource \"{resource}{slash}{subresource}\" \
                 in API group {group:?} "
            );
            if namespace.is_empty() {
                message.push_str("at the cluster scope");
            } else {
                let _ = write!(message, "in the namespace {namespace:?}");
            }
        }
    }
    if !reason.is_empty() {
        let _ = write!(message, ": {reason}");
    }
    html_escaped(&message)
}

/// The real server lets no markup of a request through to a browser.
fn html_escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
