use super::*;
use crate::schema::{Schema, validate as validate_object};
use serde_json::{Value, json};

fn texts(schema: Value, new: Value, old: Option<Value>) -> Vec<String> {
    let schema = Schema::compile(&schema);
    validate_object(&schema, &new, old.as_ref()).errors.iter().map(ToString::to_string).collect()
}

fn with_rule(rule: Value) -> Value {
    json!({"type": "object", "properties": {"spec": {"type": "object", "x-kubernetes-validations": [rule], "properties": {
        "n": {"type": "integer"}, "text": {"type": "string", "maxLength": 100}, "count": {"type": "integer"},
        "list": {"type": "array", "maxItems": 20, "items": {"type": "string", "maxLength": 20}},
        "map": {"type": "object", "maxProperties": 10, "additionalProperties": {"type": "string", "maxLength": 30}},
        "ios": {"x-kubernetes-int-or-string": true},
        "when": {"type": "string", "format": "date-time"}, "long": {"type": "string", "format": "duration"},
        "foo-bar": {"type": "string", "maxLength": 9}, "namespace": {"type": "string", "maxLength": 9}, "d": {"type": "number"},
        "set": {"type": "array", "maxItems": 9, "x-kubernetes-list-type": "set", "items": {"type": "string", "maxLength": 9}},
    }}}})
}

#[test]
fn expressions_evaluate_as_they_should() {
    let object = json!({"spec": {"n": 3, "text": "hello", "list": ["a", "b", "c"], "map": {"k": "v", "l": "w"}, "ios": "50%",
        "when": "2026-11-15T20:10:09Z", "long": "1h30m", "foo-bar": "x", "namespace": "ns", "d": 1.5, "set": ["x", "y"]}});
    for rule in [
        "self.n == 3 && self.n + 1 > 3 && self.n % 2 == 1 && -self.n == -3",
        "self.text.startsWith('he') && self.text.matches('^h.*o$') && self.text.size() == 5 && size(self.text) == 5",
        "self.list.all(x, x.size() == 1) && self.list.exists(x, x == 'b') && self.list.exists_one(x, x == 'c')",
        "self.list.map(x, x + '!') == ['a!', 'b!', 'c!'] && self.list.filter(x, x != 'b') == ['a', 'c']",
        "'a' in self.list && !('z' in self.list) && self.list[0] == 'a' && self.list.indexOf('c') == 2",
        "self.map.all(k, self.map[k].size() == 1) && 'k' in self.map && self.map['k'] == 'v' && self.map.k == 'v'",
        "has(self.n) && !has(self.count) && (has(self.count) ? self.count : 0) == 0",
        "type(self.ios) == string && self.ios.matches('^[0-9]+%$')",
        "self.when > timestamp('2026-01-01T00:00:00Z') && self.when.getFullYear() == 2026 && self.when.getMonth() == 10",
        "self.long > duration('1h') && self.long.getMinutes() == 90",
        "self.foo__dash__bar == 'x' && self.__namespace__ == 'ns'",
        "self.d == 1.5 && double(self.n) == 3.0 && int('7') == 7 && string(self.n) == '3'",
        "self.set == ['y', 'x'] && sets.contains(self.set, ['x'])",
        "self.text.lowerAscii().upperAscii() == 'HELLO' && self.text.replace('l', 'L') == 'heLLo' && self.text.substring(1, 3) == 'el'",
        "'a,b'.split(',') == ['a', 'b'] && ['a', 'b'].join('-') == 'a-b' && ' x '.trim() == 'x' && 'abc'.charAt(1) == 'b'",
        "isURL('https://x.io:8080/p?q=1') && url('https://x.io:8080/p').getHost() == 'x.io:8080' && url('https://x.io/p').getEscapedPath() == '/p'",
        "isIP('10.0.0.1') && ip('::1').family() == 6 && cidr('10.0.0.0/8').containsIP('10.2.3.4') && cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16') && !isCIDR('x')",
        "quantity('1Gi').isGreaterThan(quantity('500Mi')) && quantity('1').add(2).asInteger() == 3 && isQuantity('5m')",
        "semver('1.2.3').isLessThan(semver('1.10.0')) && semver('v1.2', true).minor() == 2 && !isSemver('v1')",
        "!format.dns1123Label().validate('my-name').hasValue() && format.dns1123Label().validate('My').hasValue()",
        "'%s is %d'.format(['x', 3]) == 'x is 3' && 'a1b22'.findAll('[0-9]+') == ['1', '22'] && 'a1'.find('[0-9]') == '1'",
        "[3, 1, 2].min() == 1 && [1, 2].sum() == 3 && [1, 2, 3].isSorted()",
        "self.?count.orValue(7) == 7 && self.?n.hasValue() && optional.of(1).value() == 1",
        "false || true && !(1 / 0 == 1 && false)",
        "1 < 2.0 && 1 == 1 && 'b' > 'a' && true",
        "[1, 2] + [3] == [1, 2, 3] && {'a': 1}.a == 1 && size({'a': 1}) == 1",
        "self.text.contains('ell') && self.text.reverse() == 'olleh' && 'x'.lastIndexOf('x') == 0",
    ] {
        let schema = with_rule(json!({"rule": rule}));
        let mut errors = Vec::new();
        check(&schema, "P", &mut errors);
        assert_eq!(
            errors.iter().map(ToString::to_string).collect::<Vec<_>>(),
            Vec::<String>::new(),
            "{rule}"
        );
        assert_eq!(texts(schema, object.clone(), None), Vec::<String>::new(), "{rule}");
    }
}

