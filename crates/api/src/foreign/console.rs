//! OpenShift's console: `console.openshift.io/v1`.

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

/// A link in the console.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[kube(group = "console.openshift.io", version = "v1", kind = "ConsoleLink")]
#[serde(rename_all = "camelCase")]
pub struct ConsoleLinkSpec {
    /// What is shown.
    pub text: String,
    /// Where it leads.
    pub href: String,
    /// Which menu it is in.
    pub location: String,
    /// Section and icon, for a link in the application menu.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub application_menu: Option<ApplicationMenu>,
}

/// Place and look of a link in the application menu.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
pub struct ApplicationMenu {
    /// The section's title.
    pub section: String,
    /// The icon, as a URL.
    #[serde(rename = "imageURL")]
    pub image_url: String,
}
