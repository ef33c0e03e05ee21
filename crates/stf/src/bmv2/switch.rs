//! A `simple_switch` process with files for ports, and its command line.
//!
//! Packets go in through named pipes in pcap format, one per port, and come out into pcap files.
//! `simple_switch --use-files` takes the earliest packet over all pipes, and before it looks for
//! the next one it waits until the pipe that it just read has a further packet or ends.
//! [`Switch::send`] uses that: a packet is written ahead, and let go by what is written behind its
//! predecessor.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long the switch and its command line may take to answer.
const TIMEOUT: Duration = Duration::from_secs(60);
/// A switch that has written nothing for so long is done with the packet.
const QUIET: Duration = Duration::from_millis(80);
/// A switch under load that has written nothing for so long has forwarded all there was.
const FLOOD_QUIET: Duration = Duration::from_secs(1);
/// What the command line writes when it waits for a command.
const PROMPT: &str = "RuntimeCmd: ";

/// A pcap file header: microseconds, Ethernet.
const PCAP_HEADER: [u8; 24] = [
    0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 1, 0, 0, 0,
];

/// A running switch; it ends with this value.
pub(super) struct Switch {
    process: Child,
    folder: PathBuf,
    ports: Vec<u16>,
    /// Open pipes; a port that gets no further packet has none.
    pipes: BTreeMap<u16, File>,
    /// Packets not yet written, per port, with their position in the case.
    waiting: BTreeMap<u16, VecDeque<(usize, Vec<u8>)>>,
    /// The port of the last packet let go.
    last: Option<u16>,
    thrift: u16,
    /// Opened by the first command.
    cli: Option<Cli>,
}

