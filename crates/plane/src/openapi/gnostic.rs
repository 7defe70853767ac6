//! The OpenAPI v2 document as the protobuf message `openapi.v2.Document` of gnostic, the only form in which
//! `kubectl explain --output plaintext-openapiv2` and client-side validation take it.
//!
//! Field numbers are those of gnostic's `OpenAPIv2.proto`. Only what our documents hold is written.

use serde_json::{Map, Value};

/// A message under construction.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut n: u64) {
        while n >= 0x80 {
            self.0.push((n as u8 & 0x7f) | 0x80);
            n >>= 7;
        }
        self.0.push(n as u8);
    }

    fn bytes(&mut self, field: u64, content: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(content.len() as u64);
        self.0.extend_from_slice(content);
    }

    fn text(&mut self, field: u64, value: &Value) {
        if let Some(text) = value.as_str().filter(|t| !t.is_empty()) {
            self.bytes(field, text.as_bytes());
        }
    }

    fn flag(&mut self, field: u64, value: &Value) {
        if value == true {
            self.varint(field << 3);
            self.varint(1);
        }
    }

    fn double(&mut self, field: u64, value: &Value) {
        if let Some(number) = value.as_f64().filter(|n| *n != 0.0) {
            self.varint(field << 3 | 1);
            self.0.extend_from_slice(&number.to_le_bytes());
        }
    }

    fn integer(&mut self, field: u64, value: &Value) {
        if let Some(number) = value.as_i64().filter(|n| *n != 0) {
            self.varint(field << 3);
            self.varint(number as u64);
        }
    }

    fn message(&mut self, field: u64, message: Message) {
        self.bytes(field, &message.0);
    }

    fn texts(&mut self, field: u64, value: &Value) {
        for text in value.as_array().into_iter().flatten().filter_map(Value::as_str) {
            self.bytes(field, text.as_bytes());
        }
    }

    /// The `x-…` members, as NamedAny with their YAML text (JSON is YAML).
    fn extensions(&mut self, field: u64, fields: &Map<String, Value>) {
        for (name, value) in fields.iter().filter(|(name, _)| name.starts_with("x-")) {
            self.named(field, name, any(value));
        }
    }

    /// A `Named…` message: 1 name, 2 value.
    fn named(&mut self, field: u64, name: &str, value: Message) {
        let mut named = Message::default();
        named.bytes(1, name.as_bytes());
        named.message(2, value);
        self.message(field, named);
    }
}

/// `Any`: 2 yaml.
fn any(value: &Value) -> Message {
    let mut message = Message::default();
    message.bytes(2, format!("{value}\n").as_bytes());
    message
}

/// The whole document.
pub(super) fn encode(document: &Value) -> Vec<u8> {
    let mut out = Message::default();
    out.text(1, &document["swagger"]);
    let mut info = Message::default();
    info.text(1, &document["info"]["title"]);
    info.text(2, &document["info"]["version"]);
    out.message(2, info);
    let mut paths = Message::default();
    for (path, item) in document["paths"].as_object().into_iter().flatten() {
        paths.named(2, path, path_item(item));
    }
    out.message(8, paths);
    let mut definitions = Message::default();
    for (name, definition) in document["definitions"].as_object().into_iter().flatten() {
        definitions.named(1, name, schema(definition));
    }
    out.message(9, definitions);
    out.0
}

fn path_item(item: &Value) -> Message {
    let mut out = Message::default();
    for (method, field) in [("get", 2), ("put", 3), ("post", 4), ("delete", 5), ("patch", 8)] {
        if let Some(value) = item.get(method) {
            out.message(field, operation(value));
        }
    }
    for parameter in item["parameters"].as_array().into_iter().flatten() {
        out.message(9, parameters_item(parameter));
    }
    out
}

fn operation(value: &Value) -> Message {
    let mut out = Message::default();
    out.text(5, &value["operationId"]);
    out.texts(7, &value["consumes"]);
    for parameter in value["parameters"].as_array().into_iter().flatten() {
        out.message(8, parameters_item(parameter));
    }
    let mut responses = Message::default();
    for (code, response) in value["responses"].as_object().into_iter().flatten() {
        let mut body = Message::default();
        body.text(1, &response["description"]);
        let mut item = Message::default();
        item.message(1, schema(&response["schema"]));
        body.message(2, item);
        // ResponseValue: 1 response.
        let mut response = Message::default();
        response.message(1, body);
        responses.named(1, code, response);
    }
    out.message(9, responses);
    if let Some(fields) = value.as_object() {
        out.extensions(13, fields);
    }
    out
}

