use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::json;

use super::*;

fn meta(name: &str) -> ObjectMeta {
    ObjectMeta { namespace: Some("llm".into()), name: Some(name.into()), ..Default::default() }
}

fn secret(name: &str, data: &[(&str, &str)]) -> Secret {
    let data = data.iter().map(|(k, v)| ((*k).to_owned(), ByteString(v.as_bytes().to_vec())));
    Secret { metadata: meta(name), data: Some(data.collect::<BTreeMap<_, _>>()), ..Default::default() }
}

fn external_model(name: &str, spec: serde_json::Value) -> DynamicObject {
    DynamicObject { types: None, metadata: meta(name), data: json!({ "spec": spec }) }
}

#[test]
fn credential_life() {
    let stores = Arc::new(Stores::default());
    let mut follower = Follower::new(stores.clone(), |s: &Stores| &s.credentials, credentials::read);
    let key_of = |name: &str| Some(stores.credentials.get("llm", name)?.field("api-key")?.to_owned());

    assert!(!follower.event(Event::Init));
    follower.event(Event::InitApply(secret("k", &[("api-key", "sk-1\n")])));
    assert_eq!(key_of("k"), None, "a list counts when it is complete");
    assert!(follower.event(Event::InitDone));
    assert_eq!(key_of("k").as_deref(), Some("sk-1"));

    follower.event(Event::Apply(secret("k", &[("api-key", "sk-2")])));
    assert_eq!(key_of("k").as_deref(), Some("sk-2"));
    follower.event(Event::Delete(secret("k", &[]))); // also what a label that was removed looks like
    assert_eq!(key_of("k"), None);
    follower.event(Event::Apply(secret("k", &[("api-key", "sk-3")])));
    assert_eq!(key_of("k").as_deref(), Some("sk-3"));

    for broken in [secret("k", &[]), secret("k", &[("api-key", "x"), ("other", "")])] {
        follower.event(Event::Apply(secret("k", &[("api-key", "sk-3")])));
        follower.event(Event::Apply(broken));
        assert_eq!(key_of("k"), None);
    }
    let mut dying = secret("k", &[("api-key", "sk-4")]);
    dying.metadata.deletion_timestamp =
        Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(jiff::Timestamp::UNIX_EPOCH));
    follower.event(Event::Apply(dying));
    assert_eq!(key_of("k"), None);
}

#[test]
fn a_new_list_forgets_what_is_gone() {
    let stores = Arc::new(Stores::default());
    let mut follower = Follower::new(stores.clone(), |s: &Stores| &s.models, external_models::read);
    let model = |name| external_model(name, json!({"provider": "openai", "targetModel": "m"}));
    for list in [vec!["a", "b"], vec!["b"]] {
        follower.event(Event::Init);
        for name in &list {
            follower.event(Event::InitApply(model(name)));
        }
        follower.event(Event::InitDone);
        assert_eq!(stores.models.len(), list.len());
    }
    assert!(stores.models.get("llm", "a").is_none() && stores.models.get("llm", "b").is_some());
}

#[test]
fn a_broken_external_model_is_an_empty_one() {
    let read = |spec| {
        external_models::read(&("llm".into(), "m".into()), &external_model("m", spec)).unwrap().unwrap()
    };
    let full =
        json!({"provider": "openai", "targetModel": "t", "endpoint": "e", "credentialRef": {"name": "k"}});
    let model = read(full);
    assert_eq!(
        [model.provider, model.target_model, model.endpoint, model.credential],
        ["openai", "t", "e", "k"]
    );
    assert_eq!(read(json!({"provider": 7})), Default::default());
}

#[test]
fn base_models_come_with_their_adapters() {
    let read = |data: &[(&str, &str)]| {
        let data = data.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let map = ConfigMap { metadata: meta("c"), data: Some(data), ..Default::default() };
        base_models::read(&("llm".into(), "c".into()), &map)
    };
    let found = read(&[("baseModel", "llama"), ("adapters", "- lora-a\n- \"lora-b\"\n")]).unwrap().unwrap();
    assert_eq!(
        (found.base.as_str(), found.adapters),
        ("llama", vec!["lora-a".to_owned(), "lora-b".to_owned()])
    );
    assert_eq!(read(&[("other", "x")]), Ok(None));
    assert!(read(&[("baseModel", "llama"), ("adapters", "{a: b}")]).is_err());
}

#[tokio::test]
async fn without_the_definition_the_rest_goes_on() {
    let absent = kube::core::Status::failure("the server could not find the requested resource", "NotFound")
        .with_code(404);
    let error = || watcher::Error::InitialListFailed(kube::Error::Api(Box::new(absent.clone())));
    let stores = Arc::new(Stores::default());
    let follower = Follower::new(stores, |s: &Stores| &s.models, external_models::read);
    let (following, done) = follow(futures::stream::iter([Err(error())]), follower, "ExternalModel");
    following.await;
    assert!(*done.borrow());
}

#[tokio::test]
async fn an_api_server_that_is_down_is_waited_for() {
    let down = kube::core::Status::failure("etcdserver: request timed out", "Timeout").with_code(504);
    let error = watcher::Error::InitialListFailed(kube::Error::Api(Box::new(down)));
    let stores = Arc::new(Stores::default());
    let follower = Follower::new(stores, |s: &Stores| &s.models, external_models::read);
    let (following, done) = follow(futures::stream::iter([Err(error)]), follower, "ExternalModel");
    following.await;
    assert!(!*done.borrow());
}
