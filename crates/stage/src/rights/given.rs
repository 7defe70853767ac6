//! Rights that are used by giving them away: the API server lets nobody give what they have not.

use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef};
use kube::{Api, Client};
use plane::Plane;
use quintet_kit::rights::Right;

use super::Use;

/// What the roles give that this user wrote, or bound somebody to.
pub(super) async fn given(plane: &Plane, user: &str) -> Vec<Use> {
    let admin = plane.client();
    let written = plane.requests().since(0).into_iter().filter(|request| {
        request.user == user && request.verb == "patch" && (200..300).contains(&request.code)
    });
    let mut uses = vec![];
    for request in written {
        let (name, place) = (request.name.as_str(), request.namespace.as_str());
        let rules = match request.resource.as_str() {
            "clusterroles" => rules_of(&admin, None, &role("ClusterRole", name)).await,
            "roles" => rules_of(&admin, Some(place), &role("Role", name)).await,
            "clusterrolebindings" => {
                let bindings: Api<ClusterRoleBinding> = Api::all(admin.clone());
                match bindings.get_opt(name).await.expect("an answer") {
                    Some(binding) => rules_of(&admin, None, &binding.role_ref).await,
                    None => vec![],
                }
            }
            "rolebindings" => {
                let bindings: Api<RoleBinding> = Api::namespaced(admin.clone(), place);
                match bindings.get_opt(name).await.expect("an answer") {
                    Some(binding) => rules_of(&admin, Some(place), &binding.role_ref).await,
                    None => vec![],
                }
            }
            _ => continue,
        };
        let namespace = Some(place).filter(|place| !place.is_empty());
        let rights = rules.iter().flat_map(|rule| Right::of(namespace, rule));
        uses.extend(rights.map(Use::by_giving));
    }
    uses
}

fn role(kind: &str, name: &str) -> RoleRef {
    RoleRef { kind: kind.into(), name: name.into(), ..RoleRef::default() }
}

async fn rules_of(admin: &Client, namespace: Option<&str>, role: &RoleRef) -> Vec<PolicyRule> {
    let rules = match (role.kind.as_str(), namespace) {
        ("Role", Some(namespace)) => {
            let roles: Api<Role> = Api::namespaced(admin.clone(), namespace);
            roles.get_opt(&role.name).await.expect("an answer").and_then(|role| role.rules)
        }
        _ => {
            let roles: Api<ClusterRole> = Api::all(admin.clone());
            roles.get_opt(&role.name).await.expect("an answer").and_then(|role| role.rules)
        }
    };
    rules.unwrap_or_default()
}
