//! What is installed works under its own account, holds the rights that the documentation lists, and goes without a trace.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use super::held::idle;
use super::inventory::inventory;
use super::site::{LEASE, NAMESPACE, REGISTRY_LEASE, Site, printed, ran};
use super::until;
use super::wanted::fulfilled;
use super::witness::{MLFLOW, forbidden};

fn smallest() -> Value {
    json!({"backendStoreUri": "postgresql://db-host:5432/mlflow", "defaultArtifactRoot": "s3://bucket/artifacts"})
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_installed_works_under_its_own_account_and_goes_without_a_trace() {
    let Some(mut site) = Site::installed("installing and uninstalling").await else { return };
    an_original_is_never_written_against(&mut site).await;
    let pods = site.pods().await;
    let config = site.config(&pods[0]);
    until("the MLflow is served", async || fulfilled(&site.admin, &config).await).await;
    metrics_are_for_those_who_may(&site).await;
    let events = site.cluster.audit().unwrap();
    MLFLOW.judge(&events).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(forbidden(&events), BTreeSet::new(), "every right that was needed was held");
    let idle = idle(&site, &["quintet-reviews", "quintet-mlflow-lease", "quintet-model-registry-lease"]);
    assert_eq!(idle, BTreeSet::new(), "rights that were not used");
    what_the_account_may_do_is_documented(&site).await;
    uninstalling_leaves_nothing(site).await;
}

/// Somebody else holds the lease, and renews it: nothing is written until it is gone.
async fn an_original_is_never_written_against(site: &mut Site) {
    let leases: Api<Lease> = Api::namespaced(site.admin.clone(), NAMESPACE);
    let held = |second: i32| {
        let lease = json!({"metadata": {"name": LEASE}, "spec": {"holderIdentity": "mlflow-operator-controller-manager-0_x",
            "leaseDurationSeconds": 4, "leaseTransitions": 0, "acquireTime": "2026-01-01T00:00:00.000000Z",
            "renewTime": format!("2026-01-01T00:00:{second:02}.000000Z")}});
        serde_json::from_value::<Lease>(lease).unwrap()
    };
    leases.create(&PostParams::default(), &held(0)).await.unwrap();
    site.create_mlflow(smallest()).await;
    let runtime = site.runtime(&["--lease-duration", "4"]);
    let pods = site.pods().await;
    for pod in &pods {
        site.start(&runtime, pod).await;
    }
    let mut last = Timestamp::now();
    for second in 1..=10 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        last = Timestamp::now();
        leases.patch(LEASE, &PatchParams::default(), &Patch::Merge(&held(second))).await.unwrap();
    }
    until("a replica takes over", async || {
        let leader = site.leader().await?;
        if pods.iter().any(|pod| pod.metadata.name.as_deref() == Some(&leader)) {
            Ok(())
        } else {
            Err(leader)
        }
    })
    .await;
    let events = site.cluster.audit().unwrap();
    MLFLOW.judge(&events).unwrap_or_else(|why| panic!("{why}"));
    let taken = events
        .iter()
        .find(|e| e.resource() == "leases" && e.is_write() && e.request_object["metadata"]["name"] == LEASE);
    let waited = taken.expect("a takeover").received().duration_since(last);
    println!("the lease was taken {waited:#} after its holder's last renewal");
    assert!(waited.as_secs() >= 3, "it was believed for its time, not {waited:#}");
}

