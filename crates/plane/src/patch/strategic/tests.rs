use super::*;
use serde_json::json;

fn schema() -> Schema {
    Schema::parse(&json!({"type": "object", "properties": {
        "metadata": {"type": "object", "properties": {
            "finalizers": {"type": "array", "items": {"type": "string"}, "x-kubernetes-patch-strategy": "merge"}}},
        "args": {"type": "array", "items": {"type": "string"}},
        "strategy": {"type": "object", "x-kubernetes-patch-strategy": "retainKeys"},
        "selector": {"type": "object", "x-kubernetes-patch-strategy": "replace"},
        "c": {"type": "array", "x-kubernetes-patch-merge-key": "name", "x-kubernetes-patch-strategy": "merge",
              "items": {"type": "object", "properties": {"env": {"type": "array",
                  "x-kubernetes-patch-merge-key": "name", "x-kubernetes-patch-strategy": "merge",
                  "items": {"type": "object"}}}}},
    }}))
}

fn names(values: &[&str]) -> Value {
    values.iter().map(|name| json!({"name": name})).collect()
}

#[test]
fn the_directives_do_what_the_table_says() {
    let abc = json!({"c": names(&["a", "b", "c"])});
    let cases = [
        (
            "new items go in front",
            json!({"c": names(&["a", "b"])}),
            json!({"c": names(&["c", "a"])}),
            json!({"c": names(&["c", "a", "b"])}),
        ),
        (
            "element order",
            abc.clone(),
            json!({"$setElementOrder/c": names(&["b", "c", "a"])}),
            json!({"c": names(&["b", "c", "a"])}),
        ),
        (
            "order and change",
            abc.clone(),
            json!({"$setElementOrder/c": names(&["c", "a"]), "c": [{"name": "a", "x": 1}]}),
            json!({"c": [{"name": "b"}, {"name": "c"}, {"name": "a", "x": 1}]}),
        ),
        (
            "delete an item",
            abc.clone(),
            json!({"c": [{"name": "b", "$patch": "delete"}]}),
            json!({"c": names(&["a", "c"])}),
        ),
        (
            "delete an absent item",
            abc.clone(),
            json!({"c": [{"name": "z", "$patch": "delete"}]}),
            abc.clone(),
        ),
        (
            "replace a list",
            abc.clone(),
            json!({"c": [{"name": "z"}, {"$patch": "replace"}]}),
            json!({"c": names(&["z"])}),
        ),
        (
            "replace a map",
            json!({"strategy": {"a": 1, "b": 2}}),
            json!({"strategy": {"$patch": "replace", "c": 3}}),
            json!({"strategy": {"c": 3}}),
        ),
        ("replace an absent map", json!({}), json!({"strategy": {"$patch": "replace", "c": 3}}), json!({})),
        (
            "delete a map",
            json!({"strategy": {"a": 1}}),
            json!({"strategy": {"$patch": "delete"}}),
            json!({"strategy": {}}),
        ),
        (
            "retain keys",
            json!({"strategy": {"type": "A", "b": 2}}),
            json!({"strategy": {"$retainKeys": ["type"], "type": "B"}}),
            json!({"strategy": {"type": "B"}}),
        ),
        (
            "retain keys beside a deletion",
            json!({"strategy": {"type": "A", "b": 2}}),
            json!({"strategy": {"$retainKeys": ["type"], "type": "B", "b": null}}),
            json!({"strategy": {"type": "B"}}),
        ),
        (
            "primitive list",
            json!({"metadata": {"finalizers": ["y"]}}),
            json!({"metadata": {"finalizers": ["z"]}}),
            json!({"metadata": {"finalizers": ["z", "y"]}}),
        ),
        (
            "delete from primitive list",
            json!({"metadata": {"finalizers": ["x", "y"]}}),
            json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["x"]}}),
            json!({"metadata": {"finalizers": ["y"]}}),
        ),
        (
            "null removes all",
            json!({"metadata": {"finalizers": ["x"]}}),
            json!({"metadata": {"finalizers": null}}),
            json!({"metadata": {}}),
        ),
        (
            "list without strategy",
            json!({"args": ["a", "b"]}),
            json!({"args": ["c"]}),
            json!({"args": ["c"]}),
        ),
        (
            "object with replace strategy",
            json!({"selector": {"a": 1}}),
            json!({"selector": {"b": 2}}),
            json!({"selector": {"b": 2}}),
        ),
        (
            "plain map merges",
            json!({"other": {"a": 1}}),
            json!({"other": {"b": {"c": null}}}),
            json!({"other": {"a": 1, "b": {}}}),
        ),
        (
            "only the first of two equal keys changes",
            json!({"c": [{"name": "a", "v": 1}, {"name": "a", "v": 2}]}),
            json!({"c": [{"name": "a", "v": 9}]}),
            json!({"c": [{"name": "a", "v": 9}, {"name": "a", "v": 2}]}),
        ),
        (
            "nested merge lists",
            json!({"c": [{"name": "a", "env": [{"name": "X", "value": "1"}]}]}),
            json!({"c": [{"name": "a", "env": [{"name": "Y", "value": "2"}]}]}),
            json!({"c": [{"name": "a", "env": [{"name": "Y", "value": "2"}, {"name": "X", "value": "1"}]}]}),
        ),
        (
            "a new list carries no directives",
            json!({}),
            json!({"c": [{"name": "a"}, {"name": "b", "$patch": "delete"}]}),
            json!({"c": names(&["a"])}),
        ),
    ];
    for (what, live, patch, wanted) in cases {
        assert_eq!(apply(&schema(), &live, &patch), Ok(wanted), "{what}");
    }
}

#[test]
fn refusals_are_worded_as_by_the_server() {
    let live = json!({"c": names(&["a", "b"]), "m": {"z": "v"}, "strategy": {"type": "A"}});
    let cases = [
        (
            json!({"m": {"$patch": "merge", "z": "v"}}),
            "unknown patch type: merge in map: map[$patch:merge z:v]",
        ),
        (
            json!({"c": [{"name": "a", "$patch": "foo"}]}),
            "unknown patch type: foo in map: map[$patch:foo name:a]",
        ),
        (
            json!({"c": [{"name": "a", "$patch": "merge"}]}),
            "merging lists cannot yet be specified in the patch",
        ),
        (json!({"c": [{"image": "x"}]}), "map: map[image:x] does not contain declared merge key: name"),
        (json!({"strategy": {"$retainKeys": ["type"], "other": 1}}), "invalid patch format of retainKeys"),
        (
            json!({"$setElementOrder/c": [{"name": "b"}], "c": [{"name": "c", "image": "c2"}]}),
            "The order in patch list:\n[map[image:c2 name:c]]\n doesn't match $setElementOrder list:\n[map[name:b]]\n",
        ),
        (json!([]), "json: cannot unmarshal array into Go value of type map[string]interface {}"),
    ];
    for (patch, text) in cases {
        assert_eq!(apply(&schema(), &live, &patch).unwrap_err().to_string(), text);
    }
}
