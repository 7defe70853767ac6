//! What can be wrong before a single value is read.

use super::reader::ConfigError;
use super::variable::{Environment, Variable, prefix};
use crate::spelling::nearest;
use crate::wiring::ConfigRow;
use std::collections::BTreeMap;

/// Finds names of ours that nobody reads, and bare names that enabled systems read with different meanings.
#[must_use]
pub fn check(systems: &[(&str, &[Variable])], environment: &Environment) -> Vec<ConfigError> {
    let mut errors = unknown(systems, environment);
    errors.extend(ambiguous(systems, environment));
    errors
}

/// The environment as a row of the dataflow page.
#[must_use]
pub fn environment_row(variables: &[Variable]) -> ConfigRow {
    let keys = variables.iter().map(|variable| variable.name.to_owned()).collect();
    ConfigRow { kind: "Environment".into(), name: String::new(), keys }
}

fn unknown(systems: &[(&str, &[Variable])], environment: &Environment) -> Vec<ConfigError> {
    let mut errors = vec![];
    for name in environment.names() {
        // The longest prefix: of `a` and `a-b`, QUINTET_A_B_X is the latter's.
        let ours = systems.iter().filter(|(system, _)| name.starts_with(&prefix(system)));
        let Some((system, variables)) = ours.max_by_key(|(system, _)| system.len()) else { continue };
        let bare = &name[prefix(system).len()..];
        if !variables.iter().any(|variable| variable.name == bare) {
            let known = variables.iter().map(|variable| variable.name);
            let suggestion = nearest(bare, known).map(|meant| format!("{}{meant}", prefix(system)));
            errors.push(ConfigError::Unknown { name: name.to_owned(), suggestion });
        }
    }
    errors
}

fn ambiguous(systems: &[(&str, &[Variable])], environment: &Environment) -> Vec<ConfigError> {
    // Who would take the bare value, by name.
    let mut readers: BTreeMap<&str, Vec<(&str, &Variable)>> = BTreeMap::new();
    for (system, variables) in systems {
        for variable in *variables {
            let bare = environment.get(variable.name).is_some();
            if bare && environment.get(&variable.qualified(system)).is_none() {
                readers.entry(variable.name).or_default().push((*system, variable));
            }
        }
    }
    let mut errors = vec![];
    for (name, readers) in readers {
        let first = readers[0].1.meaning;
        if readers.len() < 2
            || !first.is_empty() && readers.iter().all(|(_, variable)| variable.meaning == first)
        {
            continue;
        }
        errors.push(ConfigError::Ambiguous {
            name: name.to_owned(),
            systems: readers.iter().map(|(system, _)| (*system).to_owned()).collect(),
            instead: readers.iter().map(|(system, variable)| variable.qualified(system)).collect(),
        });
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Reader, Source};

    const NAMESPACE: Variable = Variable::new("NAMESPACE", "where the system lives");
    const LEVEL: Variable = Variable::shared("LOG_LEVEL", "log level", "how much is logged");
    const TOKEN: Variable = Variable::new("TOKEN", "a token").secret();
    const PORT: Variable = Variable::new("PORT", "the port");
    const ALL: &[Variable] = &[NAMESPACE, LEVEL, TOKEN, PORT];
    const SYSTEMS: &[(&str, &[Variable])] = &[("ab", ALL), ("ab-cd", ALL)];

    fn environment(all: &[(&str, &str)]) -> Environment {
        all.iter().copied().collect()
    }

    #[test]
    fn the_systems_own_name_wins_over_the_bare_one() {
        let env = environment(&[("PORT", "1"), ("QUINTET_AB_CD_PORT", "2")]);
        let (mut other, mut ours) = (Reader::new("ab", &env), Reader::new("ab-cd", &env));
        assert_eq!((other.or(&PORT, 0), ours.or(&PORT, 0)), (1, 2));
        assert_eq!(ours.finish().unwrap()[0].source, Source::Environment("QUINTET_AB_CD_PORT".into()));
        assert_eq!(other.finish().unwrap()[0].to_string(), "PORT=1 (from PORT)");
    }

    #[test]
    fn unknown_names_of_ours_are_refused_with_what_was_meant() {
        let errors = check(
            SYSTEMS,
            &environment(&[("QUINTET_AB_NAMESPCE", "x"), ("QUINTET_AB_CD_WHAT", "x"), ("OTHER", "x")]),
        );
        let texts: Vec<_> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            [
                "QUINTET_AB_CD_WHAT is not known",
                "QUINTET_AB_NAMESPCE is not known: did you mean QUINTET_AB_NAMESPACE?",
            ]
        );
    }

    #[test]
    fn a_bare_name_with_two_meanings_is_refused() {
        let errors = check(SYSTEMS, &environment(&[("NAMESPACE", "x"), ("LOG_LEVEL", "debug")]));
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert_eq!(
            errors[0].to_string(),
            "NAMESPACE means different things to ab and ab-cd: unset it, and set QUINTET_AB_NAMESPACE and \
             QUINTET_AB_CD_NAMESPACE instead"
        );
        let settled = environment(&[("NAMESPACE", "x"), ("QUINTET_AB_NAMESPACE", "y")]);
        assert_eq!(check(SYSTEMS, &settled), [], "only one system reads the bare name");
        assert_eq!(
            check(&SYSTEMS[..1], &environment(&[("NAMESPACE", "x")])),
            [],
            "nor is a single system in doubt"
        );
    }

    #[test]
    fn all_errors_are_found_and_secrets_are_not_shown() {
        let env = environment(&[("PORT", "many"), ("TOKEN", "hush")]);
        let mut reader = Reader::new("ab", &env);
        assert_eq!(reader.or(&PORT, 7u16), 7);
        assert_eq!(reader.parsed(&TOKEN, |_| Err::<(), _>("too short".into())), None);
        assert_eq!(reader.required::<String>(&NAMESPACE), None);
        let texts: Vec<_> = reader.finish().unwrap_err().iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            [
                "PORT=\"many\" is not valid: invalid digit found in string",
                "TOKEN=\"…\" is not valid: too short",
                "NAMESPACE must be set (where the system lives)",
            ]
        );
    }

    #[test]
    fn an_empty_value_is_none_and_flags_are_read_as_go_reads_them() {
        let env = environment(&[("NAMESPACE", ""), ("PORT", "T"), ("TOKEN", "yes")]);
        let mut reader = Reader::new("ab", &env);
        assert_eq!(reader.or(&NAMESPACE, "home".to_owned()), "home");
        assert!(reader.flag(&PORT, false));
        assert!(reader.flag(&TOKEN, true), "the default, and an error");
        assert_eq!(reader.finish().unwrap_err().len(), 1);
    }
}
