//! A session as a process of this machine.

use std::process::Stdio;

use k8s_openapi::api::core::v1::Pod;
use tokio::io::{AsyncWriteExt, copy};
use tokio::process::Command;

use super::Session;

/// The code of a command that could not be started, as shells tell it.
const NOT_FOUND: i32 = 127;
/// Added to the number of the signal that ended a process.
const SIGNALLED: i32 = 128;

/// Runs what the session asks for, or `main` if it asks for nothing, to its end.
pub(super) async fn run(main: Vec<String>, session: Session) -> i32 {
    let Session { pod, container, command, mut stdin, mut stdout, mut stderr, .. } = session;
    let command = if command.is_empty() { main } else { command };
    let Some((program, arguments)) = command.split_first() else { return NOT_FOUND };
    let started = Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
        .env("HOSTNAME", pod.metadata.name.as_deref().unwrap_or_default())
        .envs(environment(&pod, &container))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn();
    let mut child = match started {
        Ok(child) => child,
        Err(error) => {
            let _ = stderr.write_all(format!("{program}: {error}\n").as_bytes()).await;
            return NOT_FOUND;
        }
    };
    let (input, output, errors) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    // Input may stay open after the process has ended: it is not waited for.
    let feed = tokio::spawn(async move {
        if let Some(mut input) = input {
            let _ = copy(&mut stdin, &mut input).await;
        }
    });
    let print = async {
        if let Some(mut output) = output {
            let _ = copy(&mut output, &mut stdout).await;
        }
    };
    let complain = async {
        if let Some(mut errors) = errors {
            let _ = copy(&mut errors, &mut stderr).await;
        }
    };
    let (ended, (), ()) = tokio::join!(child.wait(), print, complain);
    feed.abort();
    ended.map_or(NOT_FOUND, |status| {
        use std::os::unix::process::ExitStatusExt;
        status.code().unwrap_or_else(|| SIGNALLED + status.signal().unwrap_or(0))
    })
}

/// The variables whose values stand in the container itself.
fn environment(pod: &Pod, container: &str) -> Vec<(String, String)> {
    let containers = pod.spec.as_ref().map(|spec| spec.containers.as_slice()).unwrap_or_default();
    let of = containers.iter().filter(|known| known.name == container);
    let variables = of.flat_map(|known| known.env.iter().flatten());
    variables.filter_map(|variable| Some((variable.name.clone(), variable.value.clone()?))).collect()
}
