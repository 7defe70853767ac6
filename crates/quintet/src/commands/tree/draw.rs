//! Drawing a tree with lines, verdicts and reasons.

use super::family::Node;
use crate::output::{Paint, Tone};

/// The tree as text, one object a line, reasons indented below it.
pub(super) fn draw(root: &Node, paint: Paint) -> String {
    let mut text = String::new();
    branch(root, "", "", paint, &mut text);
    if !root.unseen.is_empty() {
        let note = format!(
            "\nnot allowed to list {}: children of these kinds are not shown\n",
            root.unseen.join(", ")
        );
        text.push_str(&paint.tone(Tone::Quiet, &note));
    }
    text
}

fn branch(node: &Node, elbow: &str, indent: &str, paint: Paint, text: &mut String) {
    let place = node.namespace.as_deref().map(|n| format!("{n}/")).unwrap_or_default();
    let name = paint.tone(Tone::Strong, &format!("{} {place}{}", node.kind, node.name));
    let verdict = paint.tone(node.health.state.tone(), &node.health.summary);
    text.push_str(format!("{elbow}{name}  {verdict}").trim_end());
    text.push('\n');
    let bar = if node.children.is_empty() { "   " } else { "│  " };
    for line in node.health.why.iter().chain(&node.warnings) {
        text.push_str(&format!("{indent}{bar}{}\n", paint.tone(Tone::Quiet, &format!("· {line}"))));
    }
    let last = node.children.len().saturating_sub(1);
    for (index, child) in node.children.iter().enumerate() {
        let (elbow, below) = if index == last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        branch(child, &format!("{indent}{elbow}"), &format!("{indent}{below}"), paint, text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::tree::health;
    use serde_json::json;

    fn node(kind: &str, name: &str, status: serde_json::Value, children: Vec<Node>) -> Node {
        Node {
            api_version: "v1".into(),
            kind: kind.into(),
            namespace: Some("team".into()),
            name: name.into(),
            health: health(&json!({"kind": kind, "status": status})),
            warnings: vec![],
            children,
            unseen: vec![],
        }
    }

    #[test]
    fn lines_join_children_to_their_owner() {
        let pod = node(
            "Pod",
            "web-1",
            json!({"phase": "Pending", "containerStatuses": [
            {"name": "web", "state": {"waiting": {"reason": "ImagePullBackOff"}}}]}),
            vec![],
        );
        let set = node("ReplicaSet", "web", json!({}), vec![pod]);
        let service = node("Service", "web", json!({}), vec![]);
        let mut root = node("Deployment", "web", json!({"readyReplicas": 0}), vec![set, service]);
        root.warnings.push("FailedCreate: quota".into());
        root.unseen.push("secrets".into());
        let expected = "\
Deployment team/web  0/1 ready
│  · FailedCreate: quota
├─ ReplicaSet team/web  0/1 ready
│  └─ Pod team/web-1  Pending
│        · container web: ImagePullBackOff
└─ Service team/web

not allowed to list secrets: children of these kinds are not shown
";
        assert_eq!(draw(&root, Paint::plain()), expected);
    }
}
