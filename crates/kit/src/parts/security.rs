//! Security contexts that satisfy the "restricted" Pod Security Standard, for pods whose users asked for nothing else.

use k8s_openapi::api::core::v1::{Capabilities, PodSecurityContext, SeccompProfile, SecurityContext};

/// A pod that does not run as root and has the runtime's system call filter.
#[must_use]
pub fn pod() -> PodSecurityContext {
    PodSecurityContext {
        run_as_non_root: Some(true),
        seccomp_profile: Some(SeccompProfile { type_: "RuntimeDefault".into(), localhost_profile: None }),
        ..PodSecurityContext::default()
    }
}

/// A container without privileges whose root file system cannot be written.
#[must_use]
pub fn container() -> SecurityContext {
    SecurityContext {
        allow_privilege_escalation: Some(false),
        capabilities: Some(Capabilities { drop: Some(vec!["ALL".into()]), add: None }),
        read_only_root_filesystem: Some(true),
        ..SecurityContext::default()
    }
}
