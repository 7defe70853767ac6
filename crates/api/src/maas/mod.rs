//! Models-as-a-Service: group `maas.opendatahub.io`, version `v1alpha1`, a file per kind.
//!
//! `modelRef` here always means a `MaaSModelRef`; what such a reference points at (an `LLMInferenceService`, an
//! `ExternalModel`) is named by [`ModelBackendRef`].

mod auth_policy;
mod external_model;
mod model_ref;
mod status;
mod subscription;
mod tenant;

pub use auth_policy::{
    AuthPolicyStatus, MaaSAuthPolicy, MaaSAuthPolicySpec, MaaSAuthPolicyStatus, MeteringMetadata,
    ModelReference, Subjects,
};
pub use external_model::{
    CredentialReference, ExternalModel, ExternalModelPhase, ExternalModelSpec, ExternalModelStatus,
};
pub use model_ref::{
    MaaSModelRef, MaaSModelRefSpec, MaaSModelRefStatus, ModelBackendKind, ModelBackendRef, ModelPhase,
};
pub use status::{Phase, ResourceRefStatus, StatusReason};
pub use subscription::{
    BillingRate, GroupReference, MaaSSubscription, MaaSSubscriptionSpec, MaaSSubscriptionStatus,
    ModelSubscriptionRef, SubscriptionOwner, TokenMetadata, TokenRateLimit, TokenRateLimitStatus,
};

pub use tenant::{
    ApiKeys, ExternalOidc, GatewayReference, Telemetry, TelemetryMetrics, Tenant, TenantSpec, TenantStatus,
};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use crate::crd;

/// Definitions of this group.
pub fn crds() -> Vec<CustomResourceDefinition> {
    vec![
        crd::of::<ExternalModel>(),
        crd::of::<MaaSAuthPolicy>(),
        crd::of::<MaaSModelRef>(),
        crd::of::<MaaSSubscription>(),
        crd::of::<Tenant>(),
    ]
    .into_iter()
    .map(without_required_spec)
    .collect()
}

/// The originals store objects without a `spec`: what they act upon has to be looked for, not relied upon.
fn without_required_spec(mut crd: CustomResourceDefinition) -> CustomResourceDefinition {
    for version in &mut crd.spec.versions {
        if let Some(schema) = version.schema.as_mut().and_then(|s| s.open_api_v3_schema.as_mut()) {
            schema.required = None;
        }
    }
    crd
}

/// The API group of every kind in this module.
pub const GROUP: &str = "maas.opendatahub.io";

/// The annotations that give an object its name and text for people. Not part of any schema, but read by maas-api.
pub mod annotations {
    /// A name for people, of a model or of a subscription.
    pub const DISPLAY_NAME: &str = "openshift.io/display-name";
    /// A sentence for people, about a model or a subscription.
    pub const DESCRIPTION: &str = "openshift.io/description";
    /// What a model is good for (`chat`, `code`, …).
    pub const GENAI_USE_CASE: &str = "opendatahub.io/genai-use-case";
    /// How many tokens a model can look at.
    pub const CONTEXT_WINDOW: &str = "opendatahub.io/context-window";
}
