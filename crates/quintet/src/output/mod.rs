//! Tables for eyes, JSON and YAML for machines.

mod paint;
mod table;

pub use paint::{Paint, Tone};
pub use table::Table;

use std::io::Write;

use anyhow::Result;
use clap::ValueEnum;
use serde::Serialize;

/// The formats for machines. Without one, commands print for eyes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// One JSON document
    Json,
    /// YAML, several documents parted by `---`
    Yaml,
}

/// Writes text to standard output as it is.
///
/// Unlike `println!` this reports a closed pipe as an error instead of a panic.
pub fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

/// Writes text to standard error: progress beside an output for machines.
pub fn tell(text: &str) -> Result<()> {
    Ok(std::io::stderr().lock().write_all(text.as_bytes())?)
}

/// Where progress is written: [`print()`] or [`tell`].
pub type Progress = fn(&str) -> Result<()>;

/// One value as a document in the given format, newline at the end.
pub fn document<T: Serialize>(value: &T, format: Format) -> Result<String> {
    Ok(match format {
        Format::Json => serde_json::to_string_pretty(value)? + "\n",
        Format::Yaml => serde_saphyr::to_string(value)?,
    })
}

/// Several values: a JSON list, or YAML documents parted by `---`.
pub fn documents<T: Serialize>(values: &[T], format: Format) -> Result<String> {
    match format {
        Format::Json => document(&values, format),
        Format::Yaml => {
            let parts: Result<Vec<String>> = values.iter().map(|v| document(v, format)).collect();
            Ok(parts?.join("---\n"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn yaml_documents_are_parted_and_json_is_one_list() {
        let values = [json!({"a": 1}), json!({"a": 2})];
        assert_eq!(documents(&values, Format::Yaml).unwrap(), "a: 1\n---\na: 2\n");
        let list: serde_json::Value =
            serde_json::from_str(&documents(&values, Format::Json).unwrap()).unwrap();
        assert_eq!(list, json!([{"a": 1}, {"a": 2}]));
    }

    #[test]
    fn yaml_keeps_strings_that_look_like_other_types() {
        let back: serde_json::Value = serde_saphyr::from_str(
            &document(&json!({"v": "1", "on": "yes", "n": null}), Format::Yaml).unwrap(),
        )
        .unwrap();
        assert_eq!(back, json!({"v": "1", "on": "yes", "n": null}));
    }
}
