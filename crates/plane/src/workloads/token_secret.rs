//! Secrets of type `kubernetes.io/service-account-token`: filled for the account they name, gone with it.

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{Secret, ServiceAccount};

use super::plan::Plan;

/// The type of such a Secret.
pub(super) const TYPE: &str = "kubernetes.io/service-account-token";
const ACCOUNT: &str = "kubernetes.io/service-account.name";
const ACCOUNT_UID: &str = "kubernetes.io/service-account.uid";

/// The name of the account that a Secret holds the token of; none if it is no such Secret.
pub(super) fn account(secret: &Secret) -> Option<&str> {
    let annotations =
        secret.metadata.annotations.as_ref().filter(|_| secret.type_.as_deref() == Some(TYPE))?;
    annotations.get(ACCOUNT).map(String::as_str)
}

/// Fills the Secret, or deletes it when its account is gone. `token` is asked for only if there is none yet.
pub(super) fn plan<E>(
    secret: &Secret,
    owner: Option<&ServiceAccount>,
    certificate: &str,
    token: impl FnOnce(&str) -> Result<String, E>,
) -> Result<Plan, E> {
    let mut plan = Plan::default();
    let known = secret.metadata.annotations.as_ref().and_then(|all| all.get(ACCOUNT_UID));
    let uid = owner.and_then(|owner| owner.metadata.uid.clone());
    let (Some(uid), true) = (&uid, known.is_none() || known == uid.as_ref()) else {
        plan.delete(secret);
        return Ok(plan);
    };
    let mut filled = secret.clone();
    filled.metadata.annotations.get_or_insert_default().insert(ACCOUNT_UID.into(), uid.clone());
    let data = filled.data.get_or_insert_default();
    data.insert("ca.crt".into(), ByteString(certificate.as_bytes().to_vec()));
    let namespace = secret.metadata.namespace.clone().unwrap_or_default();
    data.insert("namespace".into(), ByteString(namespace.into_bytes()));
    if !data.contains_key("token") {
        data.insert("token".into(), ByteString(token(uid)?.into_bytes()));
    }
    if filled != *secret {
        plan.update(&filled);
    }
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::plan::Write;
    use super::*;

    fn secret(uid: Option<&str>) -> Secret {
        let mut secret: Secret = serde_json::from_value(json!({
            "metadata": { "name": "tok", "namespace": "a", "annotations": { ACCOUNT: "bot" } }, "type": TYPE,
        }))
        .unwrap();
        if let Some(uid) = uid {
            secret.metadata.annotations.as_mut().unwrap().insert(ACCOUNT_UID.into(), uid.into());
        }
        secret
    }

    fn writes(secret: &Secret, owner: Option<&ServiceAccount>) -> Vec<Write> {
        plan(secret, owner, "PEM", |uid| Ok::<_, ()>(format!("token of {uid}"))).unwrap().writes
    }

    #[test]
    fn a_token_is_made_once_and_goes_with_its_account() {
        let owner: ServiceAccount =
            serde_json::from_value(json!({ "metadata": { "name": "bot", "uid": "u" } })).unwrap();
        let made = writes(&secret(None), Some(&owner));
        let [Write::Update(filled)] = made.as_slice() else { panic!("{made:?}") };
        let filled: Secret = serde_json::from_value(filled.clone()).unwrap();
        assert_eq!(filled.data.as_ref().unwrap()["token"].0, b"token of u");
        assert_eq!(filled.data.as_ref().unwrap()["namespace"].0, b"a");
        assert_eq!(writes(&filled, Some(&owner)), [], "filled once");
        assert!(matches!(writes(&filled, None)[..], [Write::Delete { .. }]), "the account is gone");
        assert!(
            matches!(writes(&secret(Some("other")), Some(&owner))[..], [Write::Delete { .. }]),
            "a namesake"
        );
    }
}
