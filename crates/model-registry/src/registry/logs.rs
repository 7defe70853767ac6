//! What a server that does not come up says in its log about its database.

use std::sync::LazyLock;

use k8s_openapi::api::core::v1::Pod;
use kube::{Api, Client, ResourceExt, api::LogParams};
use parking_lot::Mutex;
use regex::Regex;

/// A server says what is wrong near the beginning; nobody needs more of a log.
const LIMIT: i64 = 256 * 1024;
/// Logs that are remembered; more are read again.
const KEPT: usize = 256;

static CHECK_FAILED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"Check failed: absl::OkStatus\(\) == status \(OK vs. ([^)]+)\) (.*)")
        .expect("a fixed pattern")
});

/// What a log tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// A line that the server wants somebody to read.
    Alert(String),
    /// The database cannot be used: why.
    Database(String),
}

/// The first line of a log that tells something.
pub(super) fn scan(log: &str) -> Option<Finding> {
    log.lines().find_map(|line| {
        if line.contains("{{ALERT}}") {
            return Some(Finding::Alert(line.to_owned()));
        }
        CHECK_FAILED.captures(line).map(|found| Finding::Database(format!("{}: {}", &found[2], &found[1])))
    })
}

/// Reads logs, each once: that of a container is done when the container is.
pub(super) struct Logs {
    client: Client,
    read: Mutex<Vec<(Run, Option<Finding>)>>,
}

/// A run of a pod's container.
type Run = (Option<String>, i32);

impl Logs {
    pub(super) fn new(client: Client) -> Self {
        Logs { client, read: Mutex::default() }
    }

    /// What the log of a pod's container tells: of the run that waits, else of the one before it.
    pub(super) async fn of(&self, pod: &Pod, container: &str) -> Option<Finding> {
        let statuses = pod.status.iter().flat_map(|status| status.container_statuses.iter().flatten());
        let restarts = statuses.into_iter().find(|s| s.name == container).map_or(0, |s| s.restart_count);
        let run: Run = (pod.uid(), restarts);
        if let Some((_, finding)) = self.read.lock().iter().find(|(known, _)| *known == run) {
            return finding.clone();
        }
        let api: Api<Pod> = Api::namespaced(self.client.clone(), &pod.namespace().unwrap_or_default());
        let mut finding = None;
        for previous in [false, true] {
            let params = LogParams {
                container: Some(container.into()),
                limit_bytes: Some(LIMIT),
                previous,
                ..LogParams::default()
            };
            match api.logs(&pod.name_any(), &params).await {
                Ok(log) => finding = scan(&log),
                Err(error) => tracing::debug!(pod = pod.name_any(), previous, %error, "log not read"),
            }
            if finding.is_some() || restarts == 0 {
                break;
            }
        }
        let mut read = self.read.lock();
        if read.len() >= KEPT {
            read.remove(0);
        }
        read.push((run, finding.clone()));
        finding
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_telling_line_wins() {
        let failed = "E0101 Check failed: absl::OkStatus() == status (OK vs. INTERNAL: no host) mysql_real_connect failed";
        let finding = Finding::Database("mysql_real_connect failed: INTERNAL: no host".into());
        assert_eq!(scan(&format!("starting\n{failed}\n{{{{ALERT}}}} later")), Some(finding));
        assert_eq!(
            scan(&format!("x {{{{ALERT}}}} upgrade me\n{failed}")),
            Some(Finding::Alert("x {{ALERT}} upgrade me".into()))
        );
        assert_eq!(scan("all is well\n"), None);
    }
}
