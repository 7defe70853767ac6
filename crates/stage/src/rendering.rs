//! `quintet render` equals what the controller applies.

use kube::api::DynamicObject;
use quintet_kit::{
    System, WritePolicy,
    run::{Observed, RenderError},
};
use serde_json::Value;

use crate::objects::{difference, holds, id};

/// Renders a stored resource with all else that is stored, and compares that with what is stored:
///
/// - What is rendered is there as rendered, whatever the server or others added; of what is only created, that it is
///   there. What `may_differ` (a child that the API refused) is not looked at.
/// - Of `owned`, nothing is there that is not rendered, unless it `stays` by design.
///
/// # Errors
/// What cannot be rendered gives its message: the status must tell the same.
///
/// # Panics
/// If something differs.
pub fn compare(
    system: &dyn System,
    resource: &DynamicObject,
    stored: Vec<DynamicObject>,
    owned: impl IntoIterator<Item = String>,
    may_differ: impl Fn(&str) -> bool,
    stays: impl Fn(&str) -> bool,
) -> Result<(), String> {
    let values: Vec<Value> =
        stored.iter().map(|object| serde_json::to_value(object).expect("an object")).collect();
    let desired = match system.render(resource, &Observed::new(stored)) {
        Ok(desired) => desired,
        Err(RenderError::Refused { message, .. }) => return Err(message),
        Err(error) => panic!("{error}"),
    };
    let mut wanted = vec![];
    for child in desired.children() {
        let value = child.to_value();
        let id = id(&value);
        wanted.push(id.clone());
        if may_differ(&id) {
            continue;
        }
        let live = find(&values, &value).unwrap_or_else(|| panic!("{id} is rendered and not there"));
        assert!(
            *child.write_policy() == WritePolicy::CreateOnly || holds(live, &value),
            "{id} is not as rendered:\n{}",
            difference(&[(id.clone(), value)].into(), &[(id.clone(), live.clone())].into())
        );
    }
    for id in owned {
        assert!(stays(&id) || wanted.contains(&id), "{id} is there and not rendered");
    }
    Ok(())
}

fn find<'v>(stored: &'v [Value], wanted: &Value) -> Option<&'v Value> {
    stored.iter().find(|live| {
        let same = |field: &str| live["metadata"].get(field) == wanted["metadata"].get(field);
        live["kind"] == wanted["kind"] && same("name") && same("namespace")
    })
}
