//! `quintet payload-processing`, and `/bbr` in the original's place.

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use kube::Client;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::config::Flags;
use crate::extproc::{BodyMode, Limits};
use crate::server::{Listeners, MetricsAccess, Options, Server};
use crate::tls::Identity;
use crate::traces::Traces;
use crate::watch::Needs;
use crate::{logging, tls};

/// How long open streams may take to end.
const GRACE: Duration = Duration::from_secs(30);

#[derive(Parser, Debug)]
#[command(name = "bbr", about = "Processes requests and responses between a gateway and model providers")]
struct Bbr {
    #[command(flatten)]
    flags: Flags,
}

/// `/bbr` with the original's arguments, the program's name first. Long flags may have one dash.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    match Bbr::try_parse_from(arguments.into_iter().map(two_dashes)) {
        Ok(bbr) => run(bbr.flags),
        Err(error) => {
            let _ = error.print();
            ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
        }
    }
}

/// Runs until told to stop. Exit code 0 after an orderly end, 1 for anything else.
pub fn run(flags: Flags) -> ExitCode {
    logging::init(flags.log_level());
    tls::install_crypto();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            tracing::error!(%error, "cannot start");
            return ExitCode::FAILURE;
        }
    };
    match runtime.block_on(serve(flags)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error}");
            ExitCode::FAILURE
        }
    }
}

type Failed = Box<dyn std::error::Error + Send + Sync>;

async fn serve(flags: Flags) -> Result<(), Failed> {
    let ports = flags.ports()?;
    let traces = match flags.tracing {
        true => Some(Traces::new(|name| std::env::var(name).ok()).map_err(|e| format!("tracing: {e}"))?),
        false => None,
    };
    let plugins = flags.chain();
    let needs_cluster = flags.metrics_endpoint_auth || !Needs::of(&plugins).nothing();
    let client = if needs_cluster {
        let client = Client::try_default().await;
        Some(client.map_err(|e| {
            format!("no Kubernetes API server is configured: {e}; set KUBECONFIG or run in a cluster with a ServiceAccount")
        })?)
    } else {
        None
    };
    let metrics_access = match &client {
        Some(client) if flags.metrics_endpoint_auth => MetricsAccess::reviewed(client.clone()),
        _ => MetricsAccess::Open,
    };
    let identity = match (&flags.cert_path, flags.secure_serving) {
        (_, false) => None,
        (Some(folder), true) => Some(Identity::from_folder(folder)?),
        (None, true) => Some(Identity::self_signed()?),
    };
    let mode = if flags.streaming { BodyMode::Duplex } else { BodyMode::Buffered };
    let server = Server::new(Options {
        plugins,
        mode,
        limits: Limits::default(),
        identity,
        metrics_access,
        pprof: flags.enable_pprof,
    })?
    .traced(traces.as_ref().map(Traces::tracer));
    let listeners = Listeners::bind(ports).await?;
    tracing::info!(grpc_port = ports[0], health_port = ports[1], metrics_port = ports[2], "starting");
    let namespace = std::env::var("NAMESPACE").ok().filter(|namespace| !namespace.is_empty());

    let stop = CancellationToken::new();
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let mut told = async || {
        tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
    };
    let mut serving = std::pin::pin!(server.serve(listeners, client.map(|c| (c, namespace)), stop.clone()));
    tokio::select! {
        ended = &mut serving => return Ok(ended?),
        () = told() => tracing::info!("stopping"),
    }
    stop.cancel();
    tokio::select! {
        ended = &mut serving => Ok(ended?),
        () = told() => Err("told twice to stop".into()),
        () = tokio::time::sleep(GRACE) => Err("open streams did not end in time".into()),
    }
}

/// The original's flags were also written with one dash.
fn two_dashes(argument: OsString) -> OsString {
    match argument.to_str() {
        Some(text) if text.len() > 2 && text.starts_with('-') && text.as_bytes()[1].is_ascii_lowercase() => {
            let name = text[1..].split('=').next().unwrap_or_default();
            // -v3 and -v=3 are the short flag.
            if name.len() > 1 && !name[1..].starts_with(|c: char| c.is_ascii_digit()) {
                format!("-{text}").into()
            } else {
                argument
            }
        }
        _ => argument,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_dash_is_as_good_as_two() {
        let changed = |text: &str| two_dashes(text.into()).into_string().unwrap();
        for (given, expected) in [
            ("-streaming", "--streaming"),
            ("-grpc-port=1", "--grpc-port=1"),
            ("--streaming", "--streaming"),
            ("-v", "-v"),
            ("-v=3", "-v=3"),
            ("-v3", "-v3"),
            ("-1", "-1"),
            ("a:b:{\"-x\":1}", "a:b:{\"-x\":1}"),
        ] {
            assert_eq!(changed(given), expected);
        }
    }

    #[test]
    fn wrong_usage_is_exit_code_2_and_wrong_ports_1() {
        let code = |args: &[&str]| main(args.iter().map(OsString::from));
        assert_eq!(format!("{:?}", code(&["bbr", "--plugin", "nope"])), format!("{:?}", ExitCode::from(2)));
        assert_eq!(format!("{:?}", code(&["bbr", "--grpc-port=9090"])), format!("{:?}", ExitCode::FAILURE));
        let unknown = ["bbr", "--metrics-endpoint-auth=false", "--plugin", "no-such:x"];
        assert_eq!(format!("{:?}", code(&unknown)), format!("{:?}", ExitCode::FAILURE));
    }
}
