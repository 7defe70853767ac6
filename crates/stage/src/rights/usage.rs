//! What a right was used for.

use plane::Plane;
use quintet_harness::kube::audit::Event;
use quintet_kit::rights::Right;
use serde::{Deserialize, Serialize};

/// A request that a right let through.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
pub struct Use {
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete` or `deletecollection`.
    pub verb: String,
    /// API group; empty for the core.
    pub group: String,
    /// The plural, with `/` and the subresource if there is one.
    pub resource: String,
    /// Namespace; empty for what is everywhere.
    pub namespace: String,
    /// The object's name; empty for many.
    pub name: String,
}

impl Use {
    /// What this user asked of a plane and was let do.
    pub(super) fn of_plane(plane: &Plane, user: &str) -> Vec<Use> {
        let all = plane.requests().since(0);
        let allowed = all.into_iter().filter(|request| request.user == user && request.code != 403);
        allowed
            .flat_map(|request| {
                let resource = match request.subresource.as_str() {
                    "" => request.resource,
                    sub => format!("{}/{sub}", request.resource),
                };
                let one = Use {
                    verb: request.verb.into(),
                    group: request.group,
                    resource,
                    namespace: request.namespace,
                    name: request.name,
                };
                one.at_code(request.code)
            })
            .collect()
    }

    /// What a real server's audit log says was asked and let through.
    pub fn of_events(events: &[Event]) -> impl Iterator<Item = Use> {
        let allowed = events.iter().filter(|event| !event.was_forbidden() && event.code() != 403);
        allowed.flat_map(|event| {
            let one = Use {
                verb: event.verb.clone(),
                group: event.group().into(),
                resource: event.resource(),
                namespace: event.namespace().into(),
                name: event.name().into(),
            };
            one.at_code(event.code())
        })
    }

    /// What a request needed that was answered with this code: applying what is not there yet creates it, which is a right
    /// of its own.
    fn at_code(self, code: u16) -> Vec<Use> {
        let created =
            (self.verb == "patch" && code == 201).then(|| Use { verb: "create".into(), ..self.clone() });
        [Some(self), created].into_iter().flatten().collect()
    }

    /// What it takes to give a right away: the right itself.
    pub(super) fn by_giving(right: Right) -> Use {
        Use {
            verb: right.verb,
            group: right.group,
            resource: right.resource,
            namespace: right.namespace.unwrap_or_default(),
            name: right.name.unwrap_or_default(),
        }
    }

    /// Whether this right let it through.
    pub(super) fn needs(&self, right: &Right) -> bool {
        right.verb == self.verb
            && right.group == self.group
            && right.resource == self.resource
            && right.namespace.as_ref().is_none_or(|namespace| *namespace == self.namespace)
            && right.name.as_ref().is_none_or(|name| *name == self.name)
    }
}
