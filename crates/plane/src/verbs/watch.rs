//! Watches: the changes of a resource as a stream of lines.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures::StreamExt;
use futures::stream::{self, Stream};
use http::{HeaderValue, Response, header};
use rand::RngExt;
use tokio::time::Instant;

use super::collection::{Selection, check_options};
use super::read::parse_version;
use crate::server::{Ctx, Shape, answer};
use crate::status::{Error, Result};
use crate::store::{Change, Interrupted, Listing, Object, Watcher};
use crate::write::present_all;

/// How often a quiet watch tells how far it is.
const BOOKMARK_EVERY: Duration = Duration::from_secs(60);

pub(crate) async fn watch(ctx: Ctx) -> Result<Response<Body>> {
    check_options(&ctx)?;
    let selection = Selection::parse(&ctx)?;
    let plan = Plan::parse(&ctx)?;
    let store = ctx.plane.store().clone();
    let (initial, from) = if plan.initial {
        let matches = |object: &Object| selection.matches(&object.facts);
        let listing = Listing::now(&ctx.resource.table, ctx.namespace(), &matches);
        let page =
            store.list(listing).map_err(|_| Error::internal("the current state could not be listed"))?;
        (present_all(&ctx.plane, &ctx.resource, page.objects).await?, page.revision)
    } else {
        (Vec::new(), plan.from.unwrap_or_else(|| store.revision()))
    };
    let (watcher, first) = match store.watch(&ctx.resource.table, from) {
        Ok(watcher) => (Some(watcher), Vec::new()),
        Err(Interrupted::TooOld(oldest)) => (None, vec![too_old(from, oldest)]),
        Err(Interrupted::Gone) => return Err(Error::unknown_path()),
    };
    let accept = ctx.accept;
    let mut streaming = Streaming {
        ctx,
        selection,
        watcher,
        columns_sent: false,
        bookmarks: plan.bookmarks,
        end: Instant::now() + plan.timeout,
        next_bookmark: Instant::now() + BOOKMARK_EVERY,
        last_bookmark_sent: false,
        asked: from,
    };
    let mut lines = first;
    if streaming.watcher.is_some() {
        for object in initial {
            lines.push(streaming.line("ADDED", &object)?);
        }
        if plan.initial && plan.initial_end {
            lines.push(streaming.bookmark(from, true)?);
        }
    }
    let body = Body::from_stream(streaming.run(lines));
    let mut response = Response::new(body);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(accept.content_type()));
    Ok(response)
}

/// The answer to a watch that a fault makes too old.
pub(crate) fn expired_watch() -> Response<Body> {
    Response::new(Body::from(too_old(1, 2)))
}

/// The watch, ending without a word after so many events: every frame of its body is one line.
pub(crate) fn cut_watch(response: Response<Body>, events: usize) -> Response<Body> {
    response.map(|body| Body::from_stream(body.into_data_stream().take(events)))
}

/// The watch, each line this much later.
pub(crate) fn delay_watch(response: Response<Body>, time: Duration) -> Response<Body> {
    response.map(|body| {
        Body::from_stream(body.into_data_stream().then(move |line| async move {
            tokio::time::sleep(time).await;
            line
        }))
    })
}

/// What the parameters ask for.
struct Plan {
    initial: bool,
    initial_end: bool,
    bookmarks: bool,
    from: Option<u64>,
    timeout: Duration,
}

impl Plan {
    fn parse(ctx: &Ctx) -> Result<Self> {
        let params = &ctx.params;
        let version = params.get("resourceVersion");
        let from = match version {
            "" => None,
            text => Some(parse_version(text).map_err(Error::bare)?).filter(|v| *v > 0),
        };
        let bookmarks = params.flag("allowWatchBookmarks");
        let initial = match params.has("sendInitialEvents") {
            true => params.flag("sendInitialEvents"),
            false => from.is_none(),
        };
        let initial_end = bookmarks && (params.flag("sendInitialEvents") || version.is_empty());
        let seconds = match params.number("timeoutSeconds")? {
            Some(seconds) if seconds > 0 => seconds.unsigned_abs(),
            _ => rand::rng().random_range(1800..3600),
        };
        Ok(Self { initial, initial_end, bookmarks, from, timeout: Duration::from_secs(seconds) })
    }
}

fn too_old(asked: u64, oldest: u64) -> Bytes {
    let error = Error::expired(format!("too old resource version: {asked} ({oldest})"));
    error_line(&error)
}

fn error_line(error: &Error) -> Bytes {
    let mut line = b"{\"type\":\"ERROR\",\"object\":".to_vec();
    line.extend_from_slice(&error.to_json());
    line.extend_from_slice(b"}\n");
    line.into()
}

/// A running watch.
struct Streaming {
    ctx: Ctx,
    selection: Selection,
    watcher: Option<Watcher>,
    columns_sent: bool,
    bookmarks: bool,
    end: Instant,
    next_bookmark: Instant,
    last_bookmark_sent: bool,
    asked: u64,
}

impl Streaming {
    /// The stream of lines, beginning with these.
    fn run(
        self,
        first: Vec<Bytes>,
    ) -> impl Stream<Item = std::result::Result<Bytes, std::convert::Infallible>> {
        stream::unfold((self, first.into_iter()), |(mut this, mut ready)| async move {
            loop {
                if let Some(line) = ready.next() {
                    return Some((Ok(line), (this, ready)));
                }
                ready = this.more().await?.into_iter();
            }
        })
    }

