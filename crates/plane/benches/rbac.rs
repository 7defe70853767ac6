//! The cost of one authorised request in RBAC: small roles, many bindings, the decision every request pays for.

use criterion::{Criterion, criterion_group, criterion_main};
use plane::hooks::User;
use plane::rbac::{Attributes, Policy, Target, bootstrap_objects};
use serde_json::json;
use std::hint::black_box;

/// The bootstrap roles, and `count` namespaces with a role and a binding each.
fn policy(count: usize) -> Policy {
    let mut policy = Policy::default();
    for object in bootstrap_objects() {
        let resource = if object["kind"] == "ClusterRole" { "clusterroles" } else { "clusterrolebindings" };
        policy.upsert(resource, &object);
    }
    for number in 0..count {
        let meta = json!({ "namespace": format!("ns{number}"), "name": "operator" });
        let rule = json!({ "apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get", "list", "watch", "patch"] });
        policy.upsert("roles", &json!({ "metadata": meta, "rules": [rule] }));
        let subject =
            json!({ "kind": "ServiceAccount", "namespace": format!("ns{number}"), "name": "operator" });
        let role = json!({ "kind": "Role", "name": "operator" });
        policy.upsert("rolebindings", &json!({ "metadata": meta, "roleRef": role, "subjects": [subject] }));
    }
    policy
}

fn decisions(criterion: &mut Criterion) {
    for count in [10, 10_000] {
        let policy = policy(count);
        let user = User::service_account("ns7", "operator");
        let deployments = |verb| Attributes {
            user: &user,
            verb,
            target: Target::Resource {
                group: "apps",
                resource: "deployments",
                subresource: "",
                namespace: "ns7",
                name: "web",
            },
        };
        let mut group = criterion.benchmark_group(format!("rbac/{count}-bindings"));
        group.bench_function("allowed", |b| {
            b.iter(|| assert!(policy.allows(black_box(&deployments("patch")))))
        });
        group.bench_function("refused", |b| {
            b.iter(|| assert!(!policy.allows(black_box(&deployments("delete")))))
        });
        group.finish();
    }
}

criterion_group!(benches, decisions);
criterion_main!(benches);
