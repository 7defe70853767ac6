//! The operator's settings: the original's environment variables under the same names.

/// What the operator is told at its start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Namespace of the catalog (`REGISTRIES_NAMESPACE`).
    pub namespace: String,
}

/// Settings that the operator cannot start with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// Not a name that a namespace can have.
    #[error(
        "REGISTRIES_NAMESPACE={0:?} is not the name of a namespace: use lower-case letters, digits and dashes"
    )]
    Namespace(String),
}

impl Config {
    /// Settings from the value of `REGISTRIES_NAMESPACE`. Without one there is no catalog.
    ///
    /// # Errors
    /// If the value is not a name that a namespace can have. (The original drops it silently.)
    pub fn new(registries_namespace: &str) -> Result<Option<Self>, ConfigError> {
        let namespace = registries_namespace.trim();
        if namespace.is_empty() {
            return Ok(None);
        }
        let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        let is_label = namespace.len() <= 63
            && namespace.starts_with(is_inner)
            && namespace.ends_with(is_inner)
            && namespace.chars().all(|c| is_inner(c) || c == '-');
        if is_label {
            Ok(Some(Config { namespace: namespace.into() }))
        } else {
            Err(ConfigError::Namespace(namespace.into()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_is_trimmed_checked_and_may_be_absent() {
        assert_eq!(Config::new(" ns-1 "), Ok(Some(Config { namespace: "ns-1".into() })));
        assert_eq!(Config::new(""), Ok(None));
        for bad in ["A", "a.b", "-a", "a_b"] {
            assert_eq!(Config::new(bad), Err(ConfigError::Namespace(bad.into())));
        }
    }
}
