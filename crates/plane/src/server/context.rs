//! What a verb knows about its request.

use std::sync::Arc;

use http::HeaderMap;
use parking_lot::Mutex;

use super::Accept;
use super::params::Params;
use super::path::ResourcePath;
use crate::Plane;
use crate::hooks::User;
use crate::resource::Resource;

/// Warnings collected for the answer's headers; the same text is sent once.
#[derive(Debug, Default)]
pub(crate) struct Warnings(Mutex<Vec<String>>);

impl Warnings {
    pub(crate) fn add(&self, text: impl Into<String>) {
        let (text, mut all) = (text.into(), self.0.lock());
        if !all.contains(&text) {
            all.push(text);
        }
    }

    pub(crate) fn extend(&self, texts: impl IntoIterator<Item = String>) {
        texts.into_iter().for_each(|text| self.add(text));
    }

    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock())
    }
}

/// One request to a resource.
pub(crate) struct Ctx {
    pub(crate) plane: Plane,
    pub(crate) user: User,
    pub(crate) resource: Arc<Resource>,
    pub(crate) path: ResourcePath,
    pub(crate) params: Params,
    pub(crate) headers: HeaderMap,
    pub(crate) accept: Accept,
    pub(crate) warnings: Arc<Warnings>,
}

impl Ctx {
    /// The namespace of the objects meant; empty at cluster scope and for lists across namespaces.
    pub(crate) fn namespace(&self) -> &str {
        if self.resource.namespaced() { &self.path.namespace } else { "" }
    }

    /// Key of the object meant.
    pub(crate) fn key(&self) -> String {
        crate::store::key(self.namespace(), &self.path.name)
    }

    /// The field manager: the parameter, else the user agent up to its first slash.
    pub(crate) fn manager(&self, given: Option<&str>) -> String {
        if let Some(given) = given {
            return given.to_string();
        }
        let agent =
            self.headers.get(http::header::USER_AGENT).and_then(|v| v.to_str().ok()).unwrap_or_default();
        let name = agent.split('/').next().unwrap_or_default();
        let printable: String = name.chars().filter(|c| !c.is_control()).collect();
        let mut end = printable.len().min(128);
        while !printable.is_char_boundary(end) {
            end -= 1;
        }
        match &printable[..end] {
            "" => "unknown".to_string(),
            name => name.to_string(),
        }
    }
}
