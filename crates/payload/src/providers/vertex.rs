//! Vertex AI's OpenAI-compatible endpoint, which belongs to one project and location.

use serde::Deserialize;

use super::{Passthrough, Provider};

/// Where the project's endpoint is.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct VertexOpenAi {
    /// The Google Cloud project.
    pub project: String,
    /// The region, such as `us-central1`.
    pub location: String,
    /// The endpoint's id; `openapi` for the shared one.
    pub endpoint: String,
}

/// The translator for `vertex-openai`.
pub fn provider(config: &VertexOpenAi) -> Result<Provider, String> {
    let VertexOpenAi { project, location, endpoint } = config;
    if project.is_empty() || location.is_empty() || endpoint.is_empty() {
        return Err("vertexOpenAI config requires non-empty project, location, and endpoint".into());
    }
    Ok(Provider::Passthrough(Passthrough {
        path: format!("/v1/projects/{project}/locations/{location}/endpoints/{endpoint}/chat/completions"),
        sets_content_type: true,
        requires_messages: true,
        strip: &["usage.extra_properties"],
    }))
}
