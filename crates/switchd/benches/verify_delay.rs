//! The worst delay of packets while programs are verified and set beside them: `verify_delay
//! [TABLES [ROUNDS [interp|compile]]]`. A packet a millisecond goes by UDP through a switch of two
//! ports; a client pushes a program of so many tables again and again.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::fmt::Write as _;
use std::net::UdpSocket;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use p4runtime::p4::v1;
use p4runtime::p4::v1::p4_runtime_client::P4RuntimeClient;
use p4runtime::p4::v1::set_forwarding_pipeline_config_request::Action;
use p4runtime::p4::v1::stream_message_request::Update;
use switchd::engine::{Engine, EngineConfig, ExecutorKind};
use switchd::ports::{PortBinding, PortOptions, Ports};
use switchd::server::build::{BuildLimits, ChildBuilder, PipelineBuilder, child};
use switchd::server::{Server, ServerConfig};
use tokio_stream::wrappers::ReceiverStream;

/// What makes this program the child that builds.
const BUILD: &str = "build-pipeline";

/// Between two packets.
const INTERVAL: Duration = Duration::from_millis(1);

/// How long the switch is watched before anything is pushed.
const CALM: Duration = Duration::from_secs(5);

const ELECTION: Option<v1::Uint128> = Some(v1::Uint128 { high: 0, low: 1 });

fn main() -> ExitCode {
    // Cargo adds `--bench`.
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| a != "--bench")
        .collect();
    if arguments.first().is_some_and(|first| first == BUILD) {
        return child::main();
    }
    let runtime = tokio::runtime::Runtime::new();
    match runtime
        .map_err(Into::into)
        .and_then(|r| r.block_on(measure(&arguments)))
    {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// A program that sends what comes at port 1 to port 2, with so many tables on the way.
fn program(tables: usize) -> String {
    let mut text = String::from(
        "#include <core.p4>\n#include <v1model.p4>\n\
         header h_t { bit<32> a; bit<32> b; }\nstruct H { h_t h; }\nstruct M { }\n\
         parser P(packet_in b, out H h, inout M m, inout standard_metadata_t s) {\n\
             state start { b.extract(h.h); transition accept; }\n}\n\
         control V(inout H h, inout M m) { apply { } }\n\
         control I(inout H h, inout M m, inout standard_metadata_t s) {\n",
    );
    let mut applied = String::new();
    for n in 0..tables {
        // Writing to a text cannot fail.
        let _ = writeln!(
            text,
            "action a{n}(bit<9> p) {{ s.egress_spec = p; }}\n\
             table t{n} {{ key = {{ h.h.a: exact; h.h.b: ternary; }} actions = {{ a{n}; NoAction; }} }}"
        );
        let _ = writeln!(applied, "t{n}.apply();");
    }
    text + "apply { s.egress_spec = 2;\n"
        + &applied
        + "} }\n\
         control E(inout H h, inout M m, inout standard_metadata_t s) { apply { } }\n\
         control C(inout H h, inout M m) { apply { } }\n\
         control D(packet_out b, in H h) { apply { b.emit(h.h); } }\n\
         V1Switch(P(), V(), I(), E(), C(), D()) main;\n"
}

fn config(text: String) -> Result<v1::ForwardingPipelineConfig, Box<dyn Error>> {
    let mut map = p4front::source::SourceMap::new();
    let main = map.add("program.p4", text.as_str())?;
    let compiled = p4front::compile(&mut map, main, &p4front::Options::default())
        .map_err(|findings| findings.render(&map))?;
    Ok(v1::ForwardingPipelineConfig {
        p4info: Some(compiled.p4info),
        p4_device_config: text.into_bytes(),
        cookie: None,
    })
}

/// Packets through the switch; the thread gives back their delays.
struct Stream {
    over: Arc<AtomicBool>,
    thread: JoinHandle<Vec<Duration>>,
}

impl Stream {
    /// Sends and receives on one thread, so that a delay is what the switch took, and what this
    /// thread waited for a processor.
    fn start(from: &UdpSocket, to: &UdpSocket, port: String) -> std::io::Result<Self> {
        let (from, to) = (from.try_clone()?, to.try_clone()?);
        let over = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&over);
        let thread = thread::spawn(move || {
            let mut delays = Vec::new();
            let mut buffer = [0; 64];
            while !stop.load(Ordering::Relaxed) {
                let began = Instant::now();
                if from.send_to(&[0; 64], &port).is_ok() && to.recv(&mut buffer).is_ok() {
                    delays.push(began.elapsed());
                }
                thread::sleep(INTERVAL.saturating_sub(began.elapsed()));
            }
            delays
        });
        Ok(Self { over, thread })
    }

    fn tell(self, when: &str) {
        self.over.store(true, Ordering::Relaxed);
        let mut delays = self.thread.join().unwrap_or_default();
        delays.sort_unstable();
        let at = |share: f64| {
            let index = (delays.len() as f64 * share) as usize;
            delays.get(index.min(delays.len().saturating_sub(1)))
        };
        let [half, most, worst] = [0.5, 0.999, 1.0].map(|share| at(share).copied());
        println!(
            "{when}: {} packets, delay {:.2?}, 99.9 % {:.2?}, worst {:.2?}",
            delays.len(),
            half.unwrap_or_default(),
            most.unwrap_or_default(),
            worst.unwrap_or_default()
        );
    }
}

