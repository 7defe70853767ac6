//! The plane on a loopback port, for trying it with kubectl:
//!
//! ```sh
//! cargo run -p plane --example serve -- 8001 &
//! kubectl --server http://127.0.0.1:8001 get namespaces
//! ```

use std::error::Error;

use plane::Plane;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let port: u16 = std::env::args().nth(1).map_or(Ok(8001), |text| text.parse())?;
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    let stop = CancellationToken::new();
    let stopping = stop.clone();
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            stopping.cancel();
        }
    });
    Plane::new().serve(listener, None, stop).await?;
    Ok(())
}
