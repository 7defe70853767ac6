use std::{
    collections::{BTreeMap, HashMap},
    time::{Duration, Instant},
};

use http::Request;
use kube::Client;
use serde_json::{Value, json};

use crate::{
    normalise::Normaliser,
    scenario::{Scenario, Step, Truth},
    support::{self, Answer},
    webhook::Webhook,
};

/// Plays a scenario and returns its answers, normalised. `patience` is how long controllers get for what a step waits for.
///
/// Where preparation fails there is nothing to compare: the remaining steps are answered by [`unreached`].
pub(crate) async fn play(
    client: &Client,
    scenario: &Scenario,
    webhook: &Webhook,
    patience: Duration,
) -> Vec<Truth> {
    let namespace = scenario.namespace();
    let mut truths = Vec::new();
    if let Err(reason) = prepare(client, &namespace, patience).await {
        return unreached(scenario, truths, &reason);
    }
    let mut texts: HashMap<String, String> =
        [("ns", namespace), ("webhook", webhook.url()), ("ca", webhook.ca())]
            .map(|(k, v)| (k.to_owned(), v))
            .into();
    let mut normaliser = Normaliser::new(webhook.url());
    for step in &scenario.steps {
        let answer = until(client, step, &texts, patience).await;
        for (name, pointer) in &step.keep {
            let value = answer.at(pointer);
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            texts.insert(name.clone(), text);
        }
        if step.quiet {
            if answer.code >= 400 || answer.body.get("never").is_some() {
                let reason = format!("preparing \"{}\" failed: {}", step.request, answer.body);
                return unreached(scenario, truths, &reason);
            }
            continue;
        }
        truths.push(truth(step, &answer, &mut normaliser));
    }
    truths
}

/// Fills up the answers of a scenario that could not be played to its end.
pub(crate) fn unreached(scenario: &Scenario, mut truths: Vec<Truth>, reason: &str) -> Vec<Truth> {
    let missing = scenario.recorded().skip(truths.len()).map(|step| Truth::unreached(step, reason));
    let missing: Vec<Truth> = missing.collect();
    truths.extend(missing);
    truths
}

fn truth(step: &Step, answer: &Answer, normaliser: &mut Normaliser) -> Truth {
    let header = |name: &String| {
        let value = answer.headers.get(name).map_or("", |value| value.to_str().unwrap_or("?"));
        (name.clone(), value.to_owned())
    };
    let body = normaliser.body(cut(answer.body.clone(), step));
    Truth {
        note: step.title(),
        code: answer.code,
        warnings: answer.warnings().iter().map(|text| normaliser.text(text)).collect(),
        headers: step.headers.iter().map(header).collect::<BTreeMap<_, _>>(),
        body,
    }
}

/// Makes the namespace, and waits a while for what every namespace gets; the steps that need it will tell.
async fn prepare(client: &Client, namespace: &str, patience: Duration) -> Result<(), String> {
    let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
    let made = support::send(client, support::request("POST", "/api/v1/namespaces", &body)).await;
    if made.code != 201 {
        return Err(format!("the namespace cannot be made: {}", made.body));
    }
    let start = Instant::now();
    let account = format!("/api/v1/namespaces/{namespace}/serviceaccounts/default");
    while support::get(client, &account).await.code != 200 && start.elapsed() < patience / 5 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

async fn until(client: &Client, step: &Step, texts: &HashMap<String, String>, patience: Duration) -> Answer {
    let start = Instant::now();
    loop {
        let answer = ask(client, step, texts).await;
        let holds = |(pointer, wanted): (&String, &Value)| match pointer.as_str() {
            "code" => wanted == &json!(answer.code),
            pointer => wanted == answer.at(pointer),
        };
        if step.until.iter().all(holds) {
            return answer;
        }
        if start.elapsed() > patience {
            let body = json!({"never": step.until, "last": answer.body});
            return Answer { body, ..answer };
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn ask(client: &Client, step: &Step, texts: &HashMap<String, String>) -> Answer {
    let (method, path) = step.request.split_once(' ').expect("a method and a path");
    let mut request = Request::builder().method(method).uri(fill(path, texts));
    let body = match (&step.body, &step.text) {
        (Some(body), _) => fill(&body.to_string(), texts),
        (None, Some(text)) => fill(text, texts),
        (None, None) => String::new(),
    };
    let media_type = match step.media_type.as_deref() {
        None if body.is_empty() => None,
        None | Some("json") => Some("application/json"),
        Some("merge") => Some("application/merge-patch+json"),
        Some("strategic") => Some("application/strategic-merge-patch+json"),
        Some("json-patch") => Some("application/json-patch+json"),
        Some("apply") => Some("application/apply-patch+yaml"),
        Some("none") => None,
        Some(other) => Some(other),
    };
    if let Some(media_type) = media_type {
        request = request.header("content-type", media_type);
    }
    request = request.header(
        "accept",
        match step.accept.as_deref() {
            None => "application/json",
            Some("table") => "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
            Some("metadata") => "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
            Some("metadata-list") => "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
            Some(other) => other,
        },
    );
    // The manager of a request that names none is its user agent.
    request = request.header("user-agent", "truths/1.0");
    if let Some(user) = &step.user {
        request = request.header("impersonate-user", fill(user, texts));
        for group in &step.groups {
            request = request.header("impersonate-group", group);
        }
    }
    let request = request.body(body.into_bytes()).expect("a well-formed request");
    match step.events {
        None => support::send(client, request).await,
        Some(count) => {
            let body = Value::Array(support::events(client, request, count).await);
            Answer { code: 200, headers: Default::default(), body }
        }
    }
}

/// Puts the known texts in place of `{name}`; other braces stay.
fn fill(template: &str, texts: &HashMap<String, String>) -> String {
    texts.iter().fold(template.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
}

/// The parts of an answer that the step is about.
fn cut(mut body: Value, step: &Step) -> Value {
    if body.get("never").is_some() {
        return body;
    }
    if !step.look.is_empty() && body.get("kind").is_none_or(|kind| kind != "Status") {
        let part =
            |pointer: &String| (pointer.clone(), body.pointer(pointer).cloned().unwrap_or(Value::Null));
        body = Value::Object(step.look.iter().map(part).collect());
    }
    for pointer in &step.hide {
        if let Some((parent, key)) = pointer.rsplit_once('/')
            && let Some(Value::Object(fields)) = body.pointer_mut(parent)
            && let Some(value) = fields.get_mut(key)
        {
            *value = json!("<hidden>");
        }
    }
    body
}
