//! `GET …/pods/<name>/log`.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use bytes::Bytes;
use futures::Stream;
use http::Response;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;
use tokio::sync::watch;

use super::{Line, Logs};
use crate::server::params::Params;
use crate::server::{Ctx, answer as answers};
use crate::status::{Error, FieldError, Result};
use crate::workloads::containers::{self, Phase};

/// What is asked for.
#[derive(Debug, Default, PartialEq)]
struct Options {
    follow: bool,
    previous: bool,
    timestamps: bool,
    tail: Option<usize>,
    limit: Option<usize>,
    since: Option<Timestamp>,
}

impl Options {
    fn read(params: &Params, pod: &str, now: Timestamp) -> Result<Self> {
        let (tail, limit) = (params.number("tailLines")?, params.number("limitBytes")?);
        let (seconds, time) = (params.number("sinceSeconds")?, params.get("sinceTime"));
        let mut wrong = vec![];
        if let Some(tail) = tail.filter(|tail| *tail < 0) {
            wrong.push(FieldError::invalid("tailLines", tail, "must be greater than or equal to 0"));
        }
        if let Some(limit) = limit.filter(|limit| *limit < 1) {
            wrong.push(FieldError::invalid("limitBytes", limit, "must be greater than 0"));
        }
        match (seconds, time.is_empty()) {
            (Some(_), false) => {
                let detail = "at most one of `sinceTime` or `sinceSeconds` may be specified";
                wrong.push(FieldError::forbidden("", detail));
            }
            (Some(seconds), true) if seconds < 1 => {
                wrong.push(FieldError::invalid("sinceSeconds", seconds, "must be greater than 0"));
            }
            _ => {}
        }
        if !wrong.is_empty() {
            return Err(Error::invalid_kind("", "PodLogOptions", pod, &wrong));
        }
        let since = match seconds {
            Some(seconds) => now.checked_sub(SignedDuration::from_secs(seconds)).ok(),
            None if time.is_empty() => None,
            None => Some(time.parse().map_err(|_| {
                Error::bad_request(format!("sinceTime {time:?} is no time such as 2006-01-02T15:04:05Z"))
            })?),
        };
        let count = |number: Option<i64>| number.map(|number| usize::try_from(number).unwrap_or(usize::MAX));
        Ok(Self {
            follow: params.flag("follow"),
            previous: params.flag("previous"),
            timestamps: params.flag("timestamps"),
            tail: count(tail),
            limit: count(limit),
            since,
        })
    }

    /// The lines to begin with.
    fn select(&self, mut lines: Vec<Line>) -> Vec<Line> {
        if let Some(since) = self.since {
            lines.retain(|(time, _)| *time >= since);
        }
        if let Some(tail) = self.tail {
            lines.drain(..lines.len().saturating_sub(tail));
        }
        lines
    }

    fn show(&self, (time, line): &Line) -> String {
        if self.timestamps { format!("{time:.9} {line}\n") } else { format!("{line}\n") }
    }
}

/// Answers with the lines of a container, and with `follow` with those to come.
pub(crate) fn answer(ctx: &Ctx, logs: &Arc<Logs>, pod: &Pod) -> Result<Response<Body>> {
    let container = containers::named(pod, ctx.params.get("container"))?;
    let options = Options::read(&ctx.params, &ctx.path.name, ctx.plane.clock().now())?;
    if pod.spec.as_ref().is_none_or(|spec| spec.node_name.is_none()) {
        return Ok(answers::text(204, "text/plain", ""));
    }
    let (uid, name) = (pod.metadata.uid.clone().unwrap_or_default(), &ctx.path.name);
    if options.previous {
        // While a container waits to be started again, the run that just ended is the one before.
        let waits = matches!(containers::phase(pod, &container), Phase::Waiting(_));
        let lines = if waits { logs.latest(&uid, &container) } else { logs.previous(&uid, &container) };
        let lines = lines.ok_or_else(|| {
            Error::bad_request(format!(
                "previous terminated container {container:?} in pod {name:?} not found"
            ))
        })?;
        return Ok(finished(&options, lines));
    }
    let Some((run, bell)) = logs.follow(&uid, &container) else {
        return match containers::phase(pod, &container) {
            Phase::Waiting(reason) => Err(Error::bad_request(format!(
                "container {container:?} in pod {name:?} is waiting to start: {reason}"
            ))),
            _ => Ok(finished(&options, vec![])),
        };
    };
    let page = logs.page(&uid, &container, run, 0);
    let (lines, next) = page.map_or((vec![], 0), |page| (page.lines, page.next));
    if !options.follow {
        return Ok(finished(&options, lines));
    }
    let ready = options.select(lines).into();
    let reader = Reader { logs: logs.clone(), uid, container, run, next, ready, bell };
    let mut response = Response::new(Body::from_stream(shown(reader, options)));
    response.headers_mut().insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static("text/plain"));
    Ok(response)
}

