use super::*;

fn crd(schema: Value) -> Value {
    let mut crd = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]}});
    default(&mut crd);
    crd
}

fn texts(crd: &Value) -> Vec<String> {
    check(crd, None).iter().map(ToString::to_string).collect()
}

fn spec(properties: Value) -> Value {
    json!({"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}})
}

#[test]
fn defaults_are_filled_in() {
    let crd = crd(json!({"type": "object"}));
    assert_eq!(
        crd["spec"]["names"],
        json!({"plural": "widgets", "kind": "Widget", "singular": "widget", "listKind": "WidgetList"})
    );
    assert_eq!(crd["spec"]["conversion"], json!({"strategy": "None"}));
    assert_eq!(crd["status"]["storedVersions"], json!(["v1"]));
    assert_eq!(texts(&crd), Vec::<String>::new());
}

#[test]
fn schemas_are_refused_in_the_servers_words() {
    const P: &str = "spec.validation.openAPIV3Schema";
    let b = |inner: Value| spec(json!({"b": inner}));
    let at = |rest: &str| format!("{P}.properties[spec].properties[b]{rest}");
    let cases = [
        (json!({}), format!("{P}.type: Required value: must not be empty at the root")),
        (
            json!({"type": "string"}),
            format!("{P}.type: Invalid value: \"string\": must be object at the root"),
        ),
        (b(json!({})), at(".type: Required value: must not be empty for specified object fields")),
        (
            b(json!({"type": "array", "items": {}})),
            at(".items.type: Required value: must not be empty for specified array items"),
        ),
        (
            b(json!({"type": "foo"})),
            at(
                ".type: Unsupported value: \"foo\": supported values: \"array\", \"boolean\", \"integer\", \"number\", \"object\", \"string\"",
            ),
        ),
        (b(json!({"type": "array"})), at(".items: Required value: must be specified")),
        (
            b(json!({"type": "string", "anyOf": [{"type": "string"}]})),
            at(".anyOf[0].type: Forbidden: must be empty to be structural"),
        ),
        (
            b(json!({"type": "object", "oneOf": [{"properties": {"x": {"enum": [1]}}}]})),
            format!(
                "{}: Required value: because it is defined in {}",
                at(".properties[x]"),
                at(".oneOf[0].properties[x]")
            ),
        ),
        (
            b(json!({"type": "string", "default": 1})),
            at(".default: Invalid value: \"integer\":  in body must be of type string: \"integer\""),
        ),
        (
            b(json!({"type": "object", "default": {"z": 1}})),
            at(".default: Invalid value: {\"z\":1}: must not have unknown fields"),
        ),
        (
            b(json!({"type": "string", "pattern": "("})),
            at(
                ".pattern: Invalid value: \"(\": must be a valid regular expression, but isn't: error parsing regexp: missing closing ): `(`",
            ),
        ),
        (b(json!({"$ref": "#/x", "type": "string"})), at(".$ref: Forbidden: $ref is not supported")),
        (
            b(json!({"type": "array", "items": {"type": "string"}, "uniqueItems": true})),
            at(
                ".uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
            ),
        ),
        (
            b(
                json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "string"}}),
            ),
            at(".additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive"),
        ),
        (
            b(json!({"type": "object", "x-kubernetes-preserve-unknown-fields": false})),
            at(".x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined"),
        ),
        (
            b(json!({"type": "array", "x-kubernetes-list-type": "map", "items": {"type": "object"}})),
            at(
                ".x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map",
            ),
        ),
        (
            b(
                json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": {"type": "object", "properties": {"k": {"type": "string"}}}}),
            ),
            at(
                ".items.properties[k].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property",
            ),
        ),
        (
            b(json!({"x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true})),
            at(".type: Required value: must be object if x-kubernetes-embedded-resource is true"),
        ),
        (
            json!({"type": "object", "properties": {"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}}}),
            format!(
                "{P}.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified"
            ),
        ),
    ];
    for (schema, text) in cases {
        assert_eq!(texts(&crd(schema.clone())), [text], "{schema}");
    }
    for fine in [
        b(json!({"x-kubernetes-int-or-string": true})),
        b(
            json!({"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}], "pattern": "^a$"}),
        ),
        b(
            json!({"x-kubernetes-int-or-string": true, "allOf": [{"anyOf": [{"type": "integer"}, {"type": "string"}]}]}),
        ),
        b(json!({"x-kubernetes-preserve-unknown-fields": true})),
        b(json!({"type": "object", "additionalProperties": true, "properties": {"a": {"type": "string"}}})),
        json!({"type": "object", "properties": {"metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 5}}}}}),
    ] {
        assert_eq!(texts(&crd(fine.clone())), Vec::<String>::new(), "{fine}");
    }
}

#[test]
fn several_versions_have_paths_of_their_own() {
    let mut two = crd(json!({"type": "object"}));
    two["spec"]["versions"]
        .as_array_mut()
        .unwrap()
        .push(json!({"name": "v2", "served": true, "storage": false,
        "schema": {"openAPIV3Schema": {"type": "string"}}}));
    assert_eq!(
        texts(&two),
        [
            "spec.versions[1].schema.openAPIV3Schema.type: Invalid value: \"string\": must be object at the root"
        ]
    );
    two["spec"]["versions"][1].as_object_mut().unwrap().remove("schema");
    assert_eq!(texts(&two), ["spec.versions[1].schema.openAPIV3Schema: Required value"]);
}

#[test]
fn the_rest_of_a_crd_is_judged_too() {
    let with = |pointer: &str, value: Value| {
        let mut crd = crd(spec(json!({"a": {"type": "string"}, "o": {"type": "object"}})));
        *crd.pointer_mut(pointer).unwrap() = value;
        texts(&crd)
    };
    assert_eq!(
        with("/metadata/name", json!("x.bad.io")),
        ["metadata.name: Invalid value: \"x.bad.io\": must be spec.names.plural+\".\"+spec.group"]
    );
    assert!(with("/spec/group", json!("nodots")).contains(
        &"spec.group: Invalid value: \"nodots\": should be a domain with at least one dot".to_owned()
    ));
    assert_eq!(
        with("/spec/scope", json!("Foo")),
        ["spec.scope: Unsupported value: \"Foo\": supported values: \"Cluster\", \"Namespaced\""]
    );
    let version = |part: Value| {
        let mut version = json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": spec(json!({"a": {"type": "string"}, "o": {"type": "object"}}))}});
        version.as_object_mut().unwrap().extend(part.as_object().unwrap().clone());
        with("/spec/versions", json!([version]))
    };
    assert_eq!(
        version(json!({"additionalPrinterColumns": [{"name": "n", "type": "foo", "jsonPath": "x"}]})),
        [
            "spec.additionalPrinterColumns[0].type: Invalid value: \"foo\": must be one of boolean,date,integer,number,string",
            "spec.additionalPrinterColumns[0].JSONPath: Invalid value: \"x\": must be a simple json path starting with ."
        ]
    );
    assert_eq!(
        version(
            json!({"subresources": {"scale": {"specReplicasPath": ".foo", "statusReplicasPath": ".status.r"}}})
        ),
        [
            "spec.subresources.scale.specReplicasPath: Invalid value: \".foo\": should be a json path under .spec"
        ]
    );
    assert_eq!(
        version(json!({"selectableFields": [{"jsonPath": ".spec.zz"}, {"jsonPath": ".spec.a"}]})),
        [
            "spec.selectableFields[0].jsonPath: Invalid value: \".spec.zz\": is an invalid path: does not refer to a valid field"
        ]
    );
    assert_eq!(
        with("/spec/conversion", json!({"strategy": "Webhook"})),
        [
            "spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook",
            "spec.conversion.conversionReviewVersions: Required value"
        ]
    );
    assert_eq!(
        with("/status/storedVersions", json!(["v0", "v1"])),
        [
            "status.storedVersions[0]: Invalid value: \"v0\": missing from spec.versions; v0 was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in v0 and removes v0 from status.storedVersions"
        ]
    );
}
