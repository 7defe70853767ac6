//! What a labelled ConfigMap means to request processing.

use k8s_openapi::api::core::v1::ConfigMap;

use super::Reading;
use crate::stores::{BaseModel, Key};

/// `baseModel` and the YAML list `adapters`.
pub(super) fn read(key: &Key, map: &ConfigMap) -> Reading<BaseModel> {
    let field = |name: &str| map.data.as_ref().and_then(|data| data.get(name)).map(String::as_str);
    let Some(base) = field("baseModel").map(str::trim).filter(|base| !base.is_empty()) else {
        return Ok(None);
    };
    let adapters = match field("adapters").filter(|text| !text.trim().is_empty()) {
        Some(text) => serde_saphyr::from_str::<Vec<String>>(text)
            .map_err(|e| format!("ConfigMap {}/{}: adapters is not a list of names: {e}", key.0, key.1))?,
        None => vec![],
    };
    Ok(Some(BaseModel { base: base.into(), adapters }))
}