impl Drop for Switch {
    fn drop(&mut self) {
        self.pipes.clear();
        if let Some(cli) = &mut self.cli {
            let _ = cli.process.kill();
            let _ = cli.process.wait();
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Switch {
    /// Starts a switch on a compiled program. `packets` are all that will come in, in order.
    pub(super) fn start(
        json: &Path,
        folder: &Path,
        ports: &[u16],
        packets: &[(u16, Vec<u8>)],
    ) -> io::Result<Self> {
        let mut waiting: BTreeMap<u16, VecDeque<(usize, Vec<u8>)>> = BTreeMap::new();
        for (index, (port, bytes)) in packets.iter().enumerate() {
            let queue = waiting.entry(*port).or_default();
            queue.push_back((index, bytes.clone()));
        }
        let mut pipes = BTreeMap::new();
        for port in ports {
            let path = folder.join(format!("port{port}_in.pcap"));
            if !waiting.contains_key(port) {
                fs::write(&path, PCAP_HEADER)?;
                continue;
            }
            let made = Command::new("mkfifo").arg(&path).status()?;
            if !made.success() {
                return Err(io::Error::other("mkfifo failed"));
            }
            // Opened for both, for that does not wait for the other side.
            let mut pipe = OpenOptions::new().read(true).write(true).open(&path)?;
            pipe.write_all(&PCAP_HEADER)?;
            pipes.insert(*port, pipe);
        }
        let thrift = free_port()?;
        let log = File::create(folder.join("switch.log"))?;
        let mut command = Command::new("simple_switch");
        command.args(["--use-files", "0", "--thrift-port", &thrift.to_string()]);
        command.args(["--device-id", &(thrift % 1000).to_string()]);
        for port in ports {
            command.args(["-i", &format!("{port}@port{port}")]);
        }
        let process = command
            .arg(json)
            .args(["--", "--priority-queues", "8"])
            .current_dir(folder)
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        let mut switch = Self {
            process,
            folder: folder.to_owned(),
            ports: ports.to_vec(),
            pipes,
            waiting,
            last: None,
            thrift,
            cli: None,
        };
        switch.write_ahead()?;
        Ok(switch)
    }

    /// An error with the first words of a switch that has ended by itself; it is
    /// [`io::ErrorKind::InvalidData`].
    fn still_runs(&mut self) -> io::Result<()> {
        match self.process.try_wait()? {
            None => Ok(()),
            Some(status) => {
                let words = fs::read_to_string(self.folder.join("switch.log")).unwrap_or_default();
                let why = words.lines().find(|line| !line.starts_with("Calling"));
                let why = why.map_or_else(|| status.to_string(), str::to_owned);
                Err(io::Error::new(io::ErrorKind::InvalidData, why))
            }
        }
    }

    /// Waits until the switch listens. The error is [`io::ErrorKind::InvalidData`] if it ends
    /// instead.
    pub(super) fn listens(&mut self) -> io::Result<()> {
        let deadline = Instant::now() + TIMEOUT;
        while TcpStream::connect((Ipv4Addr::LOCALHOST, self.thrift)).is_err() {
            self.still_runs()?;
            if Instant::now() > deadline {
                return Err(io::Error::other("simple_switch does not start"));
            }
            sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// The first packet of every port but the one whose turn it is.
    fn write_ahead(&mut self) -> io::Result<()> {
        let ports: Vec<u16> = self.pipes.keys().copied().collect();
        // The reader waits for a first packet of every pipe: one is kept back as the gate.
        let gate = ports.last().copied();
        for port in ports.iter().filter(|port| Some(**port) != gate) {
            self.write_next(*port)?;
        }
        self.last = gate;
        Ok(())
    }

    /// Writes the next packet of a port, or ends its pipe.
    fn write_next(&mut self, port: u16) -> io::Result<()> {
        let next = self.waiting.get_mut(&port).and_then(VecDeque::pop_front);
        let Some((index, bytes)) = next else {
            self.pipes.remove(&port);
            return Ok(());
        };
        let Some(pipe) = self.pipes.get_mut(&port) else {
            return Ok(());
        };
        let mut written = Vec::new();
        record(index, &bytes, &mut written);
        pipe.write_all(&written)
    }

    /// Lets the next packet of the case in, which enters at `port`, and waits until the switch is
    /// done with it.
    pub(super) fn send(&mut self, port: u16) -> io::Result<()> {
        if let Some(gate) = self.last.replace(port) {
            self.write_next(gate)?;
        }
        self.settle(QUIET);
        Ok(())
    }

    /// Lets all packets of a port in at once and waits until as many came out of another. The error
    /// is [`io::ErrorKind::InvalidData`] if the switch ends first.
    pub(super) fn forward(&mut self, from: u16, to: u16) -> io::Result<Vec<Vec<u8>>> {
        let deadline = Instant::now() + TIMEOUT;
        let count = self.waiting.get(&from).map_or(0, VecDeque::len);
        // The pipe stays open: what lies in one that nobody holds is lost, and the switch may not
        // have opened it yet.
        for _ in 0..count {
            self.write_next(from)?;
        }
        loop {
            let sent = records(&fs::read(self.out(to)).unwrap_or_default());
            if sent.len() >= count {
                return Ok(sent);
            }
            self.still_runs()?;
            if Instant::now() > deadline {
                let few = format!("simple_switch sent {} of {count} packets", sent.len());
                return Err(io::Error::other(few));
            }
            sleep(Duration::from_millis(5));
        }
    }

    /// Lets all packets of a port in as fast as the switch takes them. How many packets came out,
    /// and how long that took.
    pub(super) fn flood(&mut self, port: u16) -> io::Result<(usize, Duration)> {
        let mut records = Vec::new();
        for (index, bytes) in self.waiting.remove(&port).unwrap_or_default() {
            record(index, &bytes, &mut records);
        }
        let pipe = self.pipes.remove(&port);
        let start = Instant::now();
        let writer = std::thread::spawn(move || pipe.map_or(Ok(()), |mut p| p.write_all(&records)));
        let (mut size, mut last) = (self.written(), start);
        while last.elapsed() < FLOOD_QUIET && start.elapsed() < TIMEOUT {
            sleep(Duration::from_millis(2));
            let now = self.written();
            if now != size {
                (size, last) = (now, Instant::now());
            }
        }
        if !writer.is_finished() {
            return Err(io::Error::other("simple_switch does not take the packets"));
        }
        let ended = writer.join();
        ended.map_err(|_| io::Error::other("writing the packets failed"))??;
        let sent = self.sent()?.values().map(Vec::len).sum();
        Ok((sent, last.duration_since(start)))
    }

    /// Bytes that came out so far.
    fn written(&self) -> u64 {
        let length = |port: &u16| fs::metadata(self.out(*port)).map_or(0, |m| m.len());
        self.ports.iter().map(length).sum()
    }

    /// Waits until nothing more is written.
    pub(super) fn settle(&self, quiet: Duration) {
        let deadline = Instant::now() + TIMEOUT;
        let (mut last, mut since) = (self.written(), Instant::now());
        while since.elapsed() < quiet && Instant::now() < deadline {
            sleep(Duration::from_millis(5));
            let now = self.written();
            if now != last {
                (last, since) = (now, Instant::now());
            }
        }
    }

    fn out(&self, port: u16) -> PathBuf {
        self.folder.join(format!("port{port}_out.pcap"))
    }

    /// Packets that came out so far.
    pub(super) fn sent(&self) -> io::Result<BTreeMap<u16, Vec<Vec<u8>>>> {
        let read = |port: &u16| Ok((*port, records(&fs::read(self.out(*port))?)));
        self.ports.iter().map(read).collect()
    }

    /// Opens the command line, if it is not open yet.
    pub(super) fn open_command_line(&mut self) -> io::Result<&mut Cli> {
        let cli = match self.cli.take() {
            Some(cli) => cli,
            None => Cli::start(self.thrift, &self.folder)?,
        };
        Ok(self.cli.insert(cli))
    }

    /// Runs a command and returns what the command line answers.
    pub(super) fn command(&mut self, line: &str) -> io::Result<String> {
        self.open_command_line()?.run(line)
    }
}

/// Appends a packet as a pcap file has it, its position in the case for a time.
fn record(index: usize, bytes: &[u8], out: &mut Vec<u8>) {
    let length = (bytes.len() as u32).to_le_bytes();
    out.extend(((index + 1) as u32).to_le_bytes());
    out.extend([0; 4]);
    out.extend(length);
    out.extend(length);
    out.extend(bytes);
}

/// The packets of a pcap file of this machine's byte order.
fn records(file: &[u8]) -> Vec<Vec<u8>> {
    let mut packets = Vec::new();
    let mut rest = file.get(PCAP_HEADER.len()..).unwrap_or_default();
    while let Some((header, behind)) = rest.split_at_checked(16) {
        let mut length = [0; 4];
        length.copy_from_slice(&header[8..12]);
        let Some((packet, next)) = behind.split_at_checked(u32::from_le_bytes(length) as usize)
        else {
            break;
        };
        packets.push(packet.to_vec());
        rest = next;
    }
    packets
}

fn free_port() -> io::Result<u16> {
    let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(socket.local_addr()?.port())
}

/// `simple_switch_CLI`, kept open.
pub(super) struct Cli {
    process: Child,
    input: ChildStdin,
    output: Receiver<u8>,
    /// What it says of its own troubles.
    log: PathBuf,
}

impl Cli {
    /// Opens the command line of a switch that listens.
    fn start(thrift: u16, folder: &Path) -> io::Result<Self> {
        let log = folder.join("cli.log");
        let mut process = Command::new("simple_switch_CLI")
            .args(["--thrift-port", &thrift.to_string()])
            .env("PYTHONUNBUFFERED", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(&log)?)
            .spawn()?;
        let missing = || io::Error::other("a pipe is missing");
        let input = process.stdin.take().ok_or_else(missing)?;
        let mut stdout = process.stdout.take().ok_or_else(missing)?;
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count) = stdout.read(&mut buffer) {
                let sent = buffer[..count].iter().try_for_each(|b| sender.send(*b));
                if count == 0 || sent.is_err() {
                    break;
                }
            }
        });
        let mut cli = Self {
            process,
            input,
            output,
            log,
        };
        cli.until_prompt()?;
        Ok(cli)
    }

    fn run(&mut self, line: &str) -> io::Result<String> {
        writeln!(self.input, "{line}")?;
        self.input.flush()?;
        self.until_prompt()
    }

    fn until_prompt(&mut self) -> io::Result<String> {
        let deadline = Instant::now() + TIMEOUT;
        let mut text = Vec::new();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.output.recv_timeout(left) {
                Ok(byte) => text.push(byte),
                Err(RecvTimeoutError::Timeout) => {
                    return Err(io::Error::other("simple_switch_CLI does not answer"));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let log = fs::read_to_string(&self.log).unwrap_or_default();
                    // Of Python's errors the last line says what is wrong.
                    let why = log.lines().rfind(|line| !line.trim().is_empty());
                    let why = why.map_or_else(String::new, |why| format!(": {why}"));
                    return Err(io::Error::other(format!(
                        "simple_switch_CLI has ended{why}"
                    )));
                }
            }
            if text.ends_with(PROMPT.as_bytes()) {
                text.truncate(text.len() - PROMPT.len());
                return Ok(String::from_utf8_lossy(&text).into_owned());
            }
        }
    }
}
