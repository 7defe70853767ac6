//! Under which conditions manifests, their fields and elements of lists in them are there.

use anyhow::{Result, anyhow};
use serde_json::Value;

use super::text;

/// An object, and the conditions under which it is wanted (none: always).
#[derive(Clone, Debug)]
pub(super) struct Guarded {
    pub(super) object: Value,
    pub(super) conditions: Vec<String>,
}

/// An object of two variants: `yes` is wanted if a condition holds, `no` if it does not. What they have alike is there
/// once, and fields that differ are marked.
pub(super) fn either(condition: &str, mut yes: Vec<Guarded>, mut no: Vec<Guarded>) -> Vec<Guarded> {
    if let ([yes], [no]) = (yes.as_slice(), no.as_slice())
        && yes.conditions == no.conditions
    {
        let object = fields_of_either(condition, &yes.object, &no.object);
        return vec![Guarded { object, conditions: yes.conditions.clone() }];
    }
    yes.iter_mut().for_each(|one| one.conditions.insert(0, condition.to_owned()));
    no.iter_mut().for_each(|one| one.conditions.insert(0, format!("not ({condition})")));
    yes.into_iter().chain(no).collect()
}

fn fields_of_either(condition: &str, yes: &Value, no: &Value) -> Value {
    let (Some(in_yes), Some(in_no)) = (yes.as_object(), no.as_object()) else { return yes.clone() };
    let otherwise = format!("not ({condition})");
    let is_in_both = |name: &str| match (&yes[name], &no[name]) {
        (Value::Object(_), Value::Object(_)) => true,
        (yes, no) => yes == no,
    };
    let all = in_yes.iter().map(|(name, field)| match is_in_both(name) {
        true => (name.clone(), fields_of_either(condition, field, &no[name])),
        false => (text::if_key(name, condition), field.clone()),
    });
    let rest = in_no.iter().filter(|(name, _)| !is_in_both(name));
    let rest = rest.map(|(name, field)| (text::if_key(name, &otherwise), field.clone()));
    Value::Object(all.chain(rest).collect())
}

/// The objects of all systems together, each with the condition under which it is wanted (none: always). Fields and
/// elements of lists that only some systems bring are marked, and [`text::manifest`] turns the marks into conditions.
///
/// `made` gives the objects of some of the systems.
pub(super) fn by_system(
    systems: &[&str],
    made: &dyn Fn(&[usize]) -> Result<Vec<Value>>,
) -> Result<Vec<Guarded>> {
    let all: Vec<usize> = (0..systems.len()).collect();
    let alone: Vec<Vec<Value>> = all.iter().map(|one| made(&[*one])).collect::<Result<_>>()?;
    let always = made(&[])?;
    let mut objects = vec![];
    for object in made(&all)? {
        let name = identity(&object);
        let same = |other: &&Value| identity(other) == name;
        let holders: Vec<(&str, &Value)> = systems
            .iter()
            .zip(&alone)
            .filter_map(|(system, objects)| Some((*system, objects.iter().find(same)?)))
            .collect();
        let merged = merge(&object, &holders).map_err(|at| {
            anyhow!("the chart cannot express how {name} differs between systems{at}: put it into a list, or an object of its own")
        })?;
        let everywhere = always.iter().any(|other| same(&other)) || holders.len() == systems.len();
        let conditions =
            if everywhere { vec![] } else { vec![text::any(holders.iter().map(|(system, _)| *system))] };
        objects.push(Guarded { object: merged, conditions });
    }
    Ok(objects)
}

/// Kind, namespace and name.
pub(super) fn identity(object: &Value) -> String {
    let meta = &object["metadata"];
    format!("{} {} {}", object["kind"], meta["namespace"], meta["name"])
}

