//! Controllers that students write: switches of ours run, the controller fills them over P4Runtime,
//! and packets go through them.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use files::Scratch;
use linuxnet::Process;
use stf::Case;
use stf::case::{CellName, Comparison, CounterPart, Pattern, Statement};

use crate::bench::{Layout, Place, Step, TICK, TestBed, Tools, text};
use crate::grade::CaseResult;
use crate::lab::{Lab, LabError, read, stem};
use crate::program::{MAX_TOLD, case, hex};

/// Ports of the lab's switch.
const PORTS: u16 = 4;
/// How long a controller may take to do its work.
const TIMEOUT: Duration = Duration::from_secs(8);
/// How long a packet may take that is expected.
const ARRIVAL: Duration = Duration::from_secs(1);
/// What is kept of what a controller says, in bytes: the end of it.
const MAX_SAID: usize = 1 << 16;
/// How many characters are told of a line that a controller says.
const MAX_LINE: usize = 300;

pub(crate) fn judge(lab: &Lab, file: &Path, tools: &Tools) -> Result<Vec<CaseResult>, LabError> {
    // What is missing is nobody's mistake, and no grade.
    let missing = |why: String| LabError::Missing { why };
    has_p4runtime(tools).map_err(missing)?;
    read(file)?;
    let scratch = Scratch::new().map_err(|e| missing(e.to_string()))?;
    let given = lab.folder.join("given/router.p4");
    let built = compile(&given, vec![lab.folder.join("../common")]);
    let broken = |why: String| LabError::Broken {
        path: given.display().to_string(),
        why,
    };
    let built = built.map_err(broken)?;
    let info = scratch.path().join("router.txtpb");
    let json = scratch.path().join("router.json");
    for (path, what) in [(&info, &built.info), (&json, &built.json)] {
        std::fs::write(path, what).map_err(|e| missing(text(&e)))?;
    }
    let mut bench = TestBed::start(tools, &alone()).map_err(missing)?;
    let ran = ran(tools, file, &bench, &info, &json);
    let mut results = Vec::new();
    for path in lab.files("cases", ".stf")? {
        let (about, case) = case(&path, &read(&path)?)?;
        let why = match &ran {
            Ok(()) => play(&mut bench, &case).map_err(missing)?,
            Err(why) => vec![why.clone()],
        };
        results.push(CaseResult::new(stem(&path), about, why));
    }
    Ok(results)
}

/// One switch, all of whose ports lead outside.
fn alone() -> Layout {
    let ports = 0..PORTS;
    Layout {
        switches: vec![Place {
            name: "s1".to_owned(),
            device_id: 1,
            address: None,
            ports: ports.clone().collect(),
        }],
        cables: Vec::new(),
        outside: ports.map(|port| (port, (0, port))).collect(),
    }
}

/// Whether there is a Python with what controllers import; if not, how it can be had.
pub(crate) fn has_p4runtime(tools: &Tools) -> Step<()> {
    let python = tools.python.display();
    let output = Command::new(&tools.python)
        .args(["-c", "import grpc, p4.v1.p4runtime_pb2"])
        .output();
    // The package `p4runtime` alone brings protos that the newest protobuf does not take; the shell
    // brings what fits together.
    let mend = "`pip install p4runtime-shell` brings what controllers import; P4RUNTIME_CLIENTS names the Python that has it";
    match output {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            let mut lines = said.lines().map(str::trim);
            let said = lines.rfind(|line| line.contains("Error"));
            let why = said.unwrap_or("no reason given");
            Err(format!(
                "`{python}` cannot import grpc and p4.v1.p4runtime_pb2 ({why}): {mend}"
            ))
        }
        Err(error) => Err(format!("`{python}`: {error}: {mend}")),
    }
}

/// A program as controllers load it.
pub(crate) struct Built {
    /// P4Info as text.
    pub(crate) info: String,
    /// BMv2 JSON.
    pub(crate) json: String,
}

/// Compiles a program; or what is wrong with it.
pub(crate) fn compile(path: &Path, include_paths: Vec<PathBuf>) -> Step<Built> {
    let mut map = p4front::source::SourceMap::new();
    let main = map.load(path).map_err(|e| e.to_string())?;
    let options = p4front::Options {
        include_paths,
        ..p4front::Options::on_disk()
    };
    let compiled =
        p4front::compile(&mut map, main, &options).map_err(|found| found.render(&map))?;
    Ok(Built {
        json: bmv2json::write(&compiled.ir, &stem(path)).map_err(|e| e.to_string())?,
        info: p4runtime::to_text(&compiled.p4info).map_err(|e| e.to_string())?,
    })
}

/// The end of what a process says on one of its outputs.
#[derive(Clone, Default)]
struct Said(Arc<Mutex<Vec<u8>>>);

impl Said {
    /// Listens, in a thread that ends with the output.
    fn listen(&self, output: Option<impl Read + Send + 'static>) {
        let Some(mut output) = output else { return };
        let said = Arc::clone(&self.0);
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(length @ 1..) = output.read(&mut buffer) {
                let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
                said.extend_from_slice(buffer.get(..length).unwrap_or_default());
                let surplus = said.len().saturating_sub(MAX_SAID);
                said.drain(..surplus);
            }
        });
    }

    fn so_far(&self) -> String {
        let said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&said).into_owned()
    }
}

/// A controller that runs. It ends with this value.
pub(crate) struct Controller {
    process: Process,
    out: Said,
    error: Said,
}

