//! Clients of the Thrift services: one thread each, a bounded number of them, with bounded
//! messages.

use std::collections::BTreeMap;
use std::io::{self, BufReader, ErrorKind, Read, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener as StdListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use thrift::TConfiguration;
use thrift::protocol::{
    TBinaryInputProtocol, TBinaryOutputProtocol, TInputProtocol as _, TMessageIdentifier,
    TMessageType, TOutputProtocol as _,
};
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use super::methods::{self, Answer};
use super::value::{MOST_VALUES, Reader, write_fields};
use super::{Call, Memory, Subject};
use crate::server::MAX_MESSAGE;
use crate::server::limits::{Permit, Places};

/// What clients may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections in all. A further one takes the place of the one that has been idle for longest,
    /// or is closed.
    pub connections: usize,
    /// How long a connection must be idle to lose its place.
    pub idle: Duration,
    /// Bytes of a message.
    pub message: usize,
    /// Bytes of messages that are read, worked on or answered, in all.
    pub messages: usize,
    /// How long a message may take to come or an answer to be taken.
    pub message_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 64,
            idle: Duration::from_secs(5),
            message: MAX_MESSAGE,
            messages: 2 * MAX_MESSAGE,
            message_time: Duration::from_secs(30),
        }
    }
}

/// After nobody could be let in.
const PAUSE: Duration = Duration::from_millis(100);

/// A connection in the list of all.
struct Open {
    stream: TcpStream,
    /// When it began to wait for a call; none while one is in progress.
    idle: Option<Instant>,
}

/// What all connections share.
struct Shared {
    subject: Subject,
    runtime: Handle,
    port: u16,
    limits: Limits,
    memory: Mutex<Memory>,
    messages: Arc<Places>,
    open: Mutex<Clients>,
}

#[derive(Default)]
struct Clients {
    next: u64,
    open: BTreeMap<u64, Open>,
}

impl Shared {
    fn clients(&self) -> MutexGuard<'_, Clients> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a client in; none if all places are taken by clients that are at work.
    fn enter(&self, stream: &TcpStream) -> io::Result<Option<u64>> {
        let mut clients = self.clients();
        if clients.open.len() >= self.limits.connections {
            let idle = clients
                .open
                .iter()
                .filter_map(|(id, open)| Some((open.idle?, *id)));
            let Some((_, longest)) = idle
                .min()
                .filter(|(since, _)| since.elapsed() >= self.limits.idle)
            else {
                return Ok(None);
            };
            if let Some(open) = clients.open.remove(&longest) {
                // A connection that is gone already needs no end.
                let _ = open.stream.shutdown(Shutdown::Both);
            }
        }
        let id = clients.next;
        clients.next += 1;
        let idle = Some(Instant::now());
        let stream = stream.try_clone()?;
        clients.open.insert(id, Open { stream, idle });
        Ok(Some(id))
    }

    /// Notes whether a client waits or is at work.
    fn set_idle(&self, id: u64, idle: bool) {
        if let Some(open) = self.clients().open.get_mut(&id) {
            open.idle = idle.then(Instant::now);
        }
    }
}

/// The server; dropping it closes all connections.
pub struct ThriftServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