/// ParametersItem { 1 Parameter { 1 BodyParameter | 2 NonBodyParameter } }
fn parameters_item(value: &Value) -> Message {
    let mut parameter = Message::default();
    if value["in"] == "body" {
        let mut body = Message::default();
        body.text(2, &value["name"]);
        body.text(3, &value["in"]);
        body.flag(4, &value["required"]);
        body.message(5, schema(&value["schema"]));
        parameter.message(1, body);
    } else {
        // Query (3) and path (4) parameters share the numbers of what we use, but for the shift by `allowEmptyValue`.
        let path = value["in"] == "path";
        let mut of = Message::default();
        of.flag(1, &value["required"]);
        of.text(2, &value["in"]);
        of.text(4, &value["name"]);
        of.text(if path { 5 } else { 6 }, &value["type"]);
        let mut non_body = Message::default();
        non_body.message(if path { 4 } else { 3 }, of);
        parameter.message(2, non_body);
    }
    let mut item = Message::default();
    item.message(1, parameter);
    item
}

fn schema(value: &Value) -> Message {
    let mut out = Message::default();
    let Some(fields) = value.as_object() else { return out };
    out.text(1, &value["$ref"]);
    out.text(2, &value["format"]);
    out.text(3, &value["title"]);
    out.text(4, &value["description"]);
    if let Some(default) = fields.get("default").filter(|d| !d.is_null()) {
        out.message(5, any(default));
    }
    out.double(6, &value["multipleOf"]);
    out.double(7, &value["maximum"]);
    out.flag(8, &value["exclusiveMaximum"]);
    out.double(9, &value["minimum"]);
    out.flag(10, &value["exclusiveMinimum"]);
    out.integer(11, &value["maxLength"]);
    out.integer(12, &value["minLength"]);
    out.text(13, &value["pattern"]);
    out.integer(14, &value["maxItems"]);
    out.integer(15, &value["minItems"]);
    out.flag(16, &value["uniqueItems"]);
    out.integer(17, &value["maxProperties"]);
    out.integer(18, &value["minProperties"]);
    out.texts(19, &value["required"]);
    for option in value["enum"].as_array().into_iter().flatten() {
        out.message(20, any(option));
    }
    match fields.get("additionalProperties") {
        // AdditionalPropertiesItem: 1 schema, 2 boolean.
        Some(of @ Value::Object(_)) => {
            let mut item = Message::default();
            item.message(1, schema(of));
            out.message(21, item);
        }
        Some(Value::Bool(yes)) => {
            let mut item = Message::default();
            item.varint(2 << 3);
            item.varint(u64::from(*yes));
            out.message(21, item);
        }
        _ => {}
    }
    if value["type"].is_string() {
        let mut kind = Message::default();
        kind.text(1, &value["type"]);
        out.message(22, kind);
    }
    if value["items"].is_object() {
        let mut items = Message::default();
        items.message(1, schema(&value["items"]));
        out.message(23, items);
    }
    for part in value["allOf"].as_array().into_iter().flatten() {
        out.message(24, schema(part));
    }
    if let Some(properties) = value["properties"].as_object() {
        let mut message = Message::default();
        for (name, property) in properties {
            message.named(1, name, schema(property));
        }
        out.message(25, message);
    }
    out.extensions(31, fields);
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_small_document_is_the_bytes_gnostic_reads() {
        let bytes = encode(&json!({"swagger": "2.0", "info": {"title": "t", "version": "1"},
            "definitions": {"A": {"type": "string"}}}));
        let expected: &[u8] = &[
            0x0a, 3, b'2', b'.', b'0', // swagger
            0x12, 6, 0x0a, 1, b't', 0x12, 1, b'1', // info
            0x42, 0, // paths
            0x4a, 18, 0x0a, 16, 0x0a, 1, b'A', 0x12, 11, 0xb2, 0x01, 8, 0x0a, 6, b's', b't', b'r', b'i',
            b'n', b'g',
        ];
        assert_eq!(bytes, expected);
    }
}