/// The object of all systems, with marks where those of single systems lack an element. The error is where they differ
/// in another way.
fn merge(all: &Value, alone: &[(&str, &Value)]) -> Result<Value, String> {
    if alone.iter().all(|(_, one)| *one == all) {
        return Ok(all.clone());
    }
    match all {
        Value::Object(fields) => {
            let merged = fields.iter().map(|(name, field)| {
                let holders: Vec<_> =
                    alone.iter().filter_map(|(system, one)| Some((*system, one.get(name)?))).collect();
                let key = match holders.len() {
                    0 => return Err(format!(".{name}")),
                    count if count == alone.len() => name.clone(),
                    _ => text::if_key(name, &text::any(holders.iter().map(|(system, _)| *system))),
                };
                Ok((key, merge(field, &holders).map_err(|at| format!(".{name}{at}"))?))
            });
            Ok(Value::Object(merged.collect::<Result<_, String>>()?))
        }
        Value::Array(elements) => {
            let mut merged = vec![];
            let mut open = String::new();
            for element in elements {
                let has = |one: &Value| one.as_array().is_some_and(|list| list.contains(element));
                let holders: Vec<&str> =
                    alone.iter().filter(|(_, one)| has(one)).map(|(system, _)| *system).collect();
                let condition = match holders.len() {
                    0 if elements.len() == 1 => {
                        // The same element, with differences inside.
                        let inner: Option<Vec<_>> =
                            alone.iter().map(|(system, one)| Some((*system, one.get(0)?))).collect();
                        merged.push(merge(element, &inner.ok_or("[0]")?).map_err(|at| format!("[0]{at}"))?);
                        continue;
                    }
                    0 => return Err("[]".into()),
                    count if count == alone.len() => String::new(),
                    _ => text::any(holders.into_iter()),
                };
                if condition != open {
                    merged.extend((!open.is_empty()).then(text::end_mark));
                    merged.extend((!condition.is_empty()).then(|| text::if_mark(&condition)));
                    open = condition;
                }
                merged.push(element.clone());
            }
            merged.extend((!open.is_empty()).then(text::end_mark));
            Ok(Value::Array(merged))
        }
        _ => Err(String::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn made(subset: &[usize]) -> Result<Vec<Value>> {
        let env: Vec<Value> = subset.iter().map(|one| json!(format!("of {one}"))).collect();
        let mut objects = vec![json!({"kind": "One", "metadata": {"name": "n"}, "env": env})];
        objects
            .extend(subset.iter().map(|one| json!({"kind": "Own", "metadata": {"name": one.to_string()}})));
        Ok(objects)
    }

    #[test]
    fn what_one_system_brings_is_there_with_it_only() {
        let objects = by_system(&["a", "b"], &made).unwrap();
        let conditions: Vec<String> = objects.iter().map(|one| one.conditions.concat()).collect();
        assert_eq!(conditions, ["", "has `a` .Values.operators", "has `b` .Values.operators"]);
        let env = [text::if_mark("has `a` .Values.operators"), "of 0".into(), text::end_mark()];
        assert_eq!(objects[0].object["env"].as_array().unwrap()[..3], env);
    }

    #[test]
    fn a_field_that_one_system_brings_is_there_with_it_only() {
        let made = |subset: &[usize]| {
            let mut object = json!({"kind": "One", "metadata": {"name": "n"}});
            if subset.contains(&1) {
                object["ports"] = json!([9443]);
            }
            Ok(vec![object])
        };
        let objects = by_system(&["a", "b"], &made).unwrap();
        let text = text::manifest(objects[0].object.clone()).unwrap();
        let guarded = "{{- if has `b` .Values.operators }}\nports:\n- 9443\n{{- end }}\n";
        assert!(text.contains(guarded), "{text}");
    }

    #[test]
    fn what_two_variants_have_alike_is_there_once() {
        let of = |object: Value| vec![Guarded { object, conditions: vec![] }];
        let yes =
            json!({"kind": "One", "spec": {"same": 1, "conversion": {"strategy": "Webhook"}}, "only": 1});
        let no = json!({"kind": "One", "spec": {"same": 1, "conversion": {"strategy": "None"}}});
        let merged = either("c", of(yes.clone()), of(no));
        let text = text::manifest(merged[0].object.clone()).unwrap();
        assert_eq!((merged.len(), text.matches("same: 1").count()), (1, 1), "{text}");
        assert!(text.contains("{{- if c }}\nonly: 1\n{{- end }}\n"), "{text}");
        assert!(text.contains("{{- if not (c) }}\n    strategy: None\n{{- end }}\n"), "{text}");
        assert_eq!(either("c", of(yes), vec![])[0].conditions, ["c"]);
    }

    #[test]
    fn a_difference_that_no_list_holds_is_an_error() {
        let made = |subset: &[usize]| {
            Ok(vec![json!({"kind": "One", "metadata": {"name": "n"}, "spec": {"count": subset.len()}})])
        };
        let error = by_system(&["a", "b"], &made).unwrap_err().to_string();
        assert!(error.contains("systems.spec.count"), "{error}");
    }
}
