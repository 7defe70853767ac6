//! Differences from the originals that can be switched on and off, by their ids in `docs/differences.md`.

use super::variable::Variable;
use crate::spelling::nearest;
use std::collections::BTreeSet;
use thiserror::Error;

/// A difference that can be switched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Its id: the system's name, a dash, and what it is about.
    pub id: &'static str,
    /// Whether it is on unless told otherwise. What restarts pods is not.
    pub default: bool,
}

impl Difference {
    /// On unless told otherwise.
    #[must_use]
    pub const fn on(id: &'static str) -> Self {
        Difference { id, default: true }
    }

    /// Off unless told otherwise.
    #[must_use]
    pub const fn off(id: &'static str) -> Self {
        Difference { id, default: false }
    }
}

/// What is wrong with a list of switches.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum DifferenceError {
    /// Neither `=on` nor `=off`.
    #[error("{0:?} is no switch: write id=on or id=off, several with commas between them")]
    NoSwitch(String),
    /// The system has no such difference, or none that can be switched.
    #[error("{id} cannot be switched{}", suggestion.map(|s| format!(": did you mean {s}?")).unwrap_or_default())]
    Unknown {
        /// The id.
        id: String,
        /// What was probably meant.
        suggestion: Option<&'static str>,
    },
}

/// Which differences of a system are on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Differences(BTreeSet<&'static str>);

impl Differences {
    /// The variable with the switches of all systems: `garden-events=off,garden-fence=on`.
    pub const VARIABLE: Variable = Variable::shared(
        "QUINTET_DIFFERENCES",
        "differences from the originals",
        "differences from the original to switch on or off, by id",
    );

    /// Those that are on by default, and what the text says about this system's.
    ///
    /// # Errors
    /// If the text is no list of switches, or switches what the system does not know.
    pub fn parse(system: &str, known: &[Difference], text: &str) -> Result<Self, DifferenceError> {
        let mut on: BTreeSet<&'static str> = known.iter().filter(|d| d.default).map(|d| d.id).collect();
        for switch in text.split(',').map(str::trim).filter(|switch| !switch.is_empty()) {
            let no_switch = || DifferenceError::NoSwitch(switch.to_owned());
            let (id, state) = switch.split_once('=').ok_or_else(no_switch)?;
            if !matches!(state, "on" | "off") {
                return Err(no_switch());
            }
            if !id.strip_prefix(system).is_some_and(|rest| rest.starts_with('-')) {
                continue; // another system's
            }
            let Some(difference) = known.iter().find(|difference| difference.id == id) else {
                let suggestion = nearest(id, known.iter().map(|difference| difference.id));
                return Err(DifferenceError::Unknown { id: id.to_owned(), suggestion });
            };
            if state == "on" {
                on.insert(difference.id);
            } else {
                on.remove(difference.id);
            }
        }
        Ok(Differences(on))
    }

    /// The switches that make it so, for another process; none where everything is as by default.
    #[must_use]
    pub fn switches(&self, known: &[Difference]) -> Option<String> {
        let switched = known.iter().filter(|difference| self.has(difference.id) != difference.default);
        let texts = switched.map(|d| format!("{}={}", d.id, if d.default { "off" } else { "on" }));
        Some(texts.collect::<Vec<_>>().join(",")).filter(|text| !text.is_empty())
    }

    /// Whether this one is on.
    #[must_use]
    pub fn has(&self, id: &str) -> bool {
        self.0.contains(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [Difference; 2] = [Difference::on("ab-events"), Difference::off("ab-scripts")];

    fn parse(text: &str) -> Result<Vec<&'static str>, String> {
        let parsed = Differences::parse("ab", &KNOWN, text).map_err(|error| error.to_string())?;
        Ok(parsed.0.into_iter().collect())
    }

    #[test]
    fn what_is_not_switched_is_as_by_default() {
        assert_eq!(parse(""), Ok(vec!["ab-events"]));
        assert_eq!(parse("ab-events=off, ab-scripts=on,"), Ok(vec!["ab-scripts"]));
        assert_eq!(parse("other-thing=off"), Ok(vec!["ab-events"]), "another system's");
    }

    #[test]
    fn switches_are_told_as_they_were_given() {
        let told = |text| Differences::parse("ab", &KNOWN, text).unwrap().switches(&KNOWN);
        assert_eq!(told("ab-scripts=on,ab-events=off").as_deref(), Some("ab-events=off,ab-scripts=on"));
        assert_eq!(told("ab-events=on"), None, "as by default");
    }

    #[test]
    fn what_is_misspelt_is_refused_with_what_was_meant() {
        assert_eq!(parse("ab-event=off"), Err("ab-event cannot be switched: did you mean ab-events?".into()));
        assert_eq!(parse("ab-nothing-like-it=on"), Err("ab-nothing-like-it cannot be switched".into()));
        for wrong in ["ab-events", "ab-events=yes"] {
            assert!(parse(wrong).unwrap_err().contains("write id=on or id=off"));
        }
    }
}
