//! What a simulated Pod is told to do: by an annotation, or by a test.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::SignedDuration;
use k8s_openapi::api::core::v1::Pod;
use serde::{Deserialize, Deserializer};

/// The annotation that holds a [`Script`] as JSON.
pub const SCRIPT_ANNOTATION: &str = "local.quintet.dev/script";

/// How a Pod behaves. Without one it pulls, starts and becomes ready at once; containers that are not restarted
/// (`restartPolicy: Never` or `OnFailure`) finish with code 0.
///
/// ```json
/// {"pull": "fail", "ready": "never", "exit": {"code": 1, "after": "2s"}, "stop": "5s", "log": ["hello"],
///  "exec": {"ls /": "bin\n", "make": {"stderr": "no rule\n", "code": 2}}}
/// ```
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Script {
    /// How long images take to pull, or `"fail"`.
    pub pull: Step,
    /// How long after its start the container becomes ready, or `"never"`.
    pub ready: Step,
    /// When and how the container ends; `"never"` keeps one running that would finish by itself.
    pub exit: Exit,
    /// How long it takes to stop when the Pod is deleted.
    pub stop: Step,
    /// Lines it writes when it starts.
    pub log: Vec<String>,
    /// What `exec` of a command, its words joined by blanks, answers.
    pub exec: BTreeMap<String, Reply>,
    /// A process of this machine to run as the container's main program, where that is allowed.
    pub process: Vec<String>,
    /// The container all this is about; the first if none is named.
    pub container: Option<String>,
}

/// Something that happens after a while, or does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// After this long.
    After(Duration),
    /// `"never"`, `"fail"`.
    Never,
}

impl Default for Step {
    fn default() -> Self {
        Self::After(Duration::ZERO)
    }
}

/// The end of a container.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Exit {
    /// As its restart policy suggests.
    #[default]
    Natural,
    /// It runs until it is stopped.
    Never,
    /// It ends with this code.
    With {
        /// The exit code.
        code: i32,
        /// How long after its start.
        after: Duration,
        /// How often it does so before it keeps running; always if none.
        times: Option<i32>,
    },
}

/// What a command answers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reply {
    /// What it prints.
    pub stdout: String,
    /// What it complains.
    pub stderr: String,
    /// Its exit code.
    pub code: i32,
}

impl Script {
    /// A Pod whose image cannot be pulled.
    pub fn pull_fails() -> Self {
        Self { pull: Step::Never, ..Self::default() }
    }

    /// A Pod that runs but never becomes ready.
    pub fn never_ready() -> Self {
        Self { ready: Step::Never, ..Self::default() }
    }

    /// A Pod whose container ends with this code right after it started.
    pub fn exits(code: i32) -> Self {
        Self { exit: Exit::With { code, after: Duration::ZERO, times: None }, ..Self::default() }
    }

    /// The script in a Pod's annotation; an error says what is wrong with it.
    pub(in super::super) fn of_annotation(pod: &Pod) -> Result<Option<Self>, String> {
        let Some(text) = pod.metadata.annotations.as_ref().and_then(|all| all.get(SCRIPT_ANNOTATION)) else {
            return Ok(None);
        };
        serde_json::from_str(text).map(Some).map_err(|error| {
            format!(
                "annotation {SCRIPT_ANNOTATION} cannot be read: {error}; an example: {{\"ready\": \"never\"}}"
            )
        })
    }
}

impl<'de> Deserialize<'de> for Step {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match text.as_str() {
            "never" | "fail" => Ok(Self::Never),
            text => duration(text).map(Self::After).map_err(serde::de::Error::custom),
        }
    }
}

impl<'de> Deserialize<'de> for Reply {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Text(String),
            Full(Full),
        }
        #[derive(Default, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        struct Full {
            stdout: String,
            stderr: String,
            code: i32,
        }
        Ok(match Form::deserialize(deserializer)? {
            Form::Text(stdout) => Self { stdout, ..Self::default() },
            Form::Full(Full { stdout, stderr, code }) => Self { stdout, stderr, code },
        })
    }
}

impl<'de> Deserialize<'de> for Exit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Word(String),
            With(With),
        }
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct With {
            code: i32,
            after: Option<String>,
            times: Option<i32>,
        }
        match Form::deserialize(deserializer)? {
            Form::Word(word) if word == "never" => Ok(Self::Never),
            Form::Word(word) => {
                Err(serde::de::Error::custom(format!("{word:?} is neither \"never\" nor {{\"code\": …}}")))
            }
            Form::With(With { code, after, times }) => {
                let after = after.as_deref().map(duration).transpose().map_err(serde::de::Error::custom)?;
                Ok(Self::With { code, after: after.unwrap_or_default(), times })
            }
        }
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    let parsed: SignedDuration =
        text.parse().map_err(|_| format!("{text:?} is no duration such as \"1s\" or \"500ms\""))?;
    Duration::try_from(parsed).map_err(|_| format!("{text:?} is negative"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(script: &str) -> Result<Option<Script>, String> {
        let pod = json!({ "metadata": { "annotations": { SCRIPT_ANNOTATION: script } } });
        Script::of_annotation(&serde_json::from_value(pod).unwrap())
    }

    #[test]
    fn an_annotation_tells_what_to_do() {
        let script = read(r#"{"pull":"fail","ready":"1500ms","exit":{"code":3,"after":"2s"},"log":["a"]}"#)
            .unwrap()
            .unwrap();
        assert_eq!(script.pull, Step::Never);
        assert_eq!(script.ready, Step::After(Duration::from_millis(1500)));
        assert_eq!(script.exit, Exit::With { code: 3, after: Duration::from_secs(2), times: None });
        assert_eq!(script.log, ["a"]);
        assert_eq!(read("{}").unwrap(), Some(Script::default()));
        assert_eq!(Script::of_annotation(&Pod::default()), Ok(None));
    }

    #[test]
    fn a_script_with_mistakes_says_which() {
        for (script, part) in [
            ("{", "EOF"),
            (r#"{"reddy":"1s"}"#, "reddy"),
            (r#"{"ready":"soon"}"#, "no duration"),
            (r#"{"exit":"later"}"#, "neither"),
        ] {
            let error = read(script).unwrap_err();
            assert!(error.contains(part) && error.contains(SCRIPT_ANNOTATION), "{error}");
        }
    }
}
