//! Readers that take nothing of their answers, and a writer beside them: what the server's memory
//! comes to, and how long writes take. `slow_readers [READERS [ENTRIES [CONNECTIONS [WINDOW]]]]`;
//! WINDOW is what a client lets the server send unasked, in bytes.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use conformance::rates::{Kind, Load, PROGRAM, Session};
use p4runtime::p4::v1::p4_runtime_client::P4RuntimeClient;
use switchd::engine::io::MemoryIo;
use switchd::engine::{Engine, EngineConfig};
use switchd::server::{Server, ServerConfig};
use tonic::transport::Channel;

/// The server as a process of its own, until its input ends.
async fn serve() -> Result<(), Box<dyn Error>> {
    let (io, _wires) = MemoryIo::new();
    let (engine, notifications) = Engine::start(&EngineConfig::default(), io)?;
    let config = ServerConfig::new(([127, 0, 0, 1], 0).into());
    let server = Server::start(config, engine.handle().clone(), notifications).await?;
    println!("{}", server.address());
    std::io::stdout().flush()?;
    let read = || std::io::stdin().read_to_end(&mut Vec::new());
    tokio::task::spawn_blocking(read).await??;
    server.stop().await;
    engine.stop();
    Ok(())
}

/// A figure of a process in MB: `VmHWM` is the most it ever had, `VmRSS` what it has.
fn memory(pid: u32, what: &str) -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(what));
    let kib = line.and_then(|rest| rest.split_whitespace().nth(1));
    Ok(kib.unwrap_or_default().parse::<u64>()? / 1024)
}

/// Writes one entry after the other for a while; median, 99 % and worst.
async fn writes(session: &Session, time: Duration) -> Result<String, Box<dyn Error>> {
    let end = Instant::now() + time;
    let mut took = Vec::new();
    while Instant::now() < end {
        took.push(session.rewrite(Kind::Lpm, took.len() as u32 % 1000).await?);
    }
    took.sort();
    let at = |share: f64| took[(share * (took.len() - 1) as f64) as usize];
    Ok(format!(
        "{} writes, one by one: median {:?}, 99 % {:?}, worst {:?}",
        took.len(),
        at(0.5),
        at(0.99),
        at(1.0)
    ))
}

#[tokio::main(flavor = "multi_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    // Cargo adds `--bench`.
    let args: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| a != "--bench")
        .collect();
    if args.first().is_some_and(|a| a == "serve") {
        return serve().await;
    }
    let number = |i: usize, default| args.get(i).and_then(|a| a.parse().ok()).unwrap_or(default);
    let (readers, entries, connections) = (number(0, 1000), number(1, 100_000), number(2, 10));
    let window = u32::try_from(number(3, 65_535))?;
    let mut server = Command::new(std::env::current_exe()?)
        .arg("serve")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let pid = server.id();
    let mut address = String::new();
    let output = server.stdout.take().ok_or("no output")?;
    BufReader::new(output).read_line(&mut address)?;
    let address = address.trim();
    let session = Session::open(address, 0, PROGRAM.as_bytes().to_vec()).await?;
    let load = Load {
        kind: Kind::Lpm,
        entries,
        batch: 1000,
        in_flight: 4,
    };
    session.fill(&load).await?;
    println!("{entries} entries: {} MB", memory(pid, "VmHWM")?);
    println!(
        "no readers: {}",
        writes(&session, Duration::from_secs(3)).await?
    );
    let mut reading = tokio::task::JoinSet::new();
    for connection in 0..connections {
        let endpoint = Channel::from_shared(format!("http://{address}"))?
            .initial_stream_window_size(window)
            .initial_connection_window_size(window);
        let channel = endpoint.connect().await?;
        for _ in (connection..readers).step_by(connections) {
            let mut rpc = P4RuntimeClient::new(channel.clone());
            let request = session.everything(Kind::Lpm);
            reading.spawn(async move {
                let answers = rpc.read(request).await?;
                // It keeps the answer and takes nothing of it.
                std::future::pending::<()>().await;
                drop(answers);
                Ok::<(), tonic::Status>(())
            });
        }
    }
    for second in [3, 3, 6, 12] {
        println!(
            "{readers} readers: {}",
            writes(&session, Duration::from_secs(second)).await?
        );
        println!(
            "    {} MB, {} MB at most",
            memory(pid, "VmRSS")?,
            memory(pid, "VmHWM")?
        );
    }
    let began = Instant::now();
    let mut answers = {
        let endpoint = Channel::from_shared(format!("http://{address}"))?;
        let mut rpc = P4RuntimeClient::new(endpoint.connect().await?);
        rpc.read(session.everything(Kind::Lpm)).await
    };
    match &mut answers {
        Ok(answers) => {
            let mut read = 0;
            while let Some(answer) = answers.get_mut().message().await? {
                read += answer.entities.len();
            }
            println!("another reader: {read} entries after {:?}", began.elapsed());
        }
        Err(status) => println!("another reader: {status}"),
    }
    let mut refused = 0;
    while reading.try_join_next().is_some() {
        refused += 1;
    }
    println!("{refused} of the readers were refused");
    println!("{} MB at most", memory(pid, "VmHWM")?);
    drop(server.stdin.take());
    reading.abort_all();
    while reading.join_next().await.is_some() {}
    drop(answers);
    drop(session);
    server.wait()?;
    Ok(())
}
