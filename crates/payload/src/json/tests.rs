use bytes::Bytes;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn object(text: &str) -> Object {
    Object::parse(&Bytes::copy_from_slice(text.as_bytes())).expect("an object")
}

fn error(text: impl AsRef<[u8]>) -> String {
    Object::parse(&Bytes::copy_from_slice(text.as_ref())).expect_err("no object").to_string()
}

#[test]
fn what_is_not_touched_goes_out_as_it_came() {
    let text = r#" {"b": 12345678901234567890123, "a": 1.10, "c": {"z":1, "y":2}} "#;
    let mut body = object(text);
    assert_eq!(body.to_text(), text);
    body.set("a", "new");
    assert_eq!(body.to_text(), r#"{"b":12345678901234567890123,"a":"new","c":{"z":1, "y":2}}"#);
    assert!(body.remove("b") && !body.remove("b"));
    assert_eq!(body.to_text(), r#"{"a":"new","c":{"z":1, "y":2}}"#);
}

#[test]
fn the_last_of_repeated_members_counts_and_setting_leaves_one() {
    let mut body = object(r#"{"m":1,"x":0,"m":2}"#);
    assert_eq!((body.count("m"), body.get("m").unwrap().as_number()), (2, Some(2.0)));
    body.set("m", 3);
    assert_eq!(body.to_text(), r#"{"m":3,"x":0}"#);
}

#[test]
fn errors_are_worded_as_clients_know_them() {
    assert_eq!(error(""), "unexpected end of JSON input");
    assert_eq!(error(r#"{"a":"#), "unexpected end of JSON input");
    assert_eq!(error("[1]"), "json: cannot unmarshal array into Go value of type map[string]interface {}");
    assert_eq!(error("7"), "json: cannot unmarshal number into Go value of type map[string]interface {}");
    assert!(error("this is").starts_with("expected ident"));
    assert!(error("{} {}").starts_with("trailing characters"));
    assert!(object("null").is_empty());
}

#[test]
fn invalid_utf8_is_refused_and_lone_surrogates_are_replaced() {
    assert!(!error(b"{\"a\":\"\xff\"}").contains('\u{fffd}'));
    assert_eq!(object(r#"{"a":"x\ud800y"}"#).text_of("a").unwrap().chars().next_back(), Some('y'));
}

#[test]
fn deep_and_wide_bodies_are_refused_without_harm() {
    let deep = format!(r#"{{"a":{}{}}}"#, "[".repeat(1_000_000), "]".repeat(1_000_000));
    assert_eq!(error(deep), "exceeded max depth");
    let at_the_limit = format!(r#"{{"a":{}{}}}"#, "[".repeat(MAX_DEPTH - 1), "]".repeat(MAX_DEPTH - 1));
    assert!(object(&at_the_limit).get("a").is_some());
    let brackets_in_text = format!(r#"{{"a":"\"{}"}}"#, "[".repeat(MAX_DEPTH + 1));
    assert!(object(&brackets_in_text).get("a").is_some());
    let wide = format!("{{{}\"z\":0}}", r#""a":0,"#.repeat(MAX_ITEMS));
    assert_eq!(error(wide), "more than 65536 members in one object or array");
}

#[test]
fn values_know_what_they_are() {
    let body = object(r#"{"s":"a\nb","n":-1.5e3,"t":true,"f":false,"z":null,"l":[1,"x"],"o":{"k":1}}"#);
    let get = |key| body.get(key).unwrap();
    assert_eq!(get("s").as_text().unwrap(), "a\nb");
    assert_eq!(get("n").as_number(), Some(-1500.0));
    assert_eq!((get("t").as_bool(), get("f").as_bool(), get("s").as_bool()), (Some(true), Some(false), None));
    assert!(get("z").is_null());
    assert_eq!(get("l").as_array().unwrap().len(), 2);
    assert_eq!(get("o").as_object().unwrap().count("k"), 1);
    assert!(get("s").as_array().is_none() && get("l").as_object().is_none());
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".*".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(".*", inner, 0..6)
                .prop_map(|m| Value::Object(m.into_iter().collect())),
        ]
    })
}

proptest! {
    /// Taking any object apart and putting it together again gives the same value.
    #[test]
    fn round_trip(value in any_json()) {
        let text = Bytes::from(json!({ "value": value }).to_string());
        let read = Object::parse(&text).unwrap();
        let mut built = Object::new();
        for (key, member) in read.iter() {
            let again = match member.kind() {
                Kind::Array => Raw::array(&member.as_array().unwrap()),
                Kind::Object => {
                    let inner = member.as_object().unwrap();
                    inner.iter().fold(Object::new(), |o, (k, v)| o.with(k, v.clone())).into()
                }
                Kind::String => Raw::string(&member.as_text().unwrap()),
                _ => member.clone(),
            };
            built.set(key, again);
        }
        let rebuilt: Value = serde_json::from_slice(&built.to_text()).unwrap();
        prop_assert_eq!(rebuilt, serde_json::from_slice::<Value>(&text).unwrap());
    }

    /// No bytes whatever make the reader panic.
    #[test]
    fn any_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Object::parse(&Bytes::from(bytes));
    }
}
