use serde_json::json;

use super::*;

/// Builds messages by hand: the tests must not share the decoder's idea of the format.
#[derive(Default, Clone)]
struct Writer(Vec<u8>);

impl Writer {
    fn number(mut self, mut value: u64) -> Self {
        while value >= 0x80 {
            self.0.push((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
        self
    }

    fn varint(self, number: u64, value: u64) -> Self {
        self.number(number << 3).number(value)
    }

    fn bytes(self, number: u64, bytes: impl AsRef<[u8]>) -> Self {
        let bytes = bytes.as_ref();
        let mut written = self.number(number << 3 | 2).number(bytes.len() as u64);
        written.0.extend_from_slice(bytes);
        written
    }

    fn message(self, number: u64, message: Writer) -> Self {
        self.bytes(number, message.0)
    }
}

fn new() -> Writer {
    Writer::default()
}

fn envelope(api_version: &str, kind: &str, object: Writer) -> Vec<u8> {
    let unknown = new()
        .message(1, new().bytes(1, api_version).bytes(2, kind))
        .message(2, object)
        .bytes(3, "")
        .bytes(4, "");
    [MAGIC, &unknown.0].concat()
}

#[test]
fn zero_values_are_dropped_unless_they_count() {
    let meta = new().bytes(1, "web").bytes(2, "").bytes(3, "").varint(7, 0).message(8, new());
    let container = new().bytes(1, "nginx").bytes(2, "nginx").message(8, new());
    let pod = new().message(2, container);
    let template = new().message(1, new().message(8, new())).message(2, pod);
    let spec = new().varint(1, 0).message(3, template).varint(5, 0).varint(7, 0);
    let body = envelope("apps/v1", "Deployment", new().message(1, meta).message(2, spec));
    let object = decode(&body).unwrap();
    assert_eq!(object["apiVersion"], "apps/v1");
    assert_eq!(object["kind"], "Deployment");
    assert_eq!(object["metadata"], json!({ "name": "web" }));
    assert_eq!(object["spec"]["replicas"], 0, "a pointer's zero is a value");
    assert_eq!(object["spec"].get("minReadySeconds"), None);
    assert_eq!(object["spec"].get("paused"), None);
    assert_eq!(
        object["spec"]["template"]["spec"]["containers"],
        json!([{ "name": "nginx", "image": "nginx", "resources": {} }])
    );
}

#[test]
fn maps_and_bytes_become_json() {
    let entry = new().bytes(1, "password").bytes(2, [0xff, 0x00]);
    let secret = new().message(1, new().bytes(1, "s")).message(2, entry).bytes(3, "Opaque");
    let object = decode(&envelope("v1", "Secret", secret)).unwrap();
    assert_eq!(object["data"], json!({ "password": "/wA=" }));
    assert_eq!(object["type"], "Opaque");
}

#[test]
fn special_types_take_their_json_form() {
    let text = |text: &str| new().varint(1, 1).varint(2, 0).bytes(3, text);
    let number = |number: u64| new().varint(1, 0).varint(2, number).bytes(3, "");
    let port = |name: &str, target| new().bytes(1, name).bytes(2, "TCP").varint(3, 80).message(4, target);
    let spec = new().message(1, port("a", number(8080))).message(1, port("b", text("http")));
    let service =
        decode(&envelope("v1", "Service", new().message(1, new().bytes(1, "s")).message(2, spec))).unwrap();
    assert_eq!(service["spec"]["ports"][0]["targetPort"], 8080);
    assert_eq!(service["spec"]["ports"][1]["targetPort"], "http");
    let quota = new().message(1, new().bytes(1, "pods").message(2, new().bytes(1, "10")));
    let quota = decode(&envelope("v1", "ResourceQuota", new().message(1, new()).message(2, quota))).unwrap();
    assert_eq!(quota["spec"]["hard"], json!({ "pods": "10" }));
    let created = new().bytes(1, "p").message(8, new().varint(1, 1_794_773_885).varint(2, 0));
    let account = decode(&envelope("v1", "ServiceAccount", new().message(1, created))).unwrap();
    assert_eq!(account["metadata"]["creationTimestamp"], "2026-11-15T20:18:05Z");
}

#[test]
fn inlined_messages_belong_to_their_parent() {
    let source = new().message(19, new().message(1, new().bytes(1, "config")));
    let volume = new().bytes(1, "v").message(2, source);
    let pod = new().message(1, new().bytes(1, "p")).message(2, new().message(1, volume));
    let pod = decode(&envelope("v1", "Pod", pod)).unwrap();
    assert_eq!(pod["spec"]["volumes"], json!([{ "name": "v", "configMap": { "name": "config" } }]));
}

#[test]
fn what_kubectl_create_token_sends_is_read() {
    let spec = new().bytes(1, "a1").varint(4, 600);
    let request = new()
        .message(1, new().message(8, new()))
        .message(2, spec)
        .message(3, new().bytes(1, "").message(2, new()));
    let object = decode(&envelope("authentication.k8s.io/v1", "TokenRequest", request)).unwrap();
    assert_eq!(object["spec"], json!({ "audiences": ["a1"], "expirationSeconds": 600 }));
}

#[test]
fn fields_of_a_newer_kubernetes_are_skipped() {
    let config_map = new().message(1, new().bytes(1, "c")).varint(15, 7).bytes(14, "new");
    assert_eq!(decode(&envelope("v1", "ConfigMap", config_map)).unwrap()["metadata"]["name"], "c");
}

#[test]
fn broken_bodies_are_refused_not_fatal() {
    assert_eq!(decode(b"{}"), Err(DecodeError::Prefix));
    let unknown = decode(&envelope("example.com/v1", "Widget", new())).unwrap_err();
    assert!(matches!(unknown, DecodeError::Unknown { .. }), "{unknown}");
    let whole = envelope("v1", "ConfigMap", new().message(1, new().bytes(1, "name").bytes(2, "x")));
    for end in 0..whole.len() {
        let _ = decode(&whole[..end]);
        let mut flipped = whole.clone();
        flipped[end] ^= 0xff;
        let _ = decode(&flipped);
    }
    let not_text = envelope("v1", "ConfigMap", new().message(1, new().bytes(1, [0xff, 0xfe])));
    assert_eq!(decode(&not_text), Err(DecodeError::Malformed("a string is not UTF-8")));
}