#[test]
fn failures_are_worded_as_by_the_server() {
    let on = |rule: Value, spec: Value| texts(with_rule(rule), json!({"spec": spec}), None);
    assert_eq!(
        on(json!({"rule": "self.n > 5", "message": "too small"}), json!({"n": 1})),
        ["spec: Invalid value: too small"]
    );
    assert_eq!(
        on(json!({"rule": "self.n > 5"}), json!({"n": 1})),
        ["spec: Invalid value: failed rule: self.n > 5"]
    );
    assert_eq!(
        on(
            json!({"rule": "self.n > 5", "message": "m", "messageExpression": "'n is ' + string(self.n)"}),
            json!({"n": 1})
        ),
        ["spec: Invalid value: n is 1"]
    );
    assert_eq!(
        on(
            json!({"rule": "self.n > 5", "message": "no", "fieldPath": ".count", "reason": "FieldValueForbidden"}),
            json!({"n": 1})
        ),
        ["spec.count: Forbidden: no"]
    );
    assert_eq!(
        on(json!({"rule": "self.n > 5", "reason": "FieldValueRequired", "message": "r"}), json!({"n": 1})),
        ["spec: Required value: r"]
    );
    assert_eq!(
        on(json!({"rule": "self.n > 5", "reason": "FieldValueDuplicate"}), json!({"n": 1})),
        ["spec: Duplicate value"]
    );
    assert_eq!(
        on(json!({"rule": "self.count > 5", "message": "m"}), json!({"n": 1})),
        ["spec: Invalid value: \"object\": no such key: count evaluating rule: m"]
    );
    assert_eq!(
        on(json!({"rule": "self.n > 5", "message": "m"}), json!({"n": 1.0})),
        ["spec: Invalid value: \"object\": invalid data, expected int, got float64 evaluating rule: m"]
    );
    let scalar = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "n": {"type": "integer", "x-kubernetes-validations": [{"rule": "self < 5", "message": "too big"}]},
        "l": {"type": "array", "items": {"type": "string", "x-kubernetes-validations": [{"rule": "self.startsWith('a')", "message": "need a"}]}}}}}});
    assert_eq!(
        texts(scalar, json!({"spec": {"n": 9, "l": ["a", "b"]}}), None),
        ["spec.l[1]: Invalid value: \"b\": need a", "spec.n: Invalid value: 9: too big"]
    );
}

#[test]
fn an_invalid_object_leaves_rules_unchecked() {
    let errors = texts(with_rule(json!({"rule": "self.n > 5"})), json!({"spec": {"n": "x"}}), None);
    assert_eq!(
        errors,
        [
            "spec.n: Invalid value: \"string\": spec.n in body must be of type integer: \"string\"",
            "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"
        ]
    );
}

#[test]
fn transitions_and_ratcheting() {
    let grow = with_rule(json!({"rule": "self.n >= oldSelf.n", "message": "may only grow"}));
    let spec = |n: i64| json!({"spec": {"n": n}});
    assert_eq!(texts(grow.clone(), spec(1), None), Vec::<String>::new());
    assert_eq!(texts(grow.clone(), spec(1), Some(spec(2))), ["spec: Invalid value: may only grow"]);
    assert_eq!(texts(grow, spec(3), Some(spec(2))), Vec::<String>::new());
    let optional = with_rule(
        json!({"rule": "oldSelf.hasValue() || self.n == 0", "optionalOldSelf": true, "message": "first is 0"}),
    );
    assert_eq!(texts(optional.clone(), spec(1), None), ["spec: Invalid value: first is 0"]);
    assert_eq!(texts(optional, spec(1), Some(spec(0))), Vec::<String>::new());
    // What was wrong before and has not changed is only warned of.
    let schema = Schema::compile(&with_rule(json!({"rule": "self.n > 5", "message": "small"})));
    let mut new = spec(1);
    new["metadata"] = json!({"labels": {"a": "b"}});
    let findings = validate_object(&schema, &new, Some(&spec(1)));
    assert_eq!(findings.errors, []);
    assert_eq!(findings.warnings, ["spec: Invalid value: small"]);
}

