//! Controllers that students write: a switch of ours runs, the controller fills it over P4Runtime, and packets go through it by UDP.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use files::Scratch;
use stf::Case;
use stf::case::{Pattern, Statement};

use crate::grade::CaseResult;
use crate::lab::{Lab, LabError, read, stem};
use crate::program::{case, hex};

/// Ports of the switch.
const PORTS: u16 = 4;
/// How long a switch may take to start, and a controller to do its work.
const PATIENCE: Duration = Duration::from_secs(8);
/// How long a packet may take that is expected.
const ARRIVAL: Duration = Duration::from_secs(1);
/// How long is listened for packets that nobody expects.
const SILENCE: Duration = Duration::from_millis(100);
/// How often something is looked after.
const TICK: Duration = Duration::from_millis(10);

/// The programs that a judge starts.
#[derive(Clone, Debug)]
pub struct Tools {
    /// The command `switchwright`.
    pub switchwright: PathBuf,
    /// A Python that has the package `p4runtime`.
    pub python: PathBuf,
}

/// A process that ends with this value.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // Gone already is as good.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A switch and the other ends of its ports.
struct Bench {
    _switch: Running,
    address: SocketAddr,
    /// Our socket and the switch's address, by port.
    ports: Vec<(UdpSocket, SocketAddr)>,
}

/// What a step comes to: the error is for the student or the user.
type Step<T> = Result<T, String>;

fn text(error: &std::io::Error) -> String {
    error.to_string()
}

impl Bench {
    fn start(tools: &Tools) -> Step<Self> {
        let free = || UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|e| text(&e));
        let mut ports = Vec::new();
        for _ in 0..PORTS {
            let (ours, theirs) = (free()?, free()?);
            // The switch binds that one again.
            let theirs = theirs.local_addr().map_err(|e| text(&e))?;
            ports.push((ours, theirs));
        }
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|e| text(&e))?;
        let address = listener.local_addr().map_err(|e| text(&e))?;
        drop(listener);
        let mut command = Command::new(&tools.switchwright);
        command.args([
            "switch",
            "--no-p4",
            "--device-id",
            "1",
            "--grpc-server-addr",
        ]);
        command.arg(address.to_string());
        for (number, (ours, theirs)) in ports.iter().enumerate() {
            let ours = ours.local_addr().map_err(|e| text(&e))?;
            command.args(["-i", &format!("{number}=udp:{theirs}->{ours}")]);
        }
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut switch = Running(command.spawn().map_err(|e| text(&e))?);
        let end = Instant::now() + PATIENCE;
        while TcpStream::connect_timeout(&address, TICK).is_err() {
            if let Ok(Some(status)) = switch.0.try_wait() {
                return Err(format!("the switch did not start: {status}"));
            }
            if Instant::now() > end {
                return Err("the switch did not start in time".to_owned());
            }
            std::thread::sleep(TICK);
        }
        Ok(Self {
            _switch: switch,
            address,
            ports,
        })
    }

    fn send(&self, port: u16, bytes: &[u8]) -> Step<()> {
        let Some((ours, theirs)) = self.ports.get(usize::from(port)) else {
            return Err(format!("the switch has no port {port}"));
        };
        ours.send_to(bytes, theirs).map_err(|e| text(&e))?;
        Ok(())
    }

    /// The next packet out of a port.
    fn receive(&self, port: u16, within: Duration) -> Step<Option<Vec<u8>>> {
        let Some((ours, _)) = self.ports.get(usize::from(port)) else {
            return Err(format!("the switch has no port {port}"));
        };
        ours.set_read_timeout(Some(within)).map_err(|e| text(&e))?;
        let mut buffer = vec![0; 1 << 16];
        match ours.recv(&mut buffer) {
            Ok(length) => {
                buffer.truncate(length);
                Ok(Some(buffer))
            }
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => Ok(None),
            Err(e) => Err(text(&e)),
        }
    }
}

pub(crate) fn judge(lab: &Lab, file: &Path, tools: &Tools) -> Result<Vec<CaseResult>, LabError> {
    // What is missing is nobody's mistake, and no grade.
    let broken = |why: String| LabError::Missing { why };
    has_p4runtime(tools).map_err(broken)?;
    read(file)?;
    let scratch = Scratch::new().map_err(|e| broken(e.to_string()))?;
    let (info, json) = program(lab, scratch.path())?;
    let bench = Bench::start(tools).map_err(broken)?;
    let ran = controller(tools, file, &bench, &info, &json);
    let mut results = Vec::new();
    for path in lab.files("cases", ".stf")? {
        let (about, case) = case(&path, &read(&path)?)?;
        let why = match &ran {
            Ok(()) => play(&bench, &case).map_err(broken)?,
            Err(why) => vec![why.clone()],
        };
        results.push(CaseResult::new(stem(&path), about, why));
    }
    Ok(results)
}

