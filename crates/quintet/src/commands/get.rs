//! `quintet get`: shows objects, once or as they change.

use anyhow::{Context, Result};
use futures::StreamExt;
use http::{Request, header};
use kube::Client;
use serde_json::Value;

use crate::client::catalogue::{Catalogue, Served};
use crate::client::connect::Server;
use crate::client::raw::{self, Column, Row, ServerTable};
use crate::commands::tree::{State, health};
use crate::errors::{Exit, Refusal};
use crate::output::{self, Format, Paint, Table};

const EXAMPLES: &str = "\
Examples:
  quintet get                          # the kinds that the server serves
  quintet get mlflows
  quintet get pods -A -l app=mlflow
  quintet get mlflow mlflow -o yaml
  quintet get deployments -n opendatahub -w";

/// Flags of `quintet get`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Kind, plural or short name; without it, the kinds that the server serves
    pub kind: Option<String>,
    /// Name of one object
    pub name: Option<String>,
    /// Namespace
    #[arg(short, long)]
    pub namespace: Option<String>,
    /// All namespaces
    #[arg(short = 'A', long, conflicts_with_all = ["namespace", "name"])]
    pub all_namespaces: bool,
    /// Label selector
    #[arg(short = 'l', long, value_name = "LABELS", conflicts_with = "name")]
    pub selector: Option<String>,
    /// Go on showing changes until interrupted
    #[arg(short, long, conflicts_with = "output")]
    pub watch: bool,
    /// For machines
    #[arg(short, long, value_enum)]
    pub output: Option<Format>,
    /// All columns
    #[arg(long)]
    pub wide: bool,
}

/// Prints what was asked for.
pub async fn run(server: &Server, args: Args) -> Result<()> {
    let client = server.connect().await?;
    let catalogue = Catalogue::discover(&client).await?;
    let Some(kind) = &args.kind else { return output::print(&kinds(&catalogue)) };
    let served = catalogue.find(kind)?;
    let default = client.default_namespace().to_string();
    let namespace =
        if args.all_namespaces { None } else { Some(args.namespace.as_deref().unwrap_or(&default)) };
    let query = Query { served, namespace, args: &args };
    match args.output {
        Some(format) => output::print(&query.objects(&client, format).await?),
        None => query.rows(&client).await,
    }
}

fn kinds(catalogue: &Catalogue) -> String {
    let mut table = Table::new(["NAME", "APIVERSION", "NAMESPACED", "KIND"]);
    for s in catalogue.listable() {
        table.row([
            s.api.plural.clone(),
            s.api.api_version.clone(),
            s.namespaced.to_string(),
            s.api.kind.clone(),
        ]);
    }
    table.to_string()
}

struct Query<'a> {
    served: &'a Served,
    namespace: Option<&'a str>,
    args: &'a Args,
}

impl Query<'_> {
    fn request(&self, accept: &str, watch_from: Option<&str>) -> Result<Request<Vec<u8>>> {
        let mut path = self.served.path(self.namespace);
        let mut query = vec![];
        match (&self.args.name, watch_from) {
            (Some(name), None) => path = format!("{path}/{name}"),
            (Some(name), Some(_)) => query.push(format!("fieldSelector=metadata.name%3D{name}")),
            (None, _) => {}
        }
        if let Some(version) = watch_from {
            query.push(format!("watch=true&resourceVersion={version}"));
        }
        if accept == raw::TABLE && self.is_custom() {
            query.push("includeObject=Object".into()); // to say how each is, see [`Printer`]
        }
        if let Some(labels) = &self.args.selector {
            query.push(
                form_urlencoded::Serializer::new(String::new()).append_pair("labelSelector", labels).finish(),
            );
        }
        let uri = if query.is_empty() { path } else { format!("{path}?{}", query.join("&")) };
        Request::get(uri)
            .header(header::ACCEPT, accept)
            .body(vec![])
            .context("the name does not fit into a URL")
    }

    /// A kind that no Kubernetes brings.
    fn is_custom(&self) -> bool {
        let group = &self.served.api.group;
        group.contains('.') && !group.ends_with(".k8s.io")
    }

    async fn objects(&self, client: &Client, format: Format) -> Result<String> {
        let mut answer = raw::send::<Value>(client, self.request("application/json", None)?).await?.body;
        strip_managed_fields(&mut answer);
        output::document(&answer, format)
    }

    async fn rows(&self, client: &Client) -> Result<()> {
        let first = raw::send::<ServerTable>(client, self.request(raw::TABLE, None)?).await?.body;
        let mut printer = Printer::new(self, first.column_definitions);
        if first.rows.is_empty() && !self.args.watch {
            let place =
                self.namespace.filter(|_| self.served.namespaced).map(|n| format!(" in namespace {n}"));
            return output::print(&format!("no {}{}\n", self.served.resource(), place.unwrap_or_default()));
        }
        output::print(&printer.page(&first.rows))?;
        if !self.args.watch {
            return Ok(());
        }
        let version = first.metadata["resourceVersion"].as_str().unwrap_or_default().to_string();
        let mut events =
            Box::pin(client.request_events::<ServerTable>(self.request(raw::TABLE, Some(&version))?).await?);
        while let Some(event) = events.next().await {
            use kube::core::WatchEvent::{Added, Bookmark, Deleted, Error, Modified};
            match event? {
                Added(table) | Modified(table) | Deleted(table) => output::print(&printer.page(&table.rows))?,
                Bookmark(_) => {}
                Error(status) => {
                    return Err(Refusal::new(Exit::Failed, format!("the watch ended: {}", status.message))
                        .next("run it again to go on from now")
                        .into());
                }
            }
        }
        Ok(())
    }
}