impl Controller {
    pub(crate) fn start(mut command: Command) -> Step<Self> {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut process = Process::start(command).map_err(|e| text(&e))?;
        let (out, error) = (Said::default(), Said::default());
        out.listen(process.stdout.take());
        error.listen(process.stderr.take());
        Ok(Self {
            process,
            out,
            error,
        })
    }

    /// Waits until the controller has ended, or has said a line such as is waited for; `None` then,
    /// and also when time is over.
    pub(crate) fn wait(&mut self, patience: Duration, line: impl Fn(&str) -> bool) -> Step<Wait> {
        let end = Instant::now() + patience;
        loop {
            if let Some(status) = self.process.try_wait().map_err(|e| text(&e))? {
                return Ok(Wait::Ended(status));
            }
            if self.out.so_far().lines().any(&line) {
                return Ok(Wait::Said);
            }
            if Instant::now() > end {
                return Ok(Wait::Over);
            }
            std::thread::sleep(TICK);
        }
    }

    /// The last line that it said: of what went wrong, where it said that.
    pub(crate) fn last_line(&self) -> String {
        let last = |said: &Said| {
            let said = said.so_far();
            let line = said.trim_end().lines().last().unwrap_or_default();
            line.chars().take(MAX_LINE).collect::<String>()
        };
        match last(&self.error) {
            line if line.is_empty() => last(&self.out),
            line => line,
        }
    }
}

/// What ended a wait.
pub(crate) enum Wait {
    /// The controller ended.
    Ended(ExitStatus),
    /// It said what was waited for.
    Said,
    /// Time is over.
    Over,
}

/// Runs the lab's controller to its end.
fn ran(tools: &Tools, file: &Path, bench: &TestBed, info: &Path, json: &Path) -> Step<()> {
    let mut command = Command::new(&tools.python);
    command.arg(file).arg(bench.address()?.to_string());
    command.arg(info).arg(json);
    let mut controller = Controller::start(command)?;
    match controller.wait(TIMEOUT, |_| false)? {
        Wait::Ended(status) if status.success() => Ok(()),
        Wait::Ended(status) => Err(format!(
            "the controller ended with {status}: {}",
            controller.last_line()
        )),
        _ => Err(format!(
            "the controller did not end within {} s",
            TIMEOUT.as_secs()
        )),
    }
}

/// Sends a case's packets, and waits for what is expected of each. Returns what went otherwise; an
/// error is the case's or the machine's fault.
pub(crate) fn play(bench: &mut TestBed, case: &Case) -> Step<Vec<String>> {
    let mut whys = Vec::new();
    let mut last = String::new();
    for (line, statement) in &case.statements {
        let why = match statement {
            Statement::Packet { port, bytes } => {
                last = bench.send(*port, bytes)?;
                None
            }
            Statement::Expect { port, pattern } => expect(bench, *port, pattern.as_ref(), &last)?,
            Statement::CheckCounter {
                counter,
                cell: CellName::Index(index),
                check,
            } => count(bench, counter, *index, check.as_ref()),
            _ => {
                return Err(format!(
                    "line {line}: only packets and counters can be played on a switch that a controller fills"
                ));
            }
        };
        whys.extend(why.map(|why| format!("line {line}: {why}")));
    }
    for (port, found) in bench.unexpected()? {
        whys.push(format!(
            "{}: a packet nobody expected: {}",
            bench.name_of(port),
            hex(&found)
        ));
    }
    if whys.len() > MAX_TOLD {
        let more = whys.len() - MAX_TOLD;
        whys.truncate(MAX_TOLD);
        whys.push(format!("and {more} more"));
    }
    Ok(whys)
}

/// Waits for an expected packet; what came instead.
fn expect(
    bench: &mut TestBed,
    port: u16,
    pattern: Option<&Pattern>,
    last: &str,
) -> Step<Option<String>> {
    let name = bench.name_of(port);
    let Some(found) = bench.receive(port, ARRIVAL)? else {
        let instead = elsewhere(bench)?;
        return Ok(Some(format!(
            "no packet came out of {name}\n{last}{instead}"
        )));
    };
    let Some(pattern) = pattern.filter(|pattern| !pattern.matches(&found)) else {
        return Ok(None);
    };
    Ok(Some(format!(
        "{name}: another packet came out\n  expected {}\n  got      {}\n{last}{}",
        pattern.digits,
        hex(&found),
        way(bench)
    )))
}

/// Reads a counter; what it has instead of what is wanted.
fn count(
    bench: &TestBed,
    counter: &str,
    index: usize,
    check: Option<&(CounterPart, Comparison, u64)>,
) -> Option<String> {
    let [packets, bytes] = match bench.counter(counter, index) {
        Ok(found) => found,
        Err(why) => return Some(why),
    };
    let (part, comparison, wanted) = check?;
    let (found, what) = match part {
        CounterPart::Packets => (packets, "packets"),
        CounterPart::Bytes => (bytes, "bytes"),
    };
    let wrong = !comparison.holds(found, *wanted);
    wrong.then(|| {
        format!("counter {counter}({index}) has {found} {what}, not {comparison} {wanted}")
    })
}

/// The cables that the last packet crossed.
fn way(bench: &TestBed) -> String {
    let lines = bench.way().iter();
    lines.fold(String::new(), |text, line| text + "\n" + line)
}

/// Where a packet went that is missing.
fn elsewhere(bench: &mut TestBed) -> Step<String> {
    let found = bench.unexpected()?;
    let mut text = way(bench);
    for (port, bytes) in &found {
        text += &format!("\n  out      {}: {}", bench.name_of(*port), hex(bytes));
    }
    if found.is_empty() {
        text += "\n  out      nothing";
    }
    Ok(text)
}
