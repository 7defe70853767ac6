//! The order of API versions: GA before beta before alpha, higher numbers first, anything else after, by name.

use std::cmp::Ordering;

/// Orders versions, most preferred first.
pub fn version_priority(a: &str, b: &str) -> Ordering {
    match (parse(a), parse(b)) {
        (Some(a), Some(b)) => b.cmp(&a),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

/// Stability (2 GA, 1 beta, 0 alpha), major, minor.
fn parse(version: &str) -> Option<(u8, u32, u32)> {
    let rest = version.strip_prefix('v')?;
    for (word, rank) in [("alpha", 0), ("beta", 1)] {
        if let Some((major, minor)) = rest.split_once(word) {
            return Some((rank, major.parse().ok()?, minor.parse().ok()?));
        }
    }
    Some((2, rest.parse().ok()?, 0))
}

#[cfg(test)]
mod tests {
    use super::version_priority;

    #[test]
    fn versions_are_ordered_as_discovery_prefers_them() {
        let mut all =
            ["foo10", "v1alpha1", "v1", "v11beta2", "v10", "v3beta1", "v2", "foo1", "v12alpha1", "v10beta3"];
        all.sort_by(|a, b| version_priority(a, b));
        assert_eq!(
            all,
            ["v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v12alpha1", "v1alpha1", "foo1", "foo10"]
        );
    }
}
