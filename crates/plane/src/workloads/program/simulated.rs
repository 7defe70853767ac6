//! `exec` in a container behind which there is nothing: replies from its script, and a handful of commands that need no
//! files.

use tokio::io::{AsyncWriteExt, copy};

use super::super::pod::{Reply, SCRIPT_ANNOTATION, Script};
use super::Session;

/// The code of a command that is not there, as shells tell it.
const NOT_FOUND: i32 = 127;

/// Runs the session's command; its exit code.
pub(crate) async fn perform(script: Script, mut session: Session) -> i32 {
    let command = session.command.join(" ");
    if let Some(Reply { stdout, stderr, code }) = script.exec.get(&command) {
        let _ = session.stdout.write_all(stdout.as_bytes()).await;
        let _ = session.stderr.write_all(stderr.as_bytes()).await;
        return *code;
    }
    let (name, arguments) = session.command.split_first().map_or(("", &[][..]), |(name, rest)| (name, rest));
    match (name.rsplit('/').next().unwrap_or_default(), arguments) {
        ("true", _) => 0,
        ("false", _) => 1,
        ("echo", words) => {
            let line = words.join(" ") + "\n";
            let _ = session.stdout.write_all(line.as_bytes()).await;
            0
        }
        ("cat", []) => {
            let _ = copy(&mut session.stdin, &mut session.stdout).await;
            0
        }
        ("hostname", []) => {
            let line = session.pod.metadata.name.clone().unwrap_or_default() + "\n";
            let _ = session.stdout.write_all(line.as_bytes()).await;
            0
        }
        _ => {
            let told = format!(
                "{name}: this container is simulated and runs no programs; it knows cat, echo, false, hostname and \
                 true, and what its annotation teaches it: \
                 {SCRIPT_ANNOTATION}: '{{\"exec\": {{\"{command}\": \"what it prints\\n\"}}}}'\n"
            );
            let _ = session.stderr.write_all(told.as_bytes()).await;
            NOT_FOUND
        }
    }
}
