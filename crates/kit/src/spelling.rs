//! What somebody meant by a word that is not known.

/// How many letters must be put in, left out or changed to get from one word to the other.
#[must_use]
pub fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let change = corner + usize::from(x != *y);
            corner = row[j + 1];
            row[j + 1] = change.min(corner + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// The known word that differs least, if it differs in no more than a third of the letters.
#[must_use]
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let near = known.into_iter().map(|candidate| (distance(word, candidate), candidate));
    let (differs, candidate) = near.min_by_key(|(differs, _)| *differs)?;
    (differs <= word.chars().count() / 3).then_some(candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_single_changes() {
        for (a, b, differs) in
            [("pods", "pods", 0), ("pod", "pods", 1), ("tsnig", "tsing", 2), ("", "abc", 3), ("ü", "u", 1)]
        {
            assert_eq!((distance(a, b), distance(b, a)), (differs, differs), "{a:?} {b:?}");
        }
    }

    #[test]
    fn only_what_is_near_is_suggested() {
        let known = ["IMAGE", "NAMESPACE"];
        assert_eq!(nearest("NAMESPCE", known), Some("NAMESPACE"));
        assert_eq!(nearest("PORT", known), None);
        assert_eq!(nearest("", known), None);
        assert_eq!(nearest("PORT", []), None);
    }
}
