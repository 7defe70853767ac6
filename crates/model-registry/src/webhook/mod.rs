//! Admission and conversion, as pure functions on typed objects. The same run inside a reconcile, so that a cluster
//! without webhooks refuses the same and builds the same.
//!
//! | file | path | what |
//! |---|---|---|
//! | [`defaults`] | [`MUTATE`] | what is filled in, dropped and rewritten before an object is stored |
//! | [`validate`] | [`VALIDATE`] | what is refused, with the original's words |
//! | [`convert`] | [`CONVERT`] | from one version to the other |
//! | `serve` | all three | which of these answers, for which version |

mod convert;
mod defaults;
mod serve;
mod validate;

use quintet_kit::wiring::{FailurePolicy, HookType, WebhookRow};

pub use convert::convert;
pub(crate) use defaults::{default_spec, without_default_image, without_oauth_proxy};
pub use defaults::{default_v1alpha1, default_v1beta1};
pub(crate) use serve::serve;
pub(crate) use validate::sound;
pub use validate::{Invalid, Others, validate_create, validate_update};

/// Where objects are defaulted.
pub const MUTATE: &str = "/mutate-modelregistry-opendatahub-io-modelregistry";
/// Where objects are judged.
pub const VALIDATE: &str = "/validate-modelregistry-opendatahub-io-modelregistry";
/// Where versions are converted.
pub const CONVERT: &str = "/convert";

/// The webhooks as the dataflow page tells of them.
pub fn rows() -> Vec<WebhookRow> {
    let row = |name: &str, type_: HookType, path: &str| WebhookRow {
        name: name.into(),
        type_,
        path: path.into(),
        failure_policy: FailurePolicy::Fail,
    };
    vec![
        row("mmodelregistry.opendatahub.io", HookType::Mutating, MUTATE),
        row("vmodelregistry.opendatahub.io", HookType::Validating, VALIDATE),
        row("modelregistries.modelregistry.opendatahub.io", HookType::Conversion, CONVERT),
    ]
}
