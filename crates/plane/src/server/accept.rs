//! Content negotiation: in which form an answer goes out.

use http::HeaderMap;
use http::header::ACCEPT;

use crate::status::{Details, Error, Result};

/// The encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    Json,
    Yaml,
}

/// The shape of the objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// As they are.
    Object,
    /// `Table`
    Table,
    /// `PartialObjectMetadata`, or the list of them.
    Metadata,
}

/// What the client takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Accept {
    pub(crate) encoding: Encoding,
    pub(crate) shape: Shape,
    /// `v1` or `v1beta1` of `meta.k8s.io`.
    pub(crate) beta: bool,
}

impl Accept {
    pub(crate) const JSON: Self = Self { encoding: Encoding::Json, shape: Shape::Object, beta: false };

    /// The first form that is on offer, by the client's preference.
    pub(crate) fn negotiate(headers: &HeaderMap, custom: bool, list: bool) -> Result<Self> {
        let header: Vec<&str> = headers.get_all(ACCEPT).iter().filter_map(|v| v.to_str().ok()).collect();
        let header = header.join(",");
        if header.trim().is_empty() {
            return Ok(Self::JSON);
        }
        let mut ranges: Vec<Range<'_>> =
            header.split(',').map(Range::parse).filter(|r| !r.media.is_empty()).collect();
        ranges.sort_by(|a, b| b.quality.total_cmp(&a.quality));
        let wanted_shape = ranges.iter().any(|r| !r.shape.is_empty());
        ranges.iter().find_map(Range::offer).ok_or_else(|| not_acceptable(custom || wanted_shape, list))
    }

    /// `application/json` or `application/yaml`.
    pub(crate) fn content_type(self) -> &'static str {
        match self.encoding {
            Encoding::Json => "application/json",
            Encoding::Yaml => "application/yaml",
        }
    }

    /// The `apiVersion` of Tables and metadata.
    pub(crate) fn meta_version(self) -> &'static str {
        if self.beta { "meta.k8s.io/v1beta1" } else { "meta.k8s.io/v1" }
    }
}

fn not_acceptable(short: bool, list: bool) -> Error {
    const OFFER: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
    if short {
        return Error::new(
            406,
            "NotAcceptable",
            format!("only the following media types are accepted: {OFFER}"),
        );
    }
    let streams = match list {
        true => ", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch",
        false => "",
    };
    let message = format!("406: Not Acceptable\n\nAvailable representations: {OFFER}{streams}");
    Error::new(406, "NotAcceptable", message).with_details(Details::default())
}

struct Range<'a> {
    media: &'a str,
    shape: &'a str,
    group: &'a str,
    version: &'a str,
    quality: f32,
}

impl<'a> Range<'a> {
    fn parse(text: &'a str) -> Self {
        let mut parts = text.split(';').map(str::trim);
        let media = parts.next().unwrap_or_default();
        let mut range = Self { media, shape: "", group: "", version: "", quality: 1.0 };
        for part in parts {
            match part.split_once('=') {
                Some(("as", shape)) => range.shape = shape,
                Some(("g", group)) => range.group = group,
                Some(("v", version)) => range.version = version,
                Some(("q", quality)) => range.quality = quality.parse().unwrap_or(1.0),
                _ => {}
            }
        }
        range
    }

    fn offer(&self) -> Option<Accept> {
        let encoding = match self.media {
            "application/json" | "*/*" | "application/*" => Encoding::Json,
            "application/yaml" => Encoding::Yaml,
            _ => return None,
        };
        let meta = self.group == "meta.k8s.io" && matches!(self.version, "v1" | "v1beta1");
        let shape = match self.shape {
            "" => Shape::Object,
            "Table" if meta => Shape::Table,
            "PartialObjectMetadata" | "PartialObjectMetadataList" if meta => Shape::Metadata,
            _ => return None,
        };
        Some(Accept { encoding, shape, beta: self.version == "v1beta1" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn negotiate(accept: &str) -> Result<Accept> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, accept.parse().unwrap());
        Accept::negotiate(&headers, false, false)
    }

    #[test]
    fn the_first_form_on_offer_wins() {
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
        assert_eq!(negotiate(table).unwrap().shape, Shape::Table);
        let protobuf = "application/vnd.kubernetes.protobuf,application/json";
        assert_eq!(negotiate(protobuf).unwrap(), Accept::JSON);
        assert_eq!(negotiate("application/yaml").unwrap().encoding, Encoding::Yaml);
        assert_eq!(negotiate("text/html, */*;q=0.8").unwrap(), Accept::JSON);
        assert_eq!(negotiate("application/json;as=Nope;v=v1;g=meta.k8s.io").unwrap_err().code, 406);
        assert_eq!(negotiate("application/vnd.kubernetes.protobuf").unwrap_err().code, 406);
    }
}