    /// The next lines; `None` at the end.
    async fn more(&mut self) -> Option<Vec<Bytes>> {
        loop {
            let batch = match self.watcher.as_mut()?.read() {
                Ok(batch) => batch,
                Err(Interrupted::TooOld(oldest)) => {
                    self.watcher = None;
                    return Some(vec![too_old(self.asked, oldest)]);
                }
                Err(Interrupted::Gone) => return None,
            };
            self.asked = batch.revision;
            let mut lines = Vec::with_capacity(batch.changes.len());
            for change in &batch.changes {
                match self.event(change).await {
                    Ok(Some(line)) => lines.push(line),
                    Ok(None) => {}
                    Err(error) => {
                        lines.push(error_line(&error));
                        self.watcher = None;
                        return Some(lines);
                    }
                }
            }
            if !lines.is_empty() {
                return Some(lines);
            }
            if !batch.changes.is_empty() {
                continue;
            }
            let bookmark_at = if self.bookmarks { self.bookmark_time() } else { self.end };
            let watcher = self.watcher.as_mut()?;
            tokio::select! {
                biased;
                more = watcher.changed() => {
                    if !more {
                        return None;
                    }
                }
                () = tokio::time::sleep_until(bookmark_at.min(self.end)) => {
                    let now = Instant::now();
                    if now >= self.end {
                        return None;
                    }
                    if self.bookmarks && now >= bookmark_at {
                        self.last_bookmark_sent = now + Duration::from_secs(2) >= self.end;
                        self.next_bookmark = now + BOOKMARK_EVERY;
                        return self.bookmark(batch.revision, false).ok().map(|line| vec![line]);
                    }
                }
            }
        }
    }

    /// Every minute, and two seconds before the end.
    fn bookmark_time(&self) -> Instant {
        let last = self.end.checked_sub(Duration::from_secs(2)).unwrap_or(self.end);
        match self.last_bookmark_sent {
            true => self.end,
            false => self.next_bookmark.min(last),
        }
    }

    /// The line for a change, if this watch sees it.
    async fn event(&mut self, change: &Arc<Change>) -> Result<Option<Bytes>> {
        let namespace = self.ctx.namespace();
        if !namespace.is_empty() && change.object.facts.namespace.as_ref() != namespace {
            return Ok(None);
        }
        let now = !change.removed && self.selection.matches(&change.object.facts);
        let before = change.old.as_ref().is_some_and(|old| self.selection.matches(&old.facts));
        let (kind, object) = match (before, now) {
            (false, false) => return Ok(None),
            (false, true) => ("ADDED", change.object.clone()),
            (true, true) => ("MODIFIED", change.object.clone()),
            (true, false) if change.removed => ("DELETED", change.object.clone()),
            (true, false) => match &change.old {
                // It no longer matches: the last content that did, under the version of this write.
                Some(old) => ("DELETED", Arc::new(old.at_revision(change.revision))),
                None => return Ok(None),
            },
        };
        // The line everybody without a selector gets is made once.
        let plain = self.ctx.accept.shape == Shape::Object
            && self.selection.is_empty()
            && self.ctx.resource.gvk.version == object.stored_version
            && self.ctx.resource.table == change.table
            && !crate::resource::translate::differs(&self.ctx.resource);
        if plain {
            return Ok(Some(
                change.line.get_or_init(|| frame(kind, &self.ctx.resource.prefix, &object)).clone(),
            ));
        }
        let mut shown = present_all(&self.ctx.plane, &self.ctx.resource, vec![object]).await?;
        match shown.pop() {
            Some(object) => self.line(kind, &object).map(Some),
            None => Ok(None),
        }
    }

    fn line(&mut self, kind: &str, object: &Object) -> Result<Bytes> {
        Ok(match self.ctx.accept.shape {
            Shape::Object => frame(kind, &self.ctx.resource.prefix, object),
            Shape::Metadata => wrap(kind, &answer::metadata(object, self.ctx.accept.meta_version())),
            Shape::Table => {
                let table = crate::table::event(&self.ctx, object, !self.columns_sent)?;
                self.columns_sent = true;
                wrap(kind, &table)
            }
        })
    }

    /// Tells how far the watch is; the annotation marks the end of the initial events.
    fn bookmark(&mut self, revision: u64, initial_end: bool) -> Result<Bytes> {
        let annotations =
            if initial_end { ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}" } else { "" };
        let metadata = format!("{{\"resourceVersion\":\"{revision}\"{annotations}}}");
        let object = match self.ctx.accept.shape {
            Shape::Object => {
                let prefix = String::from_utf8_lossy(&self.ctx.resource.prefix);
                format!("{prefix}\"metadata\":{metadata}}}")
            }
            Shape::Metadata => format!(
                "{{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"{}\",\"metadata\":{metadata}}}",
                self.ctx.accept.meta_version()
            ),
            Shape::Table => {
                let table = crate::table::bookmark(&self.ctx, &metadata, revision, !self.columns_sent)?;
                self.columns_sent = true;
                table
            }
        };
        Ok(wrap("BOOKMARK", object.as_bytes()))
    }
}

fn frame(kind: &str, prefix: &[u8], object: &Object) -> Bytes {
    let body = object.body();
    let mut line = Vec::with_capacity(body.len() + prefix.len() + 40);
    line.extend_from_slice(b"{\"type\":\"");
    line.extend_from_slice(kind.as_bytes());
    line.extend_from_slice(b"\",\"object\":");
    line.extend_from_slice(prefix);
    line.extend_from_slice(&body[1..]);
    line.extend_from_slice(b"}\n");
    line.into()
}

fn wrap(kind: &str, object: &[u8]) -> Bytes {
    let mut line = Vec::with_capacity(object.len() + 40);
    line.extend_from_slice(b"{\"type\":\"");
    line.extend_from_slice(kind.as_bytes());
    line.extend_from_slice(b"\",\"object\":");
    line.extend_from_slice(object);
    line.extend_from_slice(b"}\n");
    line.into()
}
