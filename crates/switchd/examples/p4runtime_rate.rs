//! Writes and reads of a million LPM entries over loopback gRPC: our server in this process, and simple_switch_grpc where its address is
//! given (`p4runtime_rate [ENTRIES [BATCH [IN_FLIGHT [HOST:PORT BMV2_JSON]]]]`).
#![allow(clippy::print_stdout)]

use std::error::Error;

use p4runtime::p4::config::v1::P4Info;
use p4runtime::p4::v1;
use p4runtime::p4::v1::p4_runtime_client::P4RuntimeClient;
use p4runtime::p4::v1::set_forwarding_pipeline_config_request::Action;
use p4runtime::p4::v1::stream_message_request::Update;
use switchd::engine::io::MemoryIo;
use switchd::engine::{Engine, EngineConfig};
use switchd::measure::{Load, PROGRAM, Rates, measure};
use switchd::server::{Server, ServerConfig};
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Channel;

fn info() -> Result<P4Info, Box<dyn Error>> {
    let mut map = p4front::source::SourceMap::new();
    let main = map.add("measure.p4", PROGRAM)?;
    let compiled = p4front::compile(&mut map, main, &p4front::Options::default());
    let compiled = compiled.map_err(|findings| findings.render(&map))?;
    Ok(switchd::p4info::message(&compiled.p4info))
}

async fn run(address: String, config: Vec<u8>, load: Load) -> Result<Rates, Box<dyn Error>> {
    let endpoint = Channel::from_shared(address)?
        .tcp_nodelay(true)
        .initial_stream_window_size(8 << 20)
        .initial_connection_window_size(64 << 20);
    let mut rpc =
        P4RuntimeClient::new(endpoint.connect().await?).max_decoding_message_size(64 << 20);
    let (sender, receiver) = tokio::sync::mpsc::channel(4);
    let arbitration = v1::MasterArbitrationUpdate {
        device_id: load.device_id,
        election_id: Some(load.election_id),
        ..Default::default()
    };
    sender
        .send(v1::StreamMessageRequest {
            update: Some(Update::Arbitration(arbitration)),
        })
        .await?;
    // Some servers answer nothing, not even headers, before they were asked: the question goes first.
    let mut answers = rpc
        .stream_channel(ReceiverStream::new(receiver))
        .await?
        .into_inner();
    answers.message().await?;
    rpc.set_forwarding_pipeline_config(v1::SetForwardingPipelineConfigRequest {
        device_id: load.device_id,
        election_id: Some(load.election_id),
        action: Action::VerifyAndCommit.into(),
        config: Some(v1::ForwardingPipelineConfig {
            p4info: Some(info()?),
            p4_device_config: config,
            cookie: None,
        }),
        ..Default::default()
    })
    .await?;
    Ok(measure(&rpc, &load).await?)
}

fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:"));
    line.and_then(|l| l.trim().trim_end_matches(" kB").parse().ok())
        .unwrap_or(0)
}

#[tokio::main(flavor = "multi_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, default| args.get(i).and_then(|a| a.parse().ok()).unwrap_or(default);
    let info = info()?;
    let id = |p: Option<&p4runtime::p4::config::v1::Preamble>| p.map_or(0, |p| p.id);
    let send = info
        .actions
        .iter()
        .find(|a| a.preamble.as_ref().is_some_and(|p| p.alias == "send"));
    let load = Load {
        entries: number(0, 1_000_000),
        batch: number(1, 1000),
        in_flight: number(2, 4),
        device_id: 0,
        election_id: v1::Uint128 { high: 0, low: 1 },
        table_id: id(info.tables.first().and_then(|t| t.preamble.as_ref())),
        action_id: id(send.and_then(|a| a.preamble.as_ref())),
    };
    if let (Some(address), Some(json)) = (args.get(3), args.get(4)) {
        let rates = run(format!("http://{address}"), std::fs::read(json)?, load).await?;
        println!(
            "other server: {:.0} writes/s, {:.0} reads/s",
            rates.writes, rates.reads
        );
        return Ok(());
    }
    let (io, _wires) = MemoryIo::new();
    let (engine, notifications) = Engine::start(&EngineConfig::default(), io)?;
    let config = ServerConfig::new(([127, 0, 0, 1], 0).into());
    let server = Server::start(config, engine.handle().clone(), notifications).await?;
    let address = format!("http://{}", server.address());
    let rates = run(address, PROGRAM.as_bytes().to_vec(), load).await?;
    let (both, cells) = engine
        .handle()
        .visit(|state, _| (state.control.bytes(), state.data.bytes()))?;
    println!(
        "{} entries: {:.0} writes/s, {:.0} reads/s; {} bytes per entry in each of two copies, {} bytes of cells; {} kB resident",
        rates.entries,
        rates.writes,
        rates.reads,
        both / load.entries.max(1),
        cells,
        resident()
    );
    server.stop().await;
    engine.stop();
    Ok(())
}
