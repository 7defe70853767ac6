//! Every Pod puts up with a node that is not ready or not reachable for five minutes, unless it says otherwise.

use serde_json::{Value, json};

const TAINTS: [&str; 2] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];

/// Adds the two tolerations where the Pod has none that covers them.
pub(super) fn add(pod: &mut Value) {
    let Some(spec) = pod["spec"].as_object_mut() else { return };
    let tolerations = spec.entry("tolerations").or_insert_with(|| json!([]));
    if tolerations.is_null() {
        *tolerations = json!([]);
    }
    let Value::Array(tolerations) = tolerations else { return };
    for taint in TAINTS {
        let empty_or = |value: &Value, wanted: &str| {
            let text = value.as_str().unwrap_or_default();
            text.is_empty() || text == wanted
        };
        let covered = tolerations.iter().any(|toleration| {
            empty_or(&toleration["key"], taint) && empty_or(&toleration["effect"], "NoExecute")
        });
        if !covered {
            tolerations.push(json!({
                "key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300,
            }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_toleration_of_ones_own_is_left_alone() {
        let own =
            json!({"key": TAINTS[0], "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5});
        let mut pod = json!({"spec": {"tolerations": [own]}});
        add(&mut pod);
        assert_eq!(pod["spec"]["tolerations"][0]["tolerationSeconds"], 5);
        assert_eq!(pod["spec"]["tolerations"][1]["key"], TAINTS[1]);
        let before = pod.clone();
        add(&mut pod);
        assert_eq!(pod, before, "nor is it added twice");
        let mut tolerant = json!({"spec": {"tolerations": [{"operator": "Exists"}]}});
        add(&mut tolerant);
        assert_eq!(tolerant["spec"]["tolerations"].as_array().unwrap().len(), 1, "an empty key covers all");
    }
}
