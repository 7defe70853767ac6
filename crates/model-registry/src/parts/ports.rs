//! Ports that somebody renumbered.
//!
//! Ports are told apart by number, and a name may occur once. Where somebody changed the number of ours, applying it again
//! would leave two of one name, which the API server refuses.

use quintet_kit::apply::ApplyError;

/// True if a child failed for that reason: its list of ports, or of containers, must then be written whole.
pub(crate) fn is_renumbered(error: &ApplyError) -> bool {
    matches!(error.kind(), Some("Service" | "Deployment")) && {
        let detail = error.detail();
        detail.contains("ports[") && detail.contains("Duplicate value")
    }
}
