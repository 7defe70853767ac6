//! Query parameters.

use crate::status::{Error, FieldError, Result};

/// The query of a request, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Params(Vec<(String, String)>);

impl Params {
    pub(crate) fn parse(query: &str) -> Self {
        Self(
            form_urlencoded::parse(query.as_bytes())
                .into_owned()
                .filter(|(name, _)| !name.is_empty())
                .collect(),
        )
    }

    /// All of them.
    pub(crate) fn pairs(&self) -> &[(String, String)] {
        &self.0
    }

    /// The first value of a parameter; empty if absent.
    pub(crate) fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(n, _)| n == name).map_or("", |(_, v)| v)
    }

    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(n, _)| n == name)
    }

    /// A switch: present and not `false` or `0`, as the real server reads booleans in queries.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.has(name) && !matches!(self.get(name).to_ascii_lowercase().as_str(), "false" | "0")
    }

    /// A whole number, with Go's complaint if it is none.
    pub(crate) fn number(&self, name: &str) -> Result<Option<i64>> {
        match self.get(name) {
            "" => Ok(None),
            text => text.parse().map(Some).map_err(|_| {
                Error::bad_request(format!(
                    "strconv.ParseInt: parsing {}: invalid syntax",
                    crate::status::go_quote(text)
                ))
            }),
        }
    }
}

/// How unknown and duplicate fields are met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    Ignore,
    Warn,
    Strict,
}

/// Options common to all writes.
#[derive(Debug, Clone)]
pub(crate) struct WriteOptions {
    pub(crate) dry_run: bool,
    pub(crate) validation: FieldValidation,
    /// `fieldManager`, if given.
    pub(crate) manager: Option<String>,
    pub(crate) force: Option<bool>,
}

impl WriteOptions {
    /// Reads and checks them; `kind` is the options' kind (`CreateOptions`), `apply` whether this is an apply patch.
    pub(crate) fn parse(params: &Params, kind: &str, apply: bool) -> Result<Self> {
        let mut errors = Vec::new();
        let dry_run: Vec<&str> = params.all("dryRun").collect();
        if dry_run.iter().any(|v| *v != "All") {
            errors.push(FieldError::not_supported("dryRun", dry_run.clone(), &["All"]));
        }
        let validation = match params.get("fieldValidation") {
            "Ignore" => FieldValidation::Ignore,
            "Strict" => FieldValidation::Strict,
            "" | "Warn" => FieldValidation::Warn,
            other => {
                let supported = ["", "Ignore", "Strict", "Warn"];
                errors.push(FieldError::not_supported("fieldValidation", other, &supported));
                FieldValidation::Warn
            }
        };
        let manager = Some(params.get("fieldManager")).filter(|m| !m.is_empty());
        if manager.is_some_and(|m| m.len() > 128) {
            errors.push(FieldError::new("fieldManager", crate::status::FieldErrorKind::TooLong(128)));
        }
        let force = params.has("force").then(|| params.flag("force"));
        if apply && manager.is_none() {
            errors.push(FieldError::required("fieldManager", "is required for apply patch"));
        }
        if !apply && force.is_some() && kind == "PatchOptions" {
            errors.push(FieldError::forbidden("force", "may not be specified for non-apply patch"));
        }
        if !errors.is_empty() {
            return Err(Error::invalid_kind("meta.k8s.io", kind, "", &errors));
        }
        Ok(Self { dry_run: !dry_run.is_empty(), validation, manager: manager.map(Into::into), force })
    }
}
