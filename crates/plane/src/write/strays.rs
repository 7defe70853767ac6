//! Fields of a request that are not known or given twice: told of, refused or passed over, as the request wants it.

use bytes::Bytes;
use serde_json::Value;

use crate::resource::Resource;
use crate::server::Warnings;
use crate::server::json;
use crate::server::params::FieldValidation;
use crate::status::{Error, FieldError, Result};

/// Where a written object came from.
#[derive(Debug, Clone, Default)]
pub(crate) struct Source {
    /// Fields given twice in what was sent.
    pub(crate) duplicates: Vec<String>,
    /// The form it was sent in.
    pub(crate) form: Form,
}

/// The form in which a change was sent; refusals differ by it.
#[derive(Debug, Clone, Default)]
pub(crate) enum Form {
    /// Made here: by the plane itself, or from an applied configuration, which is judged apart.
    #[default]
    Made,
    /// The object itself, as this text.
    Body(Bytes),
    /// A JSON or merge patch.
    Patch,
    /// A strategic merge patch, as Go prints it.
    Strategic(String),
}

impl Source {
    /// The object as sent, of this text.
    pub(crate) fn body(duplicates: Vec<String>, text: Bytes) -> Self {
        Self { duplicates, form: Form::Body(text) }
    }

    /// What a strict refusal will show of the patched object, which is still whole here.
    pub(super) fn shown(&self, how: FieldValidation, patched: &Value) -> Option<String> {
        match (how, &self.form) {
            (FieldValidation::Strict, Form::Patch) => Some(patched.to_string()),
            (FieldValidation::Strict, Form::Strategic(patch)) => Some(patch.clone()),
            _ => None,
        }
    }

    /// Warns, refuses or says nothing.
    pub(super) fn judge(
        &self,
        unknown: Vec<String>,
        shown: Option<String>,
        how: FieldValidation,
        resource: &Resource,
        warnings: &Warnings,
    ) -> Result<()> {
        if how == FieldValidation::Ignore || (unknown.is_empty() && self.duplicates.is_empty()) {
            return Ok(());
        }
        let texts = self.texts(unknown, resource);
        if how == FieldValidation::Warn {
            warnings.extend(texts);
            return Ok(());
        }
        let why = format!("strict decoding error: {}", texts.join(", "));
        if let Some(shown) = shown {
            return Err(Error::invalid_kind("", "", "", &[FieldError::invalid("patch", shown, why)]));
        }
        let (kind, version) = (&resource.gvk.kind, &resource.gvk.version);
        Err(Error::bad_request(format!(
            "{kind} in version \"{version}\" cannot be handled as a {kind}: {why}"
        )))
    }

    /// In the order in which the real server tells them: of a built-in kind as they stand in the text; of a custom one
    /// duplicates first, then what is unknown in metadata, then the rest.
    fn texts(&self, mut unknown: Vec<String>, resource: &Resource) -> Vec<String> {
        let quote = crate::status::go_quote;
        let twice = |path: &String| format!("duplicate field {}", quote(path));
        let stray = |path: &String| format!("unknown field {}", quote(path));
        if let Form::Body(text) = &self.form
            && !resource.is_custom()
        {
            let places = json::places(text);
            let first = |path: &String| places.iter().position(|place| place == path);
            let last = |path: &String| places.iter().rposition(|place| place == path);
            let mut all: Vec<(Option<usize>, String)> =
                self.duplicates.iter().map(|path| (last(path), twice(path))).collect();
            all.extend(unknown.iter().map(|path| (first(path), stray(path))));
            all.sort_by_key(|(place, _)| *place);
            return all.into_iter().map(|(_, text)| text).collect();
        }
        unknown.sort_by_key(|path| !path.starts_with("metadata."));
        self.duplicates.iter().map(twice).chain(unknown.iter().map(stray)).collect()
    }
}
