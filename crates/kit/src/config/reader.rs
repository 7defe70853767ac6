//! Reads variables into values, and collects what is wrong with them.

use super::variable::{Environment, Variable};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// What is wrong with a configuration. Values of secret variables are not repeated.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ConfigError {
    /// A value cannot be read.
    #[error("{name}={value:?} is not valid: {problem}")]
    Invalid {
        /// The name it was set under.
        name: String,
        /// The value, dots if it is secret.
        value: String,
        /// Why.
        problem: String,
    },
    /// A value is needed.
    #[error("{name} must be set ({about})")]
    Missing {
        /// The name.
        name: String,
        /// What it is for.
        about: String,
    },
    /// A name of ours that nobody reads.
    #[error("{name} is not known{}", suggestion.as_ref().map(|s| format!(": did you mean {s}?")).unwrap_or_default())]
    Unknown {
        /// The name.
        name: String,
        /// What was probably meant.
        suggestion: Option<String>,
    },
    /// A bare name that systems read with different meanings.
    #[error("{name} means different things to {}: unset it, and set {} instead", systems.join(" and "), instead.join(" and "))]
    Ambiguous {
        /// The bare name.
        name: String,
        /// Who reads it.
        systems: Vec<String>,
        /// What to set instead.
        instead: Vec<String>,
    },
}

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The environment, under this name.
    Environment(String),
    /// Nowhere: it is the default.
    Default,
}

/// A value that was read, for the log at start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The variable's bare name.
    pub name: &'static str,
    /// The value, dots if it is secret.
    pub value: String,
    /// Where it came from.
    pub source: Source,
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            Source::Environment(name) => write!(f, "{}={} (from {name})", self.name, self.value),
            Source::Default => write!(f, "{}={} (default)", self.name, self.value),
        }
    }
}

/// Reads the variables of one system.
#[derive(Debug)]
pub struct Reader<'a> {
    system: &'a str,
    environment: &'a Environment,
    settings: Vec<Setting>,
    errors: Vec<ConfigError>,
}

impl<'a> Reader<'a> {
    /// A reader for one system.
    #[must_use]
    pub fn new(system: &'a str, environment: &'a Environment) -> Self {
        Reader { system, environment, settings: vec![], errors: vec![] }
    }

    /// The value and the name it is set under.
    fn raw(&self, variable: &Variable) -> Option<(String, &'a str)> {
        let qualified = variable.qualified(self.system);
        let ours = self.environment.get(&qualified).map(|value| (qualified, value));
        ours.or_else(|| self.environment.get(variable.name).map(|value| (variable.name.to_owned(), value)))
    }

    /// The value, if it is set.
    pub fn optional<T>(&mut self, variable: &Variable) -> Option<T>
    where
        T: FromStr,
        T::Err: fmt::Display,
    {
        self.parsed(variable, |text| text.parse().map_err(|error: T::Err| error.to_string()))
    }

    /// The value, or this one.
    pub fn or<T>(&mut self, variable: &Variable, default: T) -> T
    where
        T: FromStr + fmt::Display,
        T::Err: fmt::Display,
    {
        match self.raw(variable) {
            Some(_) => self.optional(variable).unwrap_or(default),
            None => {
                self.note(variable, &default.to_string(), Source::Default);
                default
            }
        }
    }

    /// The value, which must be set; an error is remembered if it is not.
    pub fn required<T>(&mut self, variable: &Variable) -> Option<T>
    where
        T: FromStr,
        T::Err: fmt::Display,
    {
        if self.raw(variable).is_none() {
            self.errors
                .push(ConfigError::Missing { name: variable.name.into(), about: variable.about.into() });
        }
        self.optional(variable)
    }

    /// Yes or no, as Go's `strconv.ParseBool` reads it: `1 t T true True TRUE` and their opposites.
    pub fn flag(&mut self, variable: &Variable, default: bool) -> bool {
        if self.raw(variable).is_none() {
            self.note(variable, if default { "true" } else { "false" }, Source::Default);
            return default;
        }
        let read = self.parsed(variable, |text| match text {
            "1" | "t" | "T" | "true" | "True" | "TRUE" => Ok(true),
            "0" | "f" | "F" | "false" | "False" | "FALSE" => Ok(false),
            _ => Err("neither true nor false".into()),
        });
        read.unwrap_or(default)
    }

    /// The value as this function reads it, if it is set.
    pub fn parsed<T>(
        &mut self,
        variable: &Variable,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        let (name, value) = self.raw(variable)?;
        self.note(variable, value, Source::Environment(name.clone()));
        let problem = match parse(value) {
            Ok(value) => return Some(value),
            Err(problem) => problem,
        };
        self.errors.push(ConfigError::Invalid { name, value: shown(variable, value), problem });
        None
    }

    fn note(&mut self, variable: &Variable, value: &str, source: Source) {
        self.settings.push(Setting { name: variable.name, value: shown(variable, value), source });
    }

    /// What was read, if nothing was wrong.
    ///
    /// # Errors
    /// Everything that was wrong.
    pub fn finish(self) -> Result<Vec<Setting>, Vec<ConfigError>> {
        if self.errors.is_empty() { Ok(self.settings) } else { Err(self.errors) }
    }
}

fn shown(variable: &Variable, value: &str) -> String {
    if variable.secret { "…".into() } else { value.into() }
}
