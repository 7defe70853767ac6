//! Bytes between a client and a port of a Pod, whatever protocol the client speaks.

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;

/// Carries what the client sent to the port, and what the port says, framed, to the client, until the port has said all
/// or the client is gone.
pub(super) async fn relay<M>(
    port: impl AsyncRead + AsyncWrite,
    received: &mut mpsc::Receiver<Bytes>,
    sender: &mpsc::Sender<M>,
    framed: impl Fn(&[u8]) -> M,
) {
    let (mut reader, mut writer) = tokio::io::split(port);
    let inward = async {
        while let Some(bytes) = received.recv().await {
            if writer.write_all(&bytes).await.is_err() {
                break;
            }
        }
        let _ = writer.shutdown().await;
        std::future::pending().await // what is still to come is read
    };
    let outward = async {
        let mut buffer = vec![0; 16 * 1024];
        while let Ok(read @ 1..) = reader.read(&mut buffer).await {
            if sender.send(framed(&buffer[..read])).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = inward => {}
        () = outward => {}
    }
}
