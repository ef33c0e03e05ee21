//! Writes and reads of a million entries over loopback gRPC, server and client in one process, to be profiled:
//! `p4runtime_rate [lpm|exact [ENTRIES [BATCH [IN_FLIGHT]]]]`. Side by side with BMv2: `switchwright bench p4runtime`.
#![allow(clippy::print_stdout)]

use std::error::Error;

use conformance::rates::{Kind, Load, PROGRAM, Session};
use switchd::engine::io::MemoryIo;
use switchd::engine::{Engine, EngineConfig};
use switchd::server::{Server, ServerConfig};

#[tokio::main(flavor = "multi_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, default| args.get(i).and_then(|a| a.parse().ok()).unwrap_or(default);
    let exact = args.first().is_some_and(|kind| kind == "exact");
    let load = Load {
        kind: if exact { Kind::Exact } else { Kind::Lpm },
        entries: number(1, 1_000_000),
        batch: number(2, 1000),
        in_flight: number(3, 4),
    };
    let (io, _wires) = MemoryIo::new();
    let (engine, notifications) = Engine::start(&EngineConfig::default(), io)?;
    let config = ServerConfig::new(([127, 0, 0, 1], 0).into());
    let server = Server::start(config, engine.handle().clone(), notifications).await?;
    let address = server.address().to_string();
    let session = Session::open(&address, 0, PROGRAM.as_bytes().to_vec()).await?;
    let rates = session.measure(&load).await?;
    let (each, cells) = engine
        .handle()
        .visit(|state, _| (state.control.bytes(), state.data.bytes()))?;
    println!(
        "{} {} entries: {:.0} writes/s, {:.0} reads/s; {} bytes per entry in each of two copies, {cells} bytes of cells",
        rates.entries,
        load.kind.name(),
        rates.writes,
        rates.reads,
        each / load.entries.max(1),
    );
    drop(session);
    server.stop().await;
    engine.stop();
    Ok(())
}
