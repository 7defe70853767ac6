//! The plugins in order.

use std::time::Instant;

use bytes::Bytes;
use prometheus_client::metrics::histogram::Histogram;

use crate::config::PluginSpec;
use crate::exchange::{Cycle, Exchange};
use crate::failure::Failure;
use crate::headers::Headers;
use crate::json::Object;
use crate::metrics::{ExtensionPoint, Metrics};
use crate::plugins::{BuildError, Parts, Plugin};
use crate::providers::{Provider, StreamTranslator};

/// The configured plugins; shared by all requests.
#[derive(Debug)]
pub struct Chain {
    steps: Vec<Step>,
    metrics: Metrics,
}

/// One plugin and where its times are kept.
#[derive(Debug)]
struct Step {
    spec: PluginSpec,
    plugin: Plugin,
    request_times: Histogram,
}

/// What has to be done with a response.
pub enum ResponsePlan {
    /// Nothing: every byte goes straight to the client.
    Pass,
    /// It is an event stream, translated as it comes.
    Stream(Box<dyn StreamTranslator>),
    /// It has to be complete before [`Chain::response`] can look at it.
    Whole,
}

impl Chain {
    /// Builds the plugins that `specs` describe.
    pub fn build(specs: &[PluginSpec], parts: &Parts) -> Result<Chain, BuildError> {
        let steps = specs.iter().map(|spec| {
            Ok(Step {
                plugin: Plugin::build(spec, parts)?,
                request_times: parts.metrics.plugin_times(ExtensionPoint::Request, spec),
                spec: spec.clone(),
            })
        });
        Ok(Chain { steps: steps.collect::<Result<_, _>>()?, metrics: parts.metrics.clone() })
    }

    /// Runs the request plugins. The first failure ends the chain, and nothing that was done counts.
    pub async fn request(&self, exchange: &mut Exchange) -> Result<(), Failure> {
        self.admit(exchange)?;
        for step in &self.steps {
            let started = Instant::now();
            let outcome = step.plugin.request(exchange).await;
            step.request_times.observe(started.elapsed().as_secs_f64());
            outcome?;
        }
        self.metrics.success();
        Ok(())
    }

    /// The headers of a request that has no body: nothing to process, but no header that routes may be claimed either.
    pub fn bodyless(&self, headers: &mut Headers) {
        if self.steps.iter().any(|step| matches!(step.plugin, Plugin::BodyFieldToHeader(_))) {
            headers.remove(crate::plugins::MODEL_HEADER);
        }
    }

    /// True if nobody needs the body of a request with these headers, so that it need not be held.
    pub fn may_pass_unread(&self, headers: &Headers) -> bool {
        declares_other_than_json(headers) && !self.is_guarded() && !self.is_external(headers)
    }

    /// Decides whether a body can be processed at all.
    ///
    /// A body that is no JSON object may pass where nobody has to understand it: not to an external model, not past a
    /// guard, and not if it says it is JSON.
    fn admit(&self, exchange: &Exchange) -> Result<(), Failure> {
        let strict = self.is_guarded() || self.is_external(&exchange.headers);
        match &exchange.body {
            Ok(body) if strict => {
                // Which of two counts is up to each reader: what we check must be what the provider reads.
                let repeated = ["model", "messages"].into_iter().find(|field| body.count(field) > 1);
                repeated.map_or(Ok(()), |field| {
                    Err(Failure::bad_request(format!("field '{field}' occurs twice")))
                })
            }
            Ok(_) => Ok(()),
            Err(_)
                if !strict
                    && (exchange.received().is_empty() || declares_other_than_json(&exchange.headers)) =>
            {
                Ok(())
            }
            Err(error) => {
                let cause = match exchange.headers.text("content-encoding") {
                    Some(encoding) if !encoding.eq_ignore_ascii_case("identity") => {
                        "the body is compressed; send it without content-encoding".to_owned()
                    }
                    _ => error.to_string(),
                };
                Err(Failure::bad_request(format!("failed to parse request body: {cause}")))
            }
        }
    }

    fn is_guarded(&self) -> bool {
        self.steps.iter().any(|step| matches!(step.plugin, Plugin::NemoRequestGuard(_)))
    }

    fn is_external(&self, headers: &Headers) -> bool {
        self.steps.iter().any(|step| match &step.plugin {
            Plugin::ModelProviderResolver(resolver) => resolver.is_external(headers),
            _ => false,
        })
    }

    /// What a response with these headers needs.
    pub fn plan_response(&self, cycle: &Cycle, headers: &Headers, now: i64) -> ResponsePlan {
        let Some((_, provider)) = self.translator(cycle) else { return ResponsePlan::Pass };
        if is_encoded(headers) {
            tracing::warn!(
                "the provider compressed its answer although it was asked not to: passed on untranslated"
            );
            return ResponsePlan::Pass;
        }
        let media_type =
            headers.text("content-type").unwrap_or_default().split(';').next().unwrap_or_default();
        if media_type.trim().eq_ignore_ascii_case("text/event-stream") {
            return ResponsePlan::Stream(provider.stream(cycle, now));
        }
        ResponsePlan::Whole
    }

    /// The response's new body, or `None` if it stays as it is.
    pub fn response(&self, cycle: &Cycle, body: &Bytes, now: i64) -> Option<Bytes> {
        let (step, provider) = self.translator(cycle)?;
        let Ok(body) = Object::parse(body) else {
            tracing::info!("Failed to parse response body as JSON, skipping response plugins");
            return None;
        };
        let started = Instant::now();
        let translated = provider.response(cycle, &body, now);
        let times = self.metrics.plugin_times(ExtensionPoint::Response, &step.spec);
        times.observe(started.elapsed().as_secs_f64());
        translated.map(Object::into_text)
    }

    /// True if the response to this request stays as it comes.
    pub fn leaves_response(&self, cycle: &Cycle) -> bool {
        self.translator(cycle).is_none()
    }

    fn translator(&self, cycle: &Cycle) -> Option<(&Step, &Provider)> {
        self.steps.iter().find_map(|step| match &step.plugin {
            Plugin::ApiTranslation(translation) => Some((step, translation.response(cycle)?)),
            _ => None,
        })
    }
}

fn is_encoded(headers: &Headers) -> bool {
    headers.text("content-encoding").is_some_and(|encoding| !encoding.trim().eq_ignore_ascii_case("identity"))
}

/// True if the body says itself that it is something else than plain JSON text.
fn declares_other_than_json(headers: &Headers) -> bool {
    let other_type =
        headers.text("content-type").is_some_and(|kind| !kind.to_ascii_lowercase().contains("json"));
    other_type || is_encoded(headers)
}
