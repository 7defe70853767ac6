//! Label and field selectors.

mod field;
mod label;

pub use field::FieldSelector;
pub use label::{LabelSelector, Requirement};

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::resource::Registry;

    /// Text made of the characters that matter to the parsers, and some that do not.
    fn selector_like() -> impl Strategy<Value = String> {
        proptest::collection::vec(
            prop_oneof![
                Just(",".to_string()),
                Just("=".into()),
                Just("==".into()),
                Just("!=".into()),
                Just("!".into()),
                Just(" in ".into()),
                Just(" notin ".into()),
                Just("(".into()),
                Just(")".into()),
                Just(">1".into()),
                Just("\\".into()),
                Just("metadata.name".into()),
                "[a-z./é]{0,4}",
            ],
            0..12,
        )
        .prop_map(|parts| parts.concat())
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_or_refused(text in prop_oneof![selector_like(), ".{0,40}"]) {
            let catalog = Registry::new().catalog();
            let Some(pods) = catalog.find("", "v1", "pods") else { return Err(TestCaseError::fail("no pods")) };
            if let Ok(selector) = LabelSelector::parse(&text) {
                selector.matches(|_| Some("1"));
                selector.matches(|_| None);
            }
            if let Ok(selector) = FieldSelector::parse(&text, pods) {
                selector.matches(&crate::store::Facts::default());
            }
        }
    }
}
