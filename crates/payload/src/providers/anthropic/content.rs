//! The content of one message: text, and images.

use crate::json::{Object, Raw};

/// The text of a message: a string as it is, the text parts of an array joined with a space, else nothing.
pub(super) fn text_of(message: &Object) -> String {
    let Some(content) = message.get("content") else { return String::new() };
    if let Some(text) = content.as_text() {
        return text;
    }
    let parts = content.as_array().unwrap_or_default();
    let texts = parts.iter().filter_map(|part| part.as_object()?.text_of("text"));
    texts.collect::<Vec<_>>().join(" ")
}

/// The parts of a message as blocks, if there is an image among them that Anthropic can take.
pub(super) fn blocks_with_images(message: &Object) -> Option<Vec<Raw>> {
    let parts = message.get("content")?.as_array()?;
    let mut images = 0;
    let mut blocks = Vec::with_capacity(parts.len());
    for part in parts.iter().filter_map(Raw::as_object) {
        if let Some(source) = image_source(&part) {
            images += 1;
            blocks.push(Object::new().with("type", "image").with("source", source).into());
        } else if let Some(text) = part.text_of("text").filter(|text| !text.is_empty()) {
            blocks.push(text_block(&text)); // an empty block would be refused
        }
    }
    (images > 0).then_some(blocks)
}

/// A text block.
pub(super) fn text_block(text: &str) -> Raw {
    Object::new().with("type", "text").with("text", text).into()
}

/// Where an `image_url` part's image is: in the URL itself, or at it.
fn image_source(part: &Object) -> Option<Object> {
    let image = part.get("image_url")?;
    let url = image.as_text().or_else(|| image.as_object()?.text_of("url"))?;
    if let Some(data) = strip_scheme(&url, "data:") {
        let (media_type, data) = data.split_once(',')?;
        let media_type = media_type.strip_suffix(";base64")?;
        let media_type = media_type.split(';').next().filter(|kind| kind.starts_with("image/"))?;
        return Some(Object::new().with("type", "base64").with("media_type", media_type).with("data", data));
    }
    let remote = strip_scheme(&url, "https:").or_else(|| strip_scheme(&url, "http:"));
    remote.map(|_| Object::new().with("type", "url").with("url", url.as_str()))
}

/// What follows `scheme`, whose letter case does not matter.
fn strip_scheme<'a>(url: &'a str, scheme: &str) -> Option<&'a str> {
    let (head, rest) = url.split_at_checked(scheme.len())?;
    head.eq_ignore_ascii_case(scheme).then_some(rest)
}
