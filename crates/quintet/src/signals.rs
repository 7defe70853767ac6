//! SIGTERM and Ctrl-C.

use anyhow::{Context, Result};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// A token that falls at the first SIGTERM or Ctrl-C. The handlers are set up before this returns, so no signal is missed.
pub fn stop_token() -> Result<CancellationToken> {
    let mut terminate = signal(SignalKind::terminate()).context("waiting for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("waiting for Ctrl-C")?;
    let stop = CancellationToken::new();
    let falls = stop.clone();
    tokio::spawn(async move {
        tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
        tracing::info!("stopping");
        falls.cancel();
    });
    Ok(stop)
}