/// Prints rows page by page; the heading once, column widths growing as they must. Where the server's columns tell nothing but
/// names and ages, one of ours says how each object is.
struct Printer {
    columns: Vec<(usize, String)>,
    with_namespace: bool,
    with_state: bool,
    widths: Vec<usize>,
    headed: bool,
}

impl Printer {
    fn new(query: &Query<'_>, columns: Vec<Column>) -> Self {
        let shown = |c: &Column| query.args.wide || c.priority == 0;
        let columns = columns.into_iter().enumerate().filter(|(_, c)| shown(c));
        let columns: Vec<_> = columns.map(|(i, c)| (i, c.name.to_uppercase())).collect();
        let says_nothing = columns.iter().all(|(_, name)| matches!(name.as_str(), "NAME" | "AGE"));
        Printer {
            columns,
            with_namespace: query.namespace.is_none() && query.served.namespaced,
            with_state: query.is_custom() && says_nothing,
            widths: vec![],
            headed: false,
        }
    }

    fn page(&mut self, rows: &[Row]) -> String {
        let mut lines: Vec<Vec<String>> = vec![];
        if !self.headed {
            self.headed = true;
            let namespace = self.with_namespace.then(|| "NAMESPACE".to_string());
            let state = self.with_state.then(|| "STATE".to_string());
            let names = self.columns.iter().map(|(_, name)| name.clone());
            lines.push(namespace.into_iter().chain(names).chain(state).collect());
        }
        for row in rows {
            let namespace = row.object["metadata"]["namespace"].as_str().unwrap_or_default();
            let cell = |i: usize| row.cells.get(i).map(text).unwrap_or_default();
            let cells = self.columns.iter().map(|(i, _)| cell(*i));
            let namespace = self.with_namespace.then(|| namespace.to_string());
            let state = self.with_state.then(|| state(&row.object));
            lines.push(namespace.into_iter().chain(cells).chain(state).collect());
        }
        for line in &lines {
            self.widths.resize(line.len().max(self.widths.len()), 0);
            for (width, cell) in self.widths.iter_mut().zip(line) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let pad = |line: &Vec<String>| -> String {
            let cells = line.iter().zip(&self.widths).map(|(c, w)| format!("{c:<w$}   "));
            cells.collect::<String>().trim_end().to_string() + "\n"
        };
        lines.iter().map(pad).collect()
    }
}

/// How an object is, and why it is not ready.
fn state(object: &Value) -> String {
    let verdict = health(object);
    let why = verdict.why.first().map(|why| format!(": {why}")).unwrap_or_default();
    match verdict.state {
        State::Plain => String::new(),
        state => Paint::detect().tone(state.tone(), &(verdict.summary + &why)),
    }
}

fn text(cell: &Value) -> String {
    match cell {
        Value::Null => "<none>".into(),
        Value::String(s) => s.clone(),
        other => other.to_string(),
    }
}

/// Nobody reads them by eye, and they are half of what is printed.
fn strip_managed_fields(answer: &mut Value) {
    let strip = |object: &mut Value| {
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
        }
    };
    match answer.get_mut("items").and_then(Value::as_array_mut) {
        Some(items) => items.iter_mut().for_each(strip),
        None => strip(answer),
    }
}
