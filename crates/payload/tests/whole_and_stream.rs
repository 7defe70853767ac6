//! Anthropic can answer whole or as a stream; a client that puts the stream together must get the whole answer.

use bytes::Bytes;
use proptest::prelude::*;
use quintet_payload::exchange::{Cycle, External};
use quintet_payload::json::Object;
use quintet_payload::providers::{Provider, StreamTranslator as _, anthropic};
use serde_json::{Value, json};

/// One block of an answer.
#[derive(Debug, Clone)]
enum Block {
    Text(Vec<String>),
    Tool { name: String, input: Value },
    Thinking(String),
}

fn block() -> impl Strategy<Value = Block> {
    prop_oneof![
        prop::collection::vec(".{0,12}", 0..4).prop_map(Block::Text),
        ("[a-z_]{1,8}", prop::collection::btree_map("[a-z]{1,4}", ".{0,10}", 0..4))
            .prop_map(|(name, input)| Block::Tool { name, input: json!(input) }),
        ".{0,10}".prop_map(Block::Thinking),
    ]
}

fn whole(blocks: &[Block], stop: &str) -> Value {
    let content: Vec<Value> = blocks
        .iter()
        .enumerate()
        .map(|(n, block)| match block {
            Block::Text(parts) => json!({"type": "text", "text": parts.concat()}),
            Block::Tool { name, input } => {
                json!({"type": "tool_use", "id": format!("t{n}"), "name": name, "input": input})
            }
            Block::Thinking(text) => json!({"type": "thinking", "thinking": text}),
        })
        .collect();
    json!({"id": "msg_1", "type": "message", "content": content, "stop_reason": stop,
           "usage": {"input_tokens": 3, "output_tokens": 5}})
}

fn stream(blocks: &[Block], stop: &str) -> String {
    let mut events = vec![
        json!({"type": "message_start", "message": {"id": "msg_1", "usage": {"input_tokens": 3, "output_tokens": 1}}}),
    ];
    for (n, block) in blocks.iter().enumerate() {
        let delta = |delta: Value| json!({"type": "content_block_delta", "index": n, "delta": delta});
        let start = |block: Value| json!({"type": "content_block_start", "index": n, "content_block": block});
        match block {
            Block::Text(parts) => {
                events.push(start(json!({"type": "text", "text": ""})));
                events.extend(parts.iter().map(|part| delta(json!({"type": "text_delta", "text": part}))));
            }
            Block::Tool { name, input } => {
                events.push(start(
                    json!({"type": "tool_use", "id": format!("t{n}"), "name": name, "input": {}}),
                ));
                let text: Vec<char> = input.to_string().chars().collect();
                let pieces = text.chunks(5).map(|piece| piece.iter().collect::<String>());
                events.extend(
                    pieces.map(|piece| delta(json!({"type": "input_json_delta", "partial_json": piece}))),
                );
            }
            Block::Thinking(text) => {
                events.push(start(json!({"type": "thinking", "thinking": ""})));
                events.push(delta(json!({"type": "thinking_delta", "thinking": text})));
            }
        }
        events.push(json!({"type": "content_block_stop", "index": n}));
    }
    events.push(
        json!({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 5}}),
    );
    events.push(json!({"type": "message_stop"}));
    events.iter().map(|e| format!("event: {}\ndata: {e}\n\n", e["type"].as_str().unwrap())).collect()
}

/// Puts OpenAI's chunks together, as its clients do.
fn gather(chunks: &str) -> Value {
    let (mut content, mut calls, mut finish, mut usage) =
        (String::new(), Vec::<Value>::new(), Value::Null, Value::Null);
    let data: Vec<&str> =
        chunks.split_terminator("\n\n").map(|e| e.strip_prefix("data: ").expect("data")).collect();
    let (last, data) = data.split_last().expect("an end");
    assert_eq!(*last, "[DONE]");
    for data in data {
        let chunk: Value = serde_json::from_str(data).unwrap();
        assert_eq!((&chunk["object"], &chunk["id"]), (&json!("chat.completion.chunk"), &json!("msg_1")));
        if let Some(counted) = chunk.get("usage") {
            usage = counted.clone();
            continue;
        }
        let choice = &chunk["choices"][0];
        content += choice["delta"]["content"].as_str().unwrap_or_default();
        for call in choice["delta"]["tool_calls"].as_array().into_iter().flatten() {
            let index = call["index"].as_u64().unwrap() as usize;
            if index == calls.len() {
                calls.push(call.clone());
            } else {
                let so_far = calls[index]["function"]["arguments"].as_str().unwrap().to_owned();
                calls[index]["function"]["arguments"] =
                    json!(so_far + call["function"]["arguments"].as_str().unwrap());
            }
        }
        if !choice["finish_reason"].is_null() {
            finish = choice["finish_reason"].clone();
        }
    }
    json!({"content": content, "calls": calls, "finish": finish, "usage": usage})
}

proptest! {
    #[test]
    fn are_the_same_answer(blocks in prop::collection::vec(block(), 0..5), other in prop_oneof![Just("end_turn"), Just("max_tokens"), Just("refusal")]) {
        let has_tools = blocks.iter().any(|b| matches!(b, Block::Tool { .. }));
        let stop = if has_tools { "tool_use" } else { other };
        let external = External { provider: "anthropic".into(), model: "m".into(), ..External::default() };
        let cycle = Cycle { external: Some(external), include_usage: true };

        let answer = Bytes::from(whole(&blocks, stop).to_string());
        let answer = Provider::Anthropic.response(&cycle, &Object::parse(&answer).unwrap(), 0).unwrap();
        let answer: Value = serde_json::from_slice(&answer.to_text()).unwrap();
        let message = &answer["choices"][0]["message"];
        let expected = json!({
            "content": message["content"],
            "calls": message.get("tool_calls").cloned().unwrap_or(json!([])),
            "finish": answer["choices"][0]["finish_reason"],
            "usage": answer["usage"],
        });

        let mut translator = anthropic::Stream::new(&cycle, 0);
        let mut chunks = translator.push(stream(&blocks, stop).as_bytes()).to_vec();
        chunks.extend(translator.finish());
        prop_assert_eq!(gather(&String::from_utf8(chunks).unwrap()), expected);
    }
}
