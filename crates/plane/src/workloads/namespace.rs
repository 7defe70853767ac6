//! What every namespace has: the ServiceAccount `default` and the ConfigMap with the server's certificate authority.

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, ServiceAccount};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::plan::Plan;

/// The ConfigMap's name.
pub(super) const ROOT_CA: &str = "kube-root-ca.crt";
/// The ServiceAccount's name.
pub(super) const DEFAULT_ACCOUNT: &str = "default";

const DESCRIPTION: &str = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.";

/// Makes what is missing and puts back what was changed.
pub(super) fn plan(
    namespace: &Namespace,
    account: Option<&ServiceAccount>,
    root: Option<&ConfigMap>,
    certificate: &str,
) -> Plan {
    let mut plan = Plan::default();
    if namespace.metadata.deletion_timestamp.is_some() {
        return plan;
    }
    let meta = |name: &str| ObjectMeta {
        name: Some(name.into()),
        namespace: namespace.metadata.name.clone(),
        ..ObjectMeta::default()
    };
    if account.is_none() {
        plan.create(&ServiceAccount { metadata: meta(DEFAULT_ACCOUNT), ..ServiceAccount::default() });
    }
    let data = Some([("ca.crt".to_owned(), certificate.to_owned())].into());
    match root {
        None => {
            let annotations = Some([("kubernetes.io/description".to_owned(), DESCRIPTION.to_owned())].into());
            let metadata = ObjectMeta { annotations, ..meta(ROOT_CA) };
            plan.create(&ConfigMap { metadata, data, ..ConfigMap::default() });
        }
        Some(known) if known.data != data => plan.update(&ConfigMap { data, ..known.clone() }),
        Some(_) => {}
    }
    plan
}

#[cfg(test)]
mod tests {
    use super::super::plan::Write;
    use super::*;

    #[test]
    fn both_are_made_once_and_put_back() {
        let namespace = Namespace {
            metadata: ObjectMeta { name: Some("a".into()), ..ObjectMeta::default() },
            ..Namespace::default()
        };
        let made = plan(&namespace, None, None, "PEM").writes;
        let [Write::Create(account), Write::Create(root)] = made.as_slice() else { panic!("{made:?}") };
        assert_eq!(
            (&account["kind"], &account["metadata"]["namespace"]),
            (&"ServiceAccount".into(), &"a".into())
        );
        assert_eq!(root["data"]["ca.crt"], "PEM");
        let root: ConfigMap = serde_json::from_value(root.clone()).unwrap();
        let account = ServiceAccount::default();
        assert_eq!(plan(&namespace, Some(&account), Some(&root), "PEM"), Plan::default());
        assert!(matches!(
            plan(&namespace, Some(&account), Some(&root), "NEW").writes[..],
            [Write::Update(_)]
        ));
    }
}
