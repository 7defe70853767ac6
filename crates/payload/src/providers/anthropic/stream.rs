//! An answer event by event.

use bytes::{Bytes, BytesMut};

use crate::exchange::Cycle;
use crate::json::{Object, Raw};
use crate::providers::StreamTranslator;
use crate::sse::{Event, Events};

use super::usage::Usage;
use super::{error, finish_reason, response};

/// Turns Anthropic's events into OpenAI's chunks.
pub struct Stream {
    events: Events,
    cycle: Cycle,
    now: i64,
    id: String,
    model: String,
    usage: Usage,
    /// Anthropic numbers all blocks, OpenAI only tool calls: the block of each call, in order.
    tool_blocks: Vec<i64>,
    done: bool,
}

impl Stream {
    /// A stream that begins at `now` (Unix seconds).
    pub fn new(cycle: &Cycle, now: i64) -> Stream {
        Stream {
            events: Events::default(),
            cycle: cycle.clone(),
            now,
            id: String::new(),
            model: response::model(cycle, &Object::new()),
            usage: Usage::default(),
            tool_blocks: Vec::new(),
            done: false,
        }
    }

    fn event(&mut self, event: Event, out: &mut BytesMut) {
        if self.done {
            return;
        }
        let Ok(data) = Object::parse(&event.into_data()) else {
            tracing::warn!("skipping an event of the provider that is not a JSON object");
            return;
        };
        match data.text_of("type").unwrap_or_default().as_str() {
            "message_start" => self.message_start(&data, out),
            "content_block_start" => self.block_start(&data, out),
            "content_block_delta" => self.block_delta(&data, out),
            "message_delta" => self.message_delta(&data, out),
            "message_stop" => self.message_stop(out),
            "error" => self.fail(&data, out),
            _ => {} // ping, content_block_stop, and what may come later
        }
    }

    fn message_start(&mut self, data: &Object, out: &mut BytesMut) {
        let message = data.get("message").and_then(Raw::as_object).unwrap_or_default();
        self.id = message.text_of("id").unwrap_or_default();
        self.model = response::model(&self.cycle, &message);
        self.usage.read(message.get("usage"));
        self.delta(Object::new().with("role", "assistant").with("content", ""), None, out);
    }

    fn block_start(&mut self, data: &Object, out: &mut BytesMut) {
        let Some(block) = data.get("content_block").and_then(Raw::as_object) else { return };
        if block.text_of("type").as_deref() != Some("tool_use") {
            return;
        }
        self.tool_blocks.push(index(data));
        let function =
            Object::new().with("name", block.text_of("name").unwrap_or_default()).with("arguments", "");
        let call = Object::new()
            .with("index", self.tool_blocks.len() as i64 - 1)
            .with("id", block.text_of("id").unwrap_or_default())
            .with("type", "function")
            .with("function", function);
        self.delta(Object::new().with("tool_calls", vec![call.into()]), None, out);
    }

    fn block_delta(&mut self, data: &Object, out: &mut BytesMut) {
        let Some(delta) = data.get("delta").and_then(Raw::as_object) else { return };
        match delta.text_of("type").unwrap_or_default().as_str() {
            "text_delta" => {
                let text = delta.get("text").cloned().unwrap_or_else(|| Raw::string(""));
                self.delta(Object::new().with("content", text), None, out);
            }
            "input_json_delta" => {
                let block = index(data);
                let Some(call) = self.tool_blocks.iter().rposition(|b| *b == block) else { return };
                let part = delta.get("partial_json").cloned().unwrap_or_else(|| Raw::string(""));
                let call = Object::new()
                    .with("index", call as i64)
                    .with("function", Object::new().with("arguments", part));
                self.delta(Object::new().with("tool_calls", vec![call.into()]), None, out);
            }
            _ => {} // thinking and its signature stay with the provider
        }
    }

    fn message_delta(&mut self, data: &Object, out: &mut BytesMut) {
        self.usage.read(data.get("usage"));
        let delta = data.get("delta").and_then(Raw::as_object).unwrap_or_default();
        let Some(reason) = delta.text_of("stop_reason") else { return };
        self.delta(Object::new(), Some(finish_reason(Some(&reason))), out);
    }

    fn message_stop(&mut self, out: &mut BytesMut) {
        if self.cycle.include_usage {
            let chunk = self.chunk(vec![]).with("usage", self.usage.to_openai());
            send(&chunk.into_text(), out);
        }
        self.end(out);
    }

    fn fail(&mut self, data: &Object, out: &mut BytesMut) {
        send(&error::translate(data).into_text(), out);
        self.end(out);
    }

    fn broken(&mut self, message: &str, out: &mut BytesMut) {
        let error = Object::new().with("type", "stream_error").with("message", message);
        self.fail(&Object::new().with("error", error), out);
    }

    fn end(&mut self, out: &mut BytesMut) {
        self.done = true;
        send(b"[DONE]", out);
    }

    fn delta(&self, delta: Object, finish: Option<&str>, out: &mut BytesMut) {
        let choice = Object::new()
            .with("index", 0)
            .with("delta", delta)
            .with("finish_reason", finish.map_or_else(Raw::null, Raw::string));
        send(&self.chunk(vec![choice.into()]).into_text(), out);
    }

    fn chunk(&self, choices: Vec<Raw>) -> Object {
        Object::new()
            .with("id", self.id.as_str())
            .with("object", "chat.completion.chunk")
            .with("created", self.now)
            .with("model", self.model.as_str())
            .with("choices", choices)
    }

    fn drain(&mut self, out: &mut BytesMut) {
        loop {
            match self.events.next_event() {
                Ok(Some(event)) => self.event(event, out),
                Ok(None) => return,
                Err(error) => {
                    if !self.done {
                        self.broken(&error.to_string(), out);
                    }
                    self.events = Events::default();
                    return;
                }
            }
        }
    }
}

impl StreamTranslator for Stream {
    fn push(&mut self, chunk: &[u8]) -> Bytes {
        if self.done {
            return Bytes::new(); // whatever follows the end is not for the client
        }
        let mut out = BytesMut::new();
        self.events.push(chunk);
        self.drain(&mut out);
        out.freeze()
    }

    fn finish(&mut self) -> Bytes {
        let mut out = BytesMut::new();
        if let Some(event) = self.events.finish() {
            self.event(event, &mut out);
        }
        if !self.done {
            self.broken("the provider ended the stream early", &mut out);
        }
        out.freeze()
    }
}

fn index(data: &Object) -> i64 {
    data.get("index").and_then(Raw::as_number).map_or(0, |n| n as i64)
}

fn send(data: &[u8], out: &mut BytesMut) {
    out.extend_from_slice(b"data: ");
    out.extend_from_slice(data);
    out.extend_from_slice(b"\n\n");
}
