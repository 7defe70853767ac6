//! The diagram.

use crate::wiring::{Edge, Origin, SystemRows};
use std::fmt::Write;

/// A sequence diagram of a system: what comes from the API server, and what goes back.
#[must_use]
pub fn mermaid(rows: &SystemRows) -> String {
    let mut out = String::from("sequenceDiagram\n    participant API as Kubernetes API\n");
    for controller in &rows.controllers {
        let _ = writeln!(out, "    participant {} as {}", id(&controller.controller), controller.controller);
    }
    for controller in &rows.controllers {
        let me = id(&controller.controller);
        for row in &controller.watches {
            let (arrow, how) =
                if row.edge == Edge::For { ("->>", "reconcile") } else { ("-->>", "informer") };
            let _ = writeln!(out, "    API{arrow}{me}: Watch {} ({how}{})", row.kind.kind, when(&row.when));
        }
        for row in controller.writes.iter().filter(|row| row.origin == Origin::Controller) {
            let what =
                if row.subresource.is_empty() { String::new() } else { format!(" {}", row.subresource) };
            let when =
                if row.when.is_empty() { String::new() } else { format!(" (if {})", plain(&row.when)) };
            let _ = writeln!(out, "    {me}->>API: {} {}{what}{when}", row.policy.name(), row.kind.kind);
        }
    }
    for row in &rows.services {
        let name = if row.port_name.is_empty() { String::new() } else { format!(" [{}]", row.port_name) };
        let _ = writeln!(out, "    Note over API: Service {}:{}{name}", plain(&row.name), row.port);
    }
    for kind in &rows.crds {
        let _ = writeln!(out, "    Note over API: CRD {} ({}/{})", kind.kind, kind.group, kind.version);
    }
    out
}

fn when(condition: &str) -> String {
    if condition.is_empty() { String::new() } else { format!(", if {}", plain(condition)) }
}

/// Names that Mermaid takes for an identifier.
fn id(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

/// Text without what would end a Mermaid statement.
fn plain(text: &str) -> String {
    text.replace([';', '#', '\n'], " ")
}
