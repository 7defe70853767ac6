//! A variable as data, and the environment it is looked up in.

use std::collections::BTreeMap;

/// A variable that a system reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its bare name, the original's.
    pub name: &'static str,
    /// What it is for, in a few words.
    pub about: &'static str,
    /// Systems that read a bare name with the same meaning here may share it; empty means that nobody else's is meant.
    pub meaning: &'static str,
    /// Its value is never shown.
    pub secret: bool,
}

impl Variable {
    /// A variable of one system.
    #[must_use]
    pub const fn new(name: &'static str, about: &'static str) -> Self {
        Variable { name, about, meaning: "", secret: false }
    }

    /// A variable that several systems read with the same meaning.
    #[must_use]
    pub const fn shared(name: &'static str, meaning: &'static str, about: &'static str) -> Self {
        Variable { name, about, meaning, secret: false }
    }

    /// Never to be shown.
    #[must_use]
    pub const fn secret(mut self) -> Self {
        self.secret = true;
        self
    }

    /// The name that only this system reads.
    #[must_use]
    pub fn qualified(&self, system: &str) -> String {
        format!("{}{}", prefix(system), self.name)
    }
}

/// What the names that only one system reads begin with.
pub(super) fn prefix(system: &str) -> String {
    format!("QUINTET_{}_", system.to_uppercase().replace('-', "_"))
}

/// The variables of the process, taken once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment(BTreeMap<String, String>);

impl Environment {
    /// Those of this process. A value that is not text is left out.
    #[must_use]
    pub fn of_process() -> Self {
        std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect()
    }

    /// The value of a name; an empty one counts as none.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Every name that is set.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(all: I) -> Self {
        Environment(all.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}
