//! Connections: who is let in, who is thrown out. A connection is a [`Client`] to the calls that
//! come by it.

use std::future::Future as _;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures::task::AtomicWaker;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::{Instant, Sleep};
use tokio_stream::wrappers::ReceiverStream;
use tonic::codegen::http::Extensions;
use tonic::transport::server::{Connected, TlsConnectInfo};

use super::limits::{Limits, Permit, Places};

/// The bytes that every HTTP/2 connection begins with.
const PREFACE: u64 = 24;

/// How long to wait where the system has no descriptor left: asking again at once would only burn a
/// core.
const EXHAUSTED: Duration = Duration::from_millis(100);

/// One connection, as calls see it.
#[derive(Debug)]
pub struct Client {
    /// Counted from the start of the server.
    pub id: u64,
    /// Bytes of its requests.
    pub requests: Arc<Places>,
    /// Its reads.
    pub reads: Arc<Places>,
    /// Its streams.
    pub streams: Arc<Places>,
    closed: AtomicBool,
    waker: AtomicWaker,
}

impl Client {
    /// A client that has taken nothing yet.
    #[must_use]
    pub fn new(id: u64, limits: &Limits) -> Arc<Self> {
        Arc::new(Self {
            id,
            requests: Places::new(limits.requests_of_client),
            reads: Places::new(limits.reads_of_client),
            streams: Places::new(limits.streams_of_client),
            closed: AtomicBool::new(false),
            waker: AtomicWaker::new(),
        })
    }

    /// The client of a call.
    #[must_use]
    pub fn of(call: &Extensions) -> Option<Arc<Self>> {
        let secured = || call.get::<TlsConnectInfo<Arc<Self>>>();
        let plain = call.get::<Arc<Self>>();
        plain.or_else(|| Some(secured()?.get_ref())).cloned()
    }

    /// Closes the connection, whatever goes on on it.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.waker.wake();
    }

    /// Fails if the connection was closed, now or later.
    fn check(&self, context: &Context<'_>) -> io::Result<()> {
        self.waker.register(context.waker());
        if self.closed.load(Ordering::Acquire) {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        Ok(())
    }
}

/// A client's socket, which fails when the client says nothing for too long or is closed.
pub struct Connection {
    socket: TcpStream,
    client: Arc<Client>,
    silence: Duration,
    received: u64,
    heard: Instant,
    alarm: Pin<Box<Sleep>>,
    _place: Permit,
}

impl Connection {
    /// Fails if nothing came for too long.
    fn check_silence(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        while self.alarm.as_mut().poll(context).is_ready() {
            let due = self.heard + self.silence;
            if self.received < PREFACE || due <= Instant::now() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.alarm.as_mut().reset(due);
        }
        Ok(())
    }
}

impl Connected for Connection {
    type ConnectInfo = Arc<Client>;

    fn connect_info(&self) -> Arc<Client> {
        Arc::clone(&self.client)
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.client.check(context)?;
        let before = buffer.filled().len();
        match Pin::new(&mut self.socket).poll_read(context, buffer) {
            Poll::Pending => {
                self.check_silence(context)?;
                Poll::Pending
            }
            Poll::Ready(read) => {
                self.received += (buffer.filled().len() - before) as u64;
                self.heard = Instant::now();
                Poll::Ready(read)
            }
        }
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.client.check(context)?;
        Pin::new(&mut self.socket).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.client.check(context)?;
        let written = ready!(Pin::new(&mut self.socket).poll_write_vectored(context, parts));
        Poll::Ready(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }
}

/// Lets clients in.
struct Door {
    listener: TcpListener,
    limits: Limits,
    places: Arc<Places>,
    count: AtomicU64,
    /// Whether it was said already that nobody more can be let in.
    said: bool,
}

impl Door {
    /// The next client.
    async fn next(&mut self) -> Connection {
        loop {
            match self.listener.accept().await {
                Ok((socket, peer)) => {
                    if let Some(connection) = self.admit(socket, peer) {
                        return connection;
                    }
                }
                // The client has gone already.
                Err(e) if e.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(error) => {
                    self.say(&format!("cannot accept connections: {error}"));
                    tokio::time::sleep(EXHAUSTED).await;
                }
            }
        }
    }

    fn admit(&mut self, socket: TcpStream, peer: SocketAddr) -> Option<Connection> {
        let Some(place) = self.places.take(1) else {
            let most = self.places.most();
            self.say(&format!(
                "{most} clients are connected; {peer} is not let in"
            ));
            return None;
        };
        self.said = false;
        if let Err(error) = socket.set_nodelay(true) {
            tracing::debug!(%error, %peer, "TCP_NODELAY cannot be set");
        }
        let now = Instant::now();
        Some(Connection {
            client: Client::new(self.count.fetch_add(1, Ordering::Relaxed), &self.limits),
            socket,
            silence: self.limits.silence,
            received: 0,
            heard: now,
            alarm: Box::pin(tokio::time::sleep_until(now + self.limits.hello)),
            _place: place,
        })
    }

    fn say(&mut self, what: &str) {
        if !std::mem::replace(&mut self.said, true) {
            tracing::warn!("{what}");
        }
    }
}

/// The clients of a listener, until what comes back is dropped.
pub fn incoming(
    listener: TcpListener,
    limits: Limits,
) -> ReceiverStream<Result<Connection, io::Error>> {
    let (sender, receiver) = mpsc::channel(1);
    let mut door = Door {
        listener,
        limits,
        places: Places::new(limits.connections),
        count: AtomicU64::new(0),
        said: false,
    };
    tokio::spawn(async move {
        loop {
            let connection = tokio::select! {
                connection = door.next() => connection,
                () = sender.closed() => return,
            };
            if sender.send(Ok(connection)).await.is_err() {
                return;
            }
        }
    });
    ReceiverStream::new(receiver)
}
