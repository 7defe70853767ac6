use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    path::Path,
};

use crate::scenario::{Scenario, Truth};

const FILE: &str = "disagreements.yaml";

/// The steps at which the plane is known to differ: `topic/name#step` (counted from 1 among the recorded) and why.
pub(crate) struct Disagreements(BTreeMap<String, String>);

impl Disagreements {
    pub(crate) fn read(directory: &Path) -> Disagreements {
        let text = std::fs::read_to_string(directory.join(FILE)).unwrap_or_default();
        if text.lines().all(|line| line.trim().is_empty() || line.starts_with('#')) {
            return Disagreements(BTreeMap::new());
        }
        Disagreements(serde_saphyr::from_str(&text).unwrap_or_else(|e| panic!("{FILE}: {e}")))
    }

    /// As docs/plane.md shows them: by reason, each with the steps that have it.
    fn table(&self) -> String {
        let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (step, reason) in &self.0 {
            by_reason.entry(reason).or_default().push(step);
        }
        let mut text =
            format!("{} of the recorded steps differ.\n\n| why | steps |\n|---|---|\n", self.0.len());
        for (reason, steps) in by_reason {
            let _ = writeln!(text, "| {reason} | {} |", steps.join(", "));
        }
        text
    }

    /// Fails unless docs/plane.md lists exactly these.
    pub(crate) fn are_documented(&self) {
        let page = std::fs::read_to_string(documentation()).expect("docs/plane.md");
        let (before, after) = around_the_table(&page);
        let shown = &page[before.len()..page.len() - after.len()];
        assert_eq!(
            shown,
            self.table(),
            "docs/plane.md is not up to date: run the truths once with TRUTHS_LIST=1"
        );
    }
}

/// The page that tells what the plane covers and what it does not.
fn documentation() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/plane.md")
}

/// What stands before and after the table of disagreements.
fn around_the_table(page: &str) -> (&str, &str) {
    const BEGIN: &str = "<!-- disagreements: written by TRUTHS_LIST=1 -->\n";
    const END: &str = "<!-- end -->";
    let start = page.find(BEGIN).expect("docs/plane.md marks where the table begins") + BEGIN.len();
    let end = start + page[start..].find(END).expect("and where it ends");
    (&page[..start], &page[end..])
}

/// How the reason of a step begins that differs only when the plane's own controllers are quicker, or slower, than the
/// real ones were.
const SOMETIMES: &str = "sometimes";

/// What was found in this run.
#[derive(Default)]
pub(crate) struct Report {
    agreed: Vec<String>,
    /// By step: what differs, readable.
    differed: BTreeMap<String, String>,
    is_plane: bool,
}

impl Report {
    /// Compares one scenario's answers with its record.
    pub(crate) fn add(&mut self, scenario: &Scenario, answers: &[Truth], recorded: &[Truth], is_plane: bool) {
        self.is_plane = is_plane;
        assert_eq!(
            answers.len(),
            recorded.len(),
            "{}: record it anew with hack/record-truths",
            scenario.name
        );
        for (index, (answer, truth)) in answers.iter().zip(recorded).enumerate() {
            let step = format!("{}#{}", scenario.name, index + 1);
            if answer == truth {
                self.agreed.push(step);
            } else {
                self.differed.insert(step, difference(truth, answer));
            }
        }
    }

    /// Writes the list anew: what differs now, with the reasons it had.
    fn rewrite(&self, listed: &BTreeMap<String, String>) {
        let path = crate::directory().join(FILE);
        let old = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{FILE}: {e}"));
        let mut text: String =
            old.lines().filter(|line| line.starts_with('#')).map(|line| format!("{line}\n")).collect();
        let sometimes = listed.iter().filter(|(_, why)| why.starts_with(SOMETIMES)).map(|(step, _)| step);
        for step in self.differed.keys().chain(sometimes).collect::<BTreeSet<_>>() {
            let reason = listed.get(step).map_or("not looked at yet", String::as_str);
            let reason = if reason.contains(": ") { format!("{reason:?}") } else { reason.to_owned() };
            let _ = writeln!(text, "{step}: {reason}");
        }
        std::fs::write(&path, text).unwrap_or_else(|e| panic!("{FILE}: {e}"));
        let page = documentation();
        let old = std::fs::read_to_string(&page).unwrap_or_else(|e| panic!("{}: {e}", page.display()));
        let (before, after) = around_the_table(&old);
        let table = Disagreements::read(&crate::directory()).table();
        std::fs::write(&page, format!("{before}{table}{after}"))
            .unwrap_or_else(|e| panic!("{}: {e}", page.display()));
    }

    /// Fails unless exactly the listed steps differ (on a real server: none).
    pub(crate) fn settle(&self, listed: &Disagreements, complete: bool) {
        let listed = if self.is_plane { listed.0.clone() } else { BTreeMap::new() };
        let mut text = String::new();
        for (step, difference) in self.differed.iter().filter(|(step, _)| !listed.contains_key(*step)) {
            let _ = writeln!(text, "\n{step} differs:{difference}");
        }
        let always = |step: &&String| listed.get(*step).is_some_and(|why| !why.starts_with(SOMETIMES));
        let settled: Vec<&String> = self.agreed.iter().filter(always).collect();
        if self.is_plane && complete && std::env::var_os("TRUTHS_LIST").is_some() {
            return self.rewrite(&listed);
        }
        if !settled.is_empty() && std::env::var_os("CI").is_some() {
            let _ = writeln!(
                text,
                "\nlisted in {FILE}, but now agreeing (TRUTHS_LIST=1 takes them off): {settled:#?}"
            );
        }
        if complete {
            let known = |step: &String| self.differed.contains_key(step) || self.agreed.contains(step);
            let gone: Vec<&String> = listed.keys().filter(|step| !known(step)).collect();
            if !gone.is_empty() {
                let _ = writeln!(text, "\nlisted in {FILE}, but there is no such step: {gone:#?}");
            }
        }
        let counts =
            format!("{} agree, {} differ ({} listed)", self.agreed.len(), self.differed.len(), listed.len());
        assert!(text.is_empty(), "{counts}\n{text}\n{counts}");
    }
}

/// The lines that differ, `-` what the real server said, `+` what this one says.
fn difference(truth: &Truth, answer: &Truth) -> String {
    let lines = |truth: &Truth| {
        let text = serde_json::to_string_pretty(truth).expect("truths are JSON");
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let (old, new) = (lines(truth), lines(answer));
    let mut text = format!(" ({})", truth.note);
    let mut from = 0;
    for line in &old {
        match new[from..].iter().position(|other| other == line) {
            Some(found) => {
                for extra in &new[from..from + found] {
                    let _ = write!(text, "\n  + {extra}");
                }
                from += found + 1;
            }
            None => {
                let _ = write!(text, "\n  - {line}");
            }
        }
    }
    for extra in &new[from..] {
        let _ = write!(text, "\n  + {extra}");
    }
    text
}