/// Metrics are served over TLS to whose token the cluster lets read them.
async fn metrics_are_for_those_who_may(site: &Site) {
    let accounts: Api<ServiceAccount> = Api::namespaced(site.admin.clone(), "default");
    let mut tokens = vec![];
    for name in ["reader", "nobody"] {
        let account = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
        accounts.create(&PostParams::default(), &account).await.unwrap();
        let token =
            accounts.create_token_request(name, &PostParams::default(), &Default::default()).await.unwrap();
        tokens.push(token.status.unwrap().token.unwrap());
    }
    let binding = json!({"metadata": {"name": "reader"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "quintet-metrics-reader"},
        "subjects": [{"kind": "ServiceAccount", "name": "reader", "namespace": "default"}]});
    let binding: ClusterRoleBinding = serde_json::from_value(binding).unwrap();
    let bindings: Api<ClusterRoleBinding> = Api::all(site.admin.clone());
    bindings.create(&PostParams::default(), &binding).await.unwrap();
    // A refusal is believed for half a minute: nobody asks before the API server itself has heard of the binding.
    let may = ["auth", "can-i", "get", "/metrics", "--as", "system:serviceaccount:default:reader"];
    let config = site.cluster.kubeconfig().unwrap();
    until("the binding counts", async || {
        let said = ran(site.kubectl_with(&config).args(may), "");
        if said.status.success() { Ok(()) } else { Err("not yet".into()) }
    })
    .await;

    let replica = site.replicas.0.last().unwrap();
    let url = format!("https://{}/metrics", replica.address("Serving metrics server", true).await);
    let client = reqwest::Client::builder().tls_danger_accept_invalid_certs(true).build().unwrap();
    let asked = |token: &str| client.get(&url).bearer_auth(token).send();
    assert_eq!(client.get(&url).send().await.unwrap().status(), 401);
    assert_eq!(asked("forged").await.unwrap().status(), 401);
    assert_eq!(asked(&tokens[1]).await.unwrap().status(), 403);
    let read = asked(&tokens[0]).await.unwrap();
    assert_eq!(read.status(), 200);
    assert!(read.text().await.unwrap().contains("leader_election_master_status"));

    for name in ["reader", "nobody"] {
        accounts.delete(name, &Default::default()).await.unwrap();
    }
    bindings.delete("reader", &Default::default()).await.unwrap();
}

/// `kubectl auth can-i --list` of the account is what docs/rights.md says, the lease and the reviews that it names, and
/// what every account may.
async fn what_the_account_may_do_is_documented(site: &Site) {
    let page = include_str!("../../../../docs/rights.md");
    let everybody = can_i(site, "default:default", NAMESPACE);
    for (namespace, scopes) in [(NAMESPACE, &["cluster", "namespace"][..]), ("default", &["cluster"])] {
        let account = format!("{NAMESPACE}:quintet");
        let held: BTreeSet<_> = can_i(site, &account, namespace).difference(&everybody).cloned().collect();
        let mut documented = documented(page, scopes);
        documented.extend([right("tokenreviews.authentication.k8s.io", "", "create")]);
        documented.extend([right("subjectaccessreviews.authorization.k8s.io", "", "create")]);
        documented.extend(told_whom_to_trust(site));
        if namespace == NAMESPACE {
            documented.insert(right("leases.coordination.k8s.io", "", "create"));
            for lease in [LEASE, REGISTRY_LEASE] {
                documented
                    .extend(["get", "update"].map(|verb| right("leases.coordination.k8s.io", lease, verb)));
            }
            let secret = "quintet-webhook-certificates";
            documented.extend(["get", "update"].map(|verb| right("secrets", secret, verb)));
        }
        let more: Vec<_> = held.difference(&documented).collect();
        let less: Vec<_> = documented.difference(&held).collect();
        assert!(
            more.is_empty() && less.is_empty(),
            "in {namespace}: undocumented {more:#?}, not held {less:#?}"
        );
    }
}

/// The webhook configurations and the definitions that replicas write their certificates' authority into.
fn told_whom_to_trust(site: &Site) -> BTreeSet<Right> {
    let installed: Vec<Value> = serde_json::from_str(&site.quintet(&["install", "-o", "json"])).unwrap();
    let mut all = BTreeSet::new();
    for object in &installed {
        let resource = match object["kind"].as_str().unwrap() {
            "MutatingWebhookConfiguration" => "mutatingwebhookconfigurations.admissionregistration.k8s.io",
            "ValidatingWebhookConfiguration" => {
                "validatingwebhookconfigurations.admissionregistration.k8s.io"
            }
            "CustomResourceDefinition" if object["spec"]["conversion"]["strategy"] == "Webhook" => {
                "customresourcedefinitions.apiextensions.k8s.io"
            }
            _ => continue,
        };
        let name = object["metadata"]["name"].as_str().unwrap();
        all.extend(["get", "patch"].map(|verb| right(resource, name, verb)));
    }
    all
}

