//! The page `docs/rights.md`.

use super::NAMESPACE;
use crate::commands::install::{IMAGE, operators};
use crate::systems::Systems;
use anyhow::{Result, anyhow};
use quintet_kit::install::{Platform, Site};
use quintet_kit::rights::{compare, rights};
use std::fmt::Write;

const ABOUT: &str = "\
# Rights

What each system's manager may do: the verbs of the original's role, ours, and why they differ. Ours follow from the
wiring of the controllers (`quintet dataflow`); none is `*`, `escalate` or `bind`. A right on certain names only shows
them. Beside these each manager may take its one Lease, and ask who reads its metrics (TokenReview,
SubjectAccessReview); the original's may do anything with every Lease and ConfigMap of its namespace. Where no platform
makes the webhooks' certificates, a manager with webhooks (model-registry) may also make and keep one Secret of its own
namespace, and patch, by name, its webhook configurations and the definitions that it converts: that is where the API server
is told whom to trust. The original leaves that to cert-manager.

A test plays every scenario of a system under these rights, and fails where one of them was used by none (`rights.rs` beside
the scenarios). To give a right away, in a role or by a binding, is to use it. What no scenario can use is listed after each
table with its reason.

Made from the code: `UPDATE=1 cargo test --workspace --test deploy`.
";

/// The page, with a table per system.
pub fn page() -> Result<String> {
    let site = Site {
        namespace: NAMESPACE.into(),
        image: IMAGE.into(),
        platform: Platform::OpenShift,
        webhook_url: None,
    };
    let mut page = String::from(ABOUT);
    for (operator, rows) in operators(&Systems::to_install(NAMESPACE)?, &site)? {
        let table = compare(&rights(&rows), operator.original_rights, operator.reasons);
        let table = table.map_err(|missing| anyhow!("rights of {}: {missing}", operator.system))?;
        write!(page, "\n## {}\n\n{table}", operator.system)?;
        writeln!(page, "\nHeld though no scenario uses it:\n")?;
        for reserve in operator.reserves {
            let verbs = reserve.verbs.join(" ");
            writeln!(page, "- `{}` {verbs}: {}", reserve.resource, reserve.why)?;
        }
    }
    Ok(page)
}