#[test]
fn rules_that_do_not_compile_are_refused() {
    let refused = |rule: Value| {
        let mut errors = Vec::new();
        check(&with_rule(rule), "P", &mut errors);
        errors.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let at = "P.properties[spec].x-kubernetes-validations[0]";
    assert_eq!(
        refused(json!({"rule": "self.b == 1"})),
        [format!(
            "{at}.rule: Invalid value: {{\"Rule\":\"self.b == 1\",\"Message\":\"\",\"MessageExpression\":\"\",\"Reason\":null,\"FieldPath\":\"\",\"OptionalOldSelf\":null}}: compilation failed: ERROR: <input>:1:5: undefined field 'b'\n | self.b == 1\n | ....^"
        )]
    );
    let one = |rule: Value, end: &str| {
        let errors = refused(rule);
        assert!(errors.len() == 1 && errors[0].ends_with(end), "{errors:?} should end with {end}");
    };
    one(json!({"rule": "self.n"}), "cel expression must evaluate to a bool");
    one(json!({"rule": "foo == 1"}), "undeclared reference to 'foo' (in container '')\n | foo == 1\n | ^");
    one(
        json!({"rule": "self.n == 'x'"}),
        "found no matching overload for '_==_' applied to '(int, string)'\n | self.n == 'x'\n | .......^",
    );
    one(
        json!({"rule": "self.n.foo()"}),
        "undeclared reference to 'foo' (in container '')\n | self.n.foo()\n | ..........^",
    );
    one(
        json!({"rule": "true", "fieldPath": ".zz"}),
        ".fieldPath: Invalid value: \".zz\": must be a valid path",
    );
    one(
        json!({"rule": "true", "message": "a\nb"}),
        ".message: Invalid value: \"a\\nb\": must not contain line breaks",
    );
    one(
        json!({"rule": "true", "reason": "Foo"}),
        "\"FieldValueDuplicate\", \"FieldValueForbidden\", \"FieldValueInvalid\", \"FieldValueRequired\"",
    );
    one(
        json!({"rule": "true", "optionalOldSelf": true}),
        ".optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule",
    );
    one(json!({"rule": "true", "messageExpression": "1"}), "messageExpression must evaluate to a string");
    assert!(refused(json!({"rule": "self.n =="}))[0].contains("compilation failed: ERROR: <input>:1:"));
    let list = json!({"type": "object", "properties": {"l": {"type": "array", "maxItems": 3, "items": {"type": "string", "maxLength": 9,
        "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}}}});
    let mut errors = Vec::new();
    check(&list, "P", &mut errors);
    assert!(errors[0].to_string().ends_with(
        "oldSelf cannot be used on the uncorrelatable portion of the schema within P.properties[l]"
    ));
}

#[test]
fn rules_that_may_cost_too_much_are_refused() {
    let list = |max: Option<u64>| {
        let mut list = json!({"type": "array", "items": {"type": "string"}, "x-kubernetes-validations":
            [{"rule": "self.all(x, self.all(y, x == y))"}]});
        if let Some(max) = max {
            list["maxItems"] = json!(max);
            list["items"]["maxLength"] = json!(10);
        }
        let mut errors = Vec::new();
        check(&json!({"type": "object", "properties": {"l": list}}), "P", &mut errors);
        errors.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let tail = "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)";
    let at = "P.properties[l].x-kubernetes-validations[0].rule: Forbidden:";
    assert_eq!(
        list(None),
        [
            format!("{at} estimated rule cost exceeds budget by factor of more than 100x {tail}"),
            format!(
                "{at} contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
            ),
            format!(
                "P: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of more than 100x {tail}"
            )
        ]
    );
    assert_eq!(list(Some(100)), Vec::<String>::new());
}

#[test]
fn evaluation_stops_when_it_costs_too_much() {
    let schema = Schema::compile(
        &json!({"type": "object", "properties": {"l": {"type": "array", "items": {"type": "integer"},
        "x-kubernetes-validations": [{"rule": "self.all(x, self.all(y, self.all(z, x + y + z >= 0)))"}]}}}),
    );
    let numbers: Vec<i64> = (0..500).collect();
    let findings = validate_object(&schema, &json!({"l": numbers}), None);
    assert_eq!(
        findings.errors.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [
            "l: Invalid value: \"array\": 'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: self.all(x, self.all(y, self.all(z, x + y + z >= 0)))"
        ]
    );
}