/// A resource, the one name it is limited to, and a verb.
type Right = (String, String, String);

fn right(resource: &str, name: &str, verb: &str) -> Right {
    (resource.into(), name.into(), verb.into())
}

/// What kubectl lists for an account, `namespace:name`.
fn can_i(site: &Site, account: &str, namespace: &str) -> BTreeSet<Right> {
    let config = site.cluster.kubeconfig().unwrap();
    let mut command = site.kubectl_with(&config);
    command.args(["auth", "can-i", "--list", "--no-headers", "-n", namespace]);
    command.arg("--as").arg(format!("system:serviceaccount:{account}"));
    let list = printed(&mut command, "");
    // resource [paths] [names] [verbs]
    let rows = list.lines().filter(|line| !line.starts_with(' '));
    rows.flat_map(|line| {
        let (resource, rest) = line.split_once(' ').expect("columns");
        let lists: Vec<Vec<&str>> = rest
            .split('[')
            .skip(1)
            .map(|list| list.split(']').next().unwrap_or_default().split_whitespace().collect())
            .collect();
        let names = if lists[1].is_empty() { vec![""] } else { lists[1].clone() };
        let verbs = lists[2].clone();
        let all = names
            .into_iter()
            .flat_map(move |name| verbs.clone().into_iter().map(move |verb| right(resource, name, verb)));
        all.collect::<Vec<_>>()
    })
    .collect()
}

/// The rights of all systems in these scopes, as the tables of the page list them.
fn documented(page: &str, scopes: &[&str]) -> BTreeSet<Right> {
    let rows =
        page.lines().filter(|line| line.starts_with("| cluster |") || line.starts_with("| namespace |"));
    let mut all = BTreeSet::new();
    for row in rows {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [_, scope, group, resource, _, ours, ..] = cells[..] else { panic!("{row}") };
        if !scopes.contains(&scope) {
            continue;
        }
        let (resource, names) = resource.split_once(" `").unwrap_or((resource, ""));
        let names: Vec<&str> = names.split(['`', ',', ' ']).filter(|name| !name.is_empty()).collect();
        let names = if names.is_empty() { vec![""] } else { names };
        // kubectl puts the group between a resource and its subresource.
        let resource = match (group, resource.split_once('/')) {
            ("core", _) => resource.to_owned(),
            (group, None) => format!("{resource}.{group}"),
            (group, Some((resource, sub))) => format!("{resource}.{group}/{sub}"),
        };
        for name in names {
            all.extend(ours.split_whitespace().map(|verb| right(&resource, name, verb)));
        }
    }
    all
}

/// As the documentation says, with the MLflow still there and the replicas at work.
async fn uninstalling_leaves_nothing(mut site: Site) {
    let manifests = site.quintet(&["install", "--delete"]);
    let deleted = tokio::task::spawn_blocking(move || {
        site.kubectl(&["delete", "--ignore-not-found", "--timeout=120s", "-f", "-"], &manifests);
        site
    });
    site = deleted.await.unwrap();
    site.replicas.0.iter().for_each(|replica| replica.terminate());
    let before = site.before.clone();
    until("nothing is left", async || {
        let after = inventory(&site.admin).await;
        let left: Vec<&String> = after.difference(&before).collect();
        let lost: Vec<&String> = before.difference(&after).collect();
        if left.is_empty() && lost.is_empty() {
            Ok(())
        } else {
            Err(format!("left {left:#?}, lost {lost:#?}"))
        }
    })
    .await;
}
