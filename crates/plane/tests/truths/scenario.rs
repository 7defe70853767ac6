use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Requests in order, in a namespace of their own that exists when the first one is sent.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scenario {
    /// `topic/name`, from the file's path.
    #[serde(skip)]
    pub(crate) name: String,
    #[serde(skip)]
    path: PathBuf,
    /// What there is to learn from it.
    #[serde(rename = "why")]
    _why: String,
    pub(crate) steps: Vec<Step>,
}

/// One request. In every text, `{ns}` is the scenario's namespace, `{webhook}` and `{ca}` the address and certificate of
/// the test's own webhook server, and `{name}` a value kept from an earlier answer.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Step {
    /// What this step shows; names the step in reports.
    pub(crate) note: String,
    /// Method and path.
    #[serde(rename = "do")]
    pub(crate) request: String,
    /// The body, sent as JSON.
    pub(crate) body: Option<Value>,
    /// The body as text, where JSON cannot say it: YAML, broken JSON, duplicate keys.
    pub(crate) text: Option<String>,
    /// The body's media type: `json` (also the default), `merge`, `strategic`, `json-patch`, `apply`, or one spelt out.
    #[serde(rename = "type")]
    pub(crate) media_type: Option<String>,
    /// What is accepted: `table`, `metadata`, or a media type.
    pub(crate) accept: Option<String>,
    /// The user to act as, by impersonation, and that user's groups.
    #[serde(rename = "as")]
    pub(crate) user: Option<String>,
    pub(crate) groups: Vec<String>,
    /// Preparation: done, but its answer is not part of the record.
    pub(crate) quiet: bool,
    /// Repeat until these pointers have these values (`null`: absent): for what controllers do in their own time. `code`
    /// in place of a pointer is the status code.
    pub(crate) until: BTreeMap<String, Value>,
    /// Keep only these parts of the answer, by JSON pointer.
    pub(crate) look: Vec<String>,
    /// Leave these parts out, by JSON pointer.
    pub(crate) hide: Vec<String>,
    /// Values to keep for later steps: name and JSON pointer.
    pub(crate) keep: BTreeMap<String, String>,
    /// A watch: read that many events.
    pub(crate) events: Option<usize>,
    /// Answer headers that matter here, besides warnings, which always do.
    pub(crate) headers: Vec<String>,
}

/// What was answered to one step, normalised.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Truth {
    /// The step's note, so that the record can be read by itself.
    pub(crate) note: String,
    pub(crate) code: u16,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) warnings: Vec<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Value,
}

impl Step {
    /// What to call it in a report.
    pub(crate) fn title(&self) -> String {
        if self.note.is_empty() { self.request.clone() } else { self.note.clone() }
    }
}

impl Truth {
    /// In place of an answer to a step that was never sent.
    pub(crate) fn unreached(step: &Step, reason: &str) -> Truth {
        let body = Value::String(format!("not reached: {reason}"));
        Truth { note: step.title(), code: 0, warnings: Vec::new(), headers: BTreeMap::new(), body }
    }
}

impl Scenario {
    /// All scenarios below `directory`, sorted by name.
    pub(crate) fn all(directory: &Path) -> Vec<Scenario> {
        let mut all = Vec::new();
        for topic in entries(directory).into_iter().filter(|path| path.is_dir()) {
            for path in
                entries(&topic).into_iter().filter(|path| path.extension().is_some_and(|e| e == "yaml"))
            {
                let text =
                    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
                let mut scenario: Scenario = serde_saphyr::from_str_with_options(
                    &text,
                    serde_saphyr::options! { strict_booleans: true },
                )
                .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
                let name = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                scenario.name = format!("{}/{}", name(&topic), name(&path));
                scenario.path = path;
                all.push(scenario);
            }
        }
        all
    }

    /// The namespace it plays in.
    pub(crate) fn namespace(&self) -> String {
        self.name.replace('/', "-")
    }

    /// The steps whose answers are kept.
    pub(crate) fn recorded(&self) -> impl Iterator<Item = &Step> {
        self.steps.iter().filter(|step| !step.quiet)
    }

    /// What the real server answered.
    pub(crate) fn answers(&self) -> Vec<Truth> {
        let path = self.path.with_extension("json");
        let text = std::fs::read_to_string(&path)
            .unwrap_or_else(|e| panic!("{}: {e}: record it with hack/record-truths", path.display()));
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    }

    /// Writes the record.
    pub(crate) fn write_answers(&self, answers: &[Truth]) {
        for answer in answers {
            let complete = answer.code != 0 && answer.body.get("never").is_none();
            assert!(complete, "{}: \"{}\" cannot be recorded: {}", self.name, answer.note, answer.body);
        }
        let path = self.path.with_extension("json");
        let text = serde_json::to_string_pretty(answers).expect("truths are JSON") + "\n";
        std::fs::write(&path, text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    }
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let read = std::fs::read_dir(directory).unwrap_or_else(|e| panic!("{}: {e}", directory.display()));
    let mut paths: Vec<PathBuf> = read.map(|entry| entry.expect("a readable directory").path()).collect();
    paths.sort();
    paths
}