fn has_p4runtime(tools: &Tools) -> Step<()> {
    let python = tools.python.display();
    let output = Command::new(&tools.python)
        .args(["-c", "import grpc, p4.v1.p4runtime_pb2"])
        .output();
    match output {
        Ok(output) if output.status.success() => Ok(()),
        Ok(_) => Err(format!(
            "`{python}` has no package `p4runtime`: `pip install p4runtime`, or name a Python that has it in P4RUNTIME_CLIENTS"
        )),
        Err(error) => Err(format!("`{python}`: {error}")),
    }
}

/// The lab's program as P4Info and JSON.
fn program(lab: &Lab, scratch: &Path) -> Result<(PathBuf, PathBuf), LabError> {
    let path = lab.folder.join("given/router.p4");
    let broken = |why: String| LabError::Broken {
        path: path.display().to_string(),
        why,
    };
    let mut map = p4front::source::SourceMap::new();
    let main = map.load(&path).map_err(|e| broken(e.to_string()))?;
    let options = p4front::Options {
        include_paths: vec![lab.folder.join("../common")],
        ..p4front::Options::on_disk()
    };
    let compiled =
        p4front::compile(&mut map, main, &options).map_err(|found| broken(found.render(&map)))?;
    let json = bmv2json::write(&compiled.ir, "router").map_err(|e| broken(e.to_string()))?;
    let info = p4runtime::to_text(&compiled.p4info).map_err(|e| broken(e.to_string()))?;
    let (info_path, json_path) = (scratch.join("router.txtpb"), scratch.join("router.json"));
    std::fs::write(&info_path, info).map_err(|e| broken(e.to_string()))?;
    std::fs::write(&json_path, json).map_err(|e| broken(e.to_string()))?;
    Ok((info_path, json_path))
}

/// Runs the controller to its end.
fn controller(tools: &Tools, file: &Path, bench: &Bench, info: &Path, json: &Path) -> Step<()> {
    let mut command = Command::new(&tools.python);
    command
        .arg(file)
        .arg(bench.address.to_string())
        .arg(info)
        .arg(json);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = Running(command.spawn().map_err(|e| text(&e))?);
    let end = Instant::now() + PATIENCE;
    loop {
        match child.0.try_wait().map_err(|e| text(&e))? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => {
                let mut said = String::new();
                if let Some(mut stderr) = child.0.stderr.take() {
                    let _ = std::io::Read::read_to_string(&mut stderr, &mut said);
                }
                let last = said
                    .trim_end()
                    .lines()
                    .last()
                    .unwrap_or_default()
                    .to_owned();
                return Err(format!("the controller ended with {status}: {last}"));
            }
            None if Instant::now() > end => {
                return Err(format!(
                    "the controller did not end within {} s",
                    PATIENCE.as_secs()
                ));
            }
            None => std::thread::sleep(TICK),
        }
    }
}

/// Sends a case's packets, and waits for what is expected of each.
fn play(bench: &Bench, case: &Case) -> Step<Vec<String>> {
    let mut whys = Vec::new();
    let mut last = String::new();
    for (line, statement) in &case.statements {
        match statement {
            Statement::Packet { port, bytes } => {
                last = format!("packet in at port {port}: {}", hex(bytes));
                bench.send(*port, bytes)?;
            }
            Statement::Expect { port, pattern } => match bench.receive(*port, ARRIVAL)? {
                None => whys.push(format!(
                    "line {line}: no packet came out of port {port}\n{last}{}",
                    elsewhere(bench)?
                )),
                Some(found) => {
                    let wrong = pattern
                        .as_ref()
                        .is_some_and(|p: &Pattern| !p.matches(&found));
                    if wrong {
                        whys.push(format!("line {line}: port {port}: another packet came out\n{last}\n  out      port {port}: {}", hex(&found)));
                    }
                }
            },
            _ => {
                return Err(format!(
                    "line {line}: only packets can be played on a switch that a controller fills"
                ));
            }
        }
    }
    for port in 0..PORTS {
        if let Some(found) = bench.receive(port, SILENCE)? {
            whys.push(format!(
                "port {port}: a packet nobody expected: {}",
                hex(&found)
            ));
        }
    }
    Ok(whys)
}

/// Where a packet went that is missing.
fn elsewhere(bench: &Bench) -> Step<String> {
    for port in 0..PORTS {
        if let Some(found) = bench.receive(port, SILENCE)? {
            return Ok(format!("\n  out      port {port}: {}", hex(&found)));
        }
    }
    Ok("\n  out      nothing".to_owned())
}
