//! `switchwright lab`: the page and its engine, on this machine and for this machine alone.

pub(super) mod child;
mod engine;
mod files;
mod server;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use tokio::net::TcpListener;

use self::engine::Process;
use self::files::Files;
use self::server::Server;
use super::fault::{Context, Fault, Status};
use super::terminal::Terminal;

/// Arguments of `switchwright lab`.
#[derive(Debug, Args)]
pub(super) struct Lab {
    /// The port to listen on, at 127.0.0.1 [default: any that is free].
    #[arg(long, default_value_t = 0, hide_default_value = true, value_name = "N")]
    port: u16,
    /// The folder of a page that was built, instead of the one in this program.
    #[arg(long, value_name = "FOLDER")]
    page: Option<PathBuf>,
}

/// What `lab --json` prints when it is ready.
#[derive(Serialize)]
struct Ready {
    address: String,
}

impl Lab {
    pub(super) fn run(self, terminal: &Terminal) -> Result<(), Fault> {
        let files = Files::find(self.page.as_deref())?;
        let token = token()?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .map_err(|e| Fault::with(Status::Target, e))?;
        runtime.block_on(async {
            let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
            let listener = TcpListener::bind(address).await.map_err(|e| {
                Fault::with(Status::Target, format!("{address}: {e}"))
                    .help("give another --port, or none: then any free one is taken")
            })?;
            let address = listener.local_addr().input("the address of the page")?;
            let ready = Ready {
                address: format!("http://{address}/{token}/"),
            };
            let server = Server::new(files, token, address.port(), Process::new());
            terminal.result(&ready, || {
                format!(
                    "{}\nOpen this address in a browser. It is for this machine alone; Ctrl-C ends it.\n",
                    ready.address
                )
            })?;
            let mut ended = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())
                .map_err(|e| Fault::with(Status::Target, e))?;
            tokio::select! {
                served = axum::serve(listener, server.routes()) => {
                    served.map_err(|e| Fault::with(Status::Target, e))
                }
                _ = tokio::signal::ctrl_c() => Ok(()),
                _ = ended.recv() => Ok(()),
            }
        })
    }
}

/// What nobody can guess who was not told the address: 128 bits.
fn token() -> Result<String, Fault> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|e| Fault::with(Status::Target, format!("no random number: {e}")))?;
    Ok(bytes
        .iter()
        .fold(String::new(), |text, byte| text + &format!("{byte:02x}")))
}
