//! Environment variables of containers.

use k8s_openapi::api::core::v1::{EnvVar, EnvVarSource, SecretKeySelector};

/// A variable with a value.
#[must_use]
pub fn value(name: impl Into<String>, value: impl Into<String>) -> EnvVar {
    EnvVar { name: name.into(), value: Some(value.into()), value_from: None }
}

/// A variable with the value of a Secret's key.
#[must_use]
pub fn secret(name: impl Into<String>, key: SecretKeySelector) -> EnvVar {
    let source = EnvVarSource { secret_key_ref: Some(key), ..EnvVarSource::default() };
    EnvVar { name: name.into(), value: None, value_from: Some(source) }
}

/// Environment in which each name occurs once, as server-side apply demands. A user's entry replaces the operator's of
/// the same name, in the operator's place; among a user's entries the last counts, in the first one's place.
#[derive(Debug, Default)]
pub struct Environment(Vec<(EnvVar, Origin)>);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Origin {
    Operator,
    Fixed,
    User,
}

impl Environment {
    /// No entries.
    #[must_use]
    pub fn new() -> Self {
        Environment::default()
    }

    /// An entry of the operator, which a user's may replace.
    pub fn operator(&mut self, entry: EnvVar) {
        self.0.push((entry, Origin::Operator));
    }

    /// An entry of the operator that no user's entry replaces.
    pub fn fixed(&mut self, entry: EnvVar) {
        self.0.push((entry, Origin::Fixed));
    }

    /// A user's entry. Beside `valueFrom` a value is dropped, and an empty value is no value.
    pub fn user(&mut self, entry: &EnvVar) {
        let value = entry.value.clone().filter(|value| entry.value_from.is_none() && !value.is_empty());
        self.0.push((EnvVar { value, ..entry.clone() }, Origin::User));
    }

    /// True if there is an entry of this name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(entry, _)| entry.name == name)
    }

    /// The entries, one per name.
    #[must_use]
    pub fn build(&self) -> Vec<EnvVar> {
        let mut built: Vec<EnvVar> = Vec::with_capacity(self.0.len());
        for (entry, origin) in &self.0 {
            let name = entry.name.as_str();
            let namesakes = || self.0.iter().filter(|(other, _)| other.name == name);
            let last_of_user = namesakes().rfind(|(_, o)| *o == Origin::User).map(|(user, _)| user);
            let is_operators = namesakes().any(|(_, o)| *o != Origin::User);
            match origin {
                Origin::Fixed => built.push(entry.clone()),
                Origin::Operator => built.push(last_of_user.unwrap_or(entry).clone()),
                Origin::User if is_operators || built.iter().any(|e| e.name == name) => {}
                Origin::User => built.push(last_of_user.unwrap_or(entry).clone()),
            }
        }
        built
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built(build: impl FnOnce(&mut Environment)) -> Vec<(String, Option<String>)> {
        let mut environment = Environment::new();
        build(&mut environment);
        environment.build().into_iter().map(|entry| (entry.name, entry.value)).collect()
    }

    fn pair(name: &str, value: &str) -> (String, Option<String>) {
        (name.into(), Some(value.into()))
    }

    #[test]
    fn a_users_entry_takes_the_operators_place() {
        let entries = built(|e| {
            e.operator(value("A", "1"));
            e.operator(value("B", "1"));
            e.user(&value("A", "2"));
            e.user(&value("C", "2"));
            e.user(&value("D", "2"));
            e.operator(value("C", "1"));
        });
        assert_eq!(entries, [pair("A", "2"), pair("B", "1"), pair("D", "2"), pair("C", "2")]);
    }

    #[test]
    fn the_last_of_a_users_entries_counts() {
        let entries = built(|e| {
            e.user(&value("A", "1"));
            e.user(&value("B", "1"));
            e.user(&value("A", "2"));
        });
        assert_eq!(entries, [pair("A", "2"), pair("B", "1")]);
    }

    #[test]
    fn a_fixed_entry_is_not_replaced() {
        let entries = built(|e| {
            e.user(&value("A", "user"));
            e.fixed(value("A", "operator"));
            e.user(&value("A", "user"));
        });
        assert_eq!(entries, [pair("A", "operator")]);
    }

    #[test]
    fn an_empty_value_is_no_value() {
        assert_eq!(built(|e| e.user(&value("A", ""))), [("A".to_owned(), None)]);
        let mut both = secret("A", SecretKeySelector::default());
        both.value = Some("x".into());
        assert_eq!(built(|e| e.user(&both)), [("A".to_owned(), None)]);
    }
}