async fn measure(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let number = |i: usize, default| {
        let given = arguments.get(i).and_then(|a| a.parse().ok());
        given.unwrap_or(default)
    };
    let (tables, rounds) = (number(0, 1_200), number(1, 3));
    let executor = match arguments.get(2).map(String::as_str) {
        Some("interp") => ExecutorKind::Interp,
        _ => ExecutorKind::Compile,
    };
    let free = || UdpSocket::bind("127.0.0.1:0");
    let (from, to) = (free()?, free()?);
    to.set_read_timeout(Some(Duration::from_secs(2)))?;
    let (first, second) = (free()?.local_addr()?, free()?.local_addr()?);
    let bindings: Vec<PortBinding> = vec![
        format!("1=udp:{first}->{}", from.local_addr()?).parse()?,
        format!("2=udp:{second}->{}", to.local_addr()?).parse()?,
    ];
    let (mut ports, set) = Ports::open(&bindings, PortOptions::default())?;
    let engine = EngineConfig {
        ports: ports.numbers(),
        executor,
        ..EngineConfig::default()
    };
    let (engine, notifications) = Engine::start(&engine, set)?;
    ports.attach(engine.handle())?;
    let child = ChildBuilder::this_program(BUILD, BuildLimits::default());
    let server = ServerConfig {
        builder: PipelineBuilder::Child(child),
        ..ServerConfig::new(([127, 0, 0, 1], 0).into())
    };
    let server = Server::start(server, engine.handle().clone(), notifications).await?;
    server.switch().load(config(program(1))?)?;
    let start = || Stream::start(&from, &to, first.to_string());

    let stream = start()?;
    tokio::time::sleep(CALM).await;
    stream.tell("nothing else");

    let pushed = config(program(tables))?;
    let mut rpc = P4RuntimeClient::connect(format!("http://{}", server.address())).await?;
    let (sender, receiver) = tokio::sync::mpsc::channel(4);
    let update = Some(Update::Arbitration(v1::MasterArbitrationUpdate {
        election_id: ELECTION,
        ..Default::default()
    }));
    sender.send(v1::StreamMessageRequest { update }).await?;
    let mut inbox = rpc
        .stream_channel(ReceiverStream::new(receiver))
        .await?
        .into_inner();
    inbox.message().await?;
    for action in [Action::Verify, Action::VerifyAndCommit] {
        for _ in 0..rounds {
            let stream = start()?;
            let began = Instant::now();
            let request = v1::SetForwardingPipelineConfigRequest {
                election_id: ELECTION,
                action: action.into(),
                config: Some(pushed.clone()),
                ..Default::default()
            };
            rpc.set_forwarding_pipeline_config(request).await?;
            let took = began.elapsed();
            stream.tell(&format!(
                "{} of {tables} tables, {took:.2?}",
                action.as_str_name()
            ));
        }
    }
    server.stop().await;
    engine.stop();
    Ok(())
}
