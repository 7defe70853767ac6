//! Drawing a tree with lines, verdicts and reasons.

use super::family::Node;
use super::health::State;
use crate::output::{Paint, Tone};

/// The tree as text, one object a line, reasons indented below it.
pub(super) fn draw(root: &Node, paint: Paint) -> String {
    let mut text = String::new();
    branch(root, "", "", paint, &mut text);
    let causes = causes(root);
    if !causes.is_empty() && !root.children.is_empty() {
        text.push_str(&format!(
            "\n{}\n",
            paint.tone(Tone::Strong, &format!("{} is not ready because", root.name))
        ));
        causes.iter().for_each(|cause| text.push_str(&format!("  {cause}\n")));
    }
    if !root.unseen.is_empty() {
        let note = format!(
            "\nnot allowed to list {}: children of these kinds are not shown\n",
            root.unseen.join(", ")
        );
        text.push_str(&paint.tone(Tone::Quiet, &note));
    }
    text
}

/// What lies at the bottom of it: the reasons of objects that are not ready though everything below them is. What several
/// have in common is said once.
pub(super) fn causes(node: &Node) -> Vec<String> {
    let mut grouped: Vec<(&str, Vec<String>)> = vec![];
    for (who, why) in reasons(node) {
        match grouped.iter_mut().find(|(other, _)| *other == why) {
            Some((_, whose)) => whose.push(who),
            None => grouped.push((why, vec![who])),
        }
    }
    let told = grouped.into_iter().map(|(why, whose)| match whose.len() {
        1 => format!("{}: {why}", whose[0]),
        count => format!("{} and {} more: {why}", whose[0], count - 1),
    });
    told.collect()
}

/// Who is at the bottom, and why it is not ready.
fn reasons(node: &Node) -> Vec<(String, &str)> {
    if !matches!(node.health.state, State::Waiting | State::Failed) {
        return vec![];
    }
    let below: Vec<_> = node.children.iter().flat_map(reasons).collect();
    if !below.is_empty() {
        return below;
    }
    let reason = node.health.why.first().or(node.warnings.first());
    reason.map(|reason| (title(node), reason.as_str())).into_iter().collect()
}

fn title(node: &Node) -> String {
    let place = node.namespace.as_deref().map(|n| format!("{n}/")).unwrap_or_default();
    format!("{} {place}{}", node.kind, node.name)
}

fn branch(node: &Node, elbow: &str, indent: &str, paint: Paint, text: &mut String) {
    let name = paint.tone(Tone::Strong, &title(node));
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
    use std::collections::BTreeSet;

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
            named: BTreeSet::new(),
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

web is not ready because
  Pod team/web-1: container web: ImagePullBackOff

not allowed to list secrets: children of these kinds are not shown
";
        assert_eq!(draw(&root, Paint::plain()), expected);
    }

    #[test]
    fn what_pods_have_in_common_is_said_once() {
        let pod = |name| {
            let waiting = json!({"name": "web", "state": {"waiting": {"reason": "ImagePullBackOff"}}});
            node("Pod", name, json!({"phase": "Pending", "containerStatuses": [waiting]}), vec![])
        };
        let root = node("ReplicaSet", "web", json!({}), vec![pod("a"), pod("b"), pod("c")]);
        assert_eq!(causes(&root), ["Pod team/a and 2 more: container web: ImagePullBackOff"]);
    }
}