fn finished(options: &Options, lines: Vec<Line>) -> Response<Body> {
    let mut text: Vec<u8> =
        options.select(lines).iter().flat_map(|line| options.show(line).into_bytes()).collect();
    if let Some(limit) = options.limit {
        text.truncate(limit);
    }
    answers::bytes(200, "text/plain", text.into())
}

/// One who follows the log of one run of a container.
pub(crate) struct Reader {
    logs: Arc<Logs>,
    uid: String,
    container: String,
    run: u32,
    next: usize,
    ready: VecDeque<Line>,
    bell: watch::Receiver<()>,
}

impl Reader {
    /// One who hears what is written from now on.
    pub(crate) fn from_now(logs: &Arc<Logs>, uid: &str, container: &str) -> Option<Self> {
        let (run, bell) = logs.follow(uid, container)?;
        let next = logs.page(uid, container, run, usize::MAX)?.next;
        let (uid, container) = (uid.to_owned(), container.to_owned());
        Some(Self { logs: logs.clone(), uid, container, run, next, ready: VecDeque::new(), bell })
    }

    /// The next line; none when the run is over.
    pub(crate) async fn line(&mut self) -> Option<Line> {
        loop {
            if let Some(line) = self.ready.pop_front() {
                return Some(line);
            }
            self.bell.mark_unchanged();
            let page = self.logs.page(&self.uid, &self.container, self.run, self.next)?;
            self.next = page.next;
            self.ready.extend(page.lines);
            if self.ready.is_empty() && (!page.open || self.bell.changed().await.is_err()) {
                return None;
            }
        }
    }
}

/// Each line as it comes, up to the limit.
fn shown(reader: Reader, options: Options) -> impl Stream<Item = std::result::Result<Bytes, Infallible>> {
    let left = options.limit.unwrap_or(usize::MAX);
    futures::stream::unfold((reader, options, left), |(mut reader, options, left)| async move {
        if left == 0 {
            return None;
        }
        let mut text = options.show(&reader.line().await?).into_bytes();
        text.truncate(left);
        let left = left - text.len();
        Some((Ok(Bytes::from(text)), (reader, options, left)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(query: &str) -> Result<Options> {
        Options::read(&Params::parse(query), "p", Timestamp::from_second(1000).unwrap())
    }

    #[test]
    fn what_is_asked_for_is_checked_as_the_real_server_does() {
        for (query, told) in [
            ("tailLines=-1", "tailLines: Invalid value: -1: must be greater than or equal to 0"),
            ("limitBytes=0", "limitBytes: Invalid value: 0: must be greater than 0"),
            ("sinceSeconds=0", "sinceSeconds: Invalid value: 0: must be greater than 0"),
            ("sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z", "at most one of `sinceTime` or `sinceSeconds`"),
            ("tailLines=x", "strconv.ParseInt: parsing \"x\": invalid syntax"),
            ("sinceTime=yesterday", "no time such as"),
        ] {
            let error = options(query).unwrap_err();
            assert!(error.message.contains(told), "{query}: {}", error.message);
        }
        assert_eq!(options("").unwrap(), Options::default());
    }

    #[test]
    fn since_and_tail_choose_lines_and_a_stamp_has_nanoseconds() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let lines = vec![(at(900), "a".into()), (at(995), "b".into()), (at(999), "c".into())];
        let chosen = |query: &str| {
            let options = options(query).unwrap();
            options.select(lines.clone()).iter().map(|line| options.show(line)).collect::<String>()
        };
        assert_eq!(chosen("sinceSeconds=10"), "b\nc\n");
        assert_eq!(chosen("sinceTime=1970-01-01T00:16:39Z"), "c\n");
        assert_eq!(chosen("tailLines=2"), "b\nc\n");
        assert_eq!(chosen("tailLines=0"), "");
        assert_eq!(chosen("tailLines=1&timestamps=true"), "1970-01-01T00:16:39.000000000Z c\n");
    }
}