impl ThriftServer {
    /// Serves at a socket that listens. To be called inside a tokio runtime with several threads.
    ///
    /// # Errors
    /// What the system says about the socket.
    pub fn start(listener: StdListener, subject: Subject, limits: Limits) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let listener = TcpListener::from_std(listener)?;
        let shared = Arc::new(Shared {
            subject,
            runtime: Handle::current(),
            port: address.port(),
            limits,
            memory: Mutex::default(),
            messages: Places::new(limits.messages),
            open: Mutex::default(),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Ok(Self {
            address,
            shared,
            accepting,
        })
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for ThriftServer {
    fn drop(&mut self) {
        self.accepting.abort();
        for (_, open) in std::mem::take(&mut self.shared.clients().open) {
            // A connection that is gone already needs no end.
            let _ = open.stream.shutdown(Shutdown::Both);
        }
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Most likely there are too many open files: that passes.
                tracing::warn!(%error, "a Thrift client was not let in");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let let_in = stream.into_std().and_then(|stream| begin(&shared, stream));
        if let Err(error) = let_in {
            tracing::warn!(%error, "a Thrift client was not let in");
        }
    }
}

/// Gives a client its thread.
fn begin(shared: &Arc<Shared>, stream: TcpStream) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_nodelay(true)?;
    stream.set_write_timeout(Some(shared.limits.message_time))?;
    let Some(id) = shared.enter(&stream)? else {
        let most = shared.limits.connections;
        tracing::warn!("a Thrift client was not let in: {most} are at work");
        return Ok(());
    };
    let client = Client {
        shared: Arc::clone(shared),
        id,
    };
    std::thread::Builder::new()
        .name("thrift".to_owned())
        .spawn(move || client.serve(stream))?;
    Ok(())
}

/// A client with its place in the list.
struct Client {
    shared: Arc<Shared>,
    id: u64,
}

impl Drop for Client {
    fn drop(&mut self) {
        self.shared.clients().open.remove(&self.id);
    }
}

impl Client {
    fn serve(self, stream: TcpStream) {
        if let Err(error) = self.calls(stream) {
            let gone = matches!(&error, thrift::Error::Transport(e) if e.kind == thrift::TransportErrorKind::EndOfFile);
            if !gone {
                tracing::debug!(%error, "a Thrift client has gone");
            }
        }
    }

    fn calls(&self, stream: TcpStream) -> thrift::Result<()> {
        let limits = self.shared.limits;
        let config = TConfiguration::builder()
            .max_message_size(Some(limits.message))
            .max_frame_size(Some(limits.message))
            .max_string_size(Some(limits.message))
            .max_container_size(Some(MOST_VALUES))
            .build()?;
        let mut output = stream.try_clone()?;
        let input = Bounded::new(stream, limits, Arc::clone(&self.shared.messages));
        // As BMv2's server, with or without the version in front.
        let mut input = TBinaryInputProtocol::with_config(input, false, config);
        // A client is idle from the moment that it is let in.
        loop {
            input.transport.begin()?;
            let message = input.read_message_begin()?;
            self.shared.set_idle(self.id, false);
            let args = Reader::new(&mut input).fields()?;
            input.read_message_end()?;
            let call = Call {
                subject: &self.shared.subject,
                runtime: &self.shared.runtime,
                port: self.shared.port,
                memory: &self.shared.memory,
                args,
            };
            let answer = match message.message_type {
                TMessageType::Call | TMessageType::OneWay => methods::call(&message.name, &call),
                _ => return Ok(()),
            };
            if message.message_type == TMessageType::Call {
                output.write_all(&self.encode(&message, &answer)?)?;
            }
            self.shared.set_idle(self.id, true);
        }
    }

    /// The bytes of an answer; of an error in its place, if there is no memory for it.
    fn encode(&self, message: &TMessageIdentifier, answer: &Answer) -> thrift::Result<Vec<u8>> {
        let name = match message.name.split_once(':') {
            Some((_, method)) => method,
            None => message.name.as_str(),
        };
        let encode = |answer: &Answer| {
            let mut bytes = Vec::new();
            let mut output = TBinaryOutputProtocol::new(&mut bytes, true);
            let kind = match answer {
                Answer::Result(_) => TMessageType::Reply,
                Answer::Exception(_) => TMessageType::Exception,
            };
            let head = TMessageIdentifier::new(name, kind, message.sequence_number);
            output.write_message_begin(&head)?;
            match answer {
                Answer::Result(fields) => write_fields(&mut output, fields)?,
                Answer::Exception(error) => {
                    thrift::Error::write_application_error_to_out_protocol(error, &mut output)?;
                }
            }
            output.write_message_end()?;
            output.flush()?;
            thrift::Result::Ok(bytes)
        };
        let bytes = encode(answer)?;
        match self.shared.messages.take(bytes.len()) {
            Some(_room) => Ok(bytes),
            None => encode(&Answer::error("the answer is too large; try again later")),
        }
    }
}

/// A client's input, with limits on the size of a message and the time that it takes.
struct Bounded {
    input: BufReader<TcpStream>,
    limits: Limits,
    places: Arc<Places>,
    taken: Option<Permit>,
    left: usize,
    /// When the message must be there; none before its first byte.
    until: Option<Instant>,
}

impl Bounded {
    fn new(stream: TcpStream, limits: Limits, places: Arc<Places>) -> Self {
        Self {
            input: BufReader::new(stream),
            limits,
            places,
            taken: None,
            left: 0,
            until: None,
        }
    }

    /// Before a message.
    fn begin(&mut self) -> io::Result<()> {
        self.left = self.limits.message;
        self.until = None;
        self.taken = None;
        self.input.get_ref().set_read_timeout(None)
    }

    /// Room for bytes that came.
    fn room(&mut self, count: usize) -> io::Result<()> {
        let Some(left) = self.left.checked_sub(count) else {
            let most = self.limits.message;
            return Err(io::Error::new(
                ErrorKind::InvalidData,
                format!("the message has more than {most} bytes"),
            ));
        };
        self.left = left;
        let fits = match &mut self.taken {
            Some(taken) => taken.more(count),
            None => {
                self.taken = self.places.take(count);
                self.taken.is_some()
            }
        };
        match fits {
            true => Ok(()),
            false => Err(io::Error::new(
                ErrorKind::OutOfMemory,
                "too many large messages come at once",
            )),
        }
    }
}

impl Read for Bounded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(until) = self.until
            && self.input.buffer().is_empty()
        {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(ErrorKind::TimedOut.into());
            }
            self.input.get_ref().set_read_timeout(Some(left))?;
        }
        let count = self.input.read(buffer)?;
        if count > 0 {
            self.room(count)?;
            let time = self.limits.message_time;
            self.until.get_or_insert_with(|| Instant::now() + time);
        }
        Ok(count)
    }
}
