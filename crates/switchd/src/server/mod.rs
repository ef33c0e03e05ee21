//! The server of one device: P4Runtime 1.5, and gNMI on the same connections ([`gnmi`]).
//!
//! [`Server::start`] restores saved state, listens, and serves until [`Server::stop`]. The order of
//! things: [`connections`] lets clients in, [`guard`] counts what they have in progress
//! ([`limits`]), [`calls`] and [`service`] take the calls, [`roles`] and [`primacy`] say who may,
//! [`build`] makes pushed programs ready, [`switch`] does the work in [`crate::translate`]'s terms,
//! [`reads`] runs what only looks, [`dispatch`] carries the data plane's news to the streams.

mod amend;
pub mod answers;
mod batch;
pub mod build;
pub mod calls;
pub mod connections;
pub mod digests;
pub mod dispatch;
pub mod encoded;
pub mod gnmi;
pub mod guard;
mod idle;
pub mod limits;
pub mod outbox;
pub mod persist;
pub mod pipeline;
pub mod primacy;
pub mod reading;
pub mod reads;
pub mod restore;
pub mod roles;
pub mod service;
pub mod status;
pub mod stream;
pub mod switch;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ::gnmi::proto::g_nmi_server::GNmiServer;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tonic::transport::{Certificate, Identity, ServerTlsConfig};

use crate::engine::{EngineHandle, Notification};
use crate::ports::Ports;
use crate::translate::refusal::Refusal;
use build::PipelineBuilder;
use calls::Calls;
use dispatch::Dispatch;
use guard::GuardLayer;
use limits::Limits;
use persist::{Store, StoreError};
use service::Service;
use stream::Shared;
use switch::Switch;

/// Where P4Runtime servers listen unless told otherwise: who is not on this machine reaches them
/// only if that is wanted.
pub const DEFAULT_ADDRESS: &str = "127.0.0.1:9559";

/// The largest pipeline config that is accepted (P4Runtime 1.5, "gRPC Server Maximum Receive
/// Message Size").
pub const MAX_MESSAGE: usize = 64 << 20;

/// Bytes under way per call and per connection: batches and answers are large.
const STREAM_WINDOW: u32 = 4 << 20;
const CONNECTION_WINDOW: u32 = 32 << 20;

/// How long calls in progress may take when the server stops.
const GRACE: Duration = Duration::from_secs(5);

/// Certificates, as PEM text.
#[derive(Clone, Debug)]
pub struct Tls {
    /// The server's certificate and those that vouch for it.
    pub certificate: String,
    /// Its key.
    pub key: String,
    /// If given, clients must show a certificate that one of these vouches for.
    pub client_ca: Option<String>,
}

/// What a server starts with.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// Where it listens; port 0 takes any that is free.
    pub address: SocketAddr,
    /// The device's id; 0 is one like any other.
    pub device_id: u64,
    /// Without it calls are not encrypted.
    pub tls: Option<Tls>,
    /// Where state is kept; nowhere if not given.
    pub state_dir: Option<PathBuf>,
    /// What clients may take.
    pub limits: Limits,
    /// Where programs are built that clients push.
    pub builder: PipelineBuilder,
    /// The ports, for what gNMI tells of their lines and interfaces; a switch in memory has none.
    pub ports: Option<Arc<Mutex<Ports>>>,
}

impl ServerConfig {
    /// Plain calls to device 0 at an address, state kept nowhere, programs built in this process.
    #[must_use]
    pub const fn new(address: SocketAddr) -> Self {
        Self {
            address,
            device_id: 0,
            tls: None,
            state_dir: None,
            limits: Limits::DEFAULT,
            builder: PipelineBuilder::InProcess,
            ports: None,
        }
    }
}

/// Why a server does not start.
#[derive(Debug, Error)]
pub enum ServerError {
    /// The address cannot be had.
    #[error("cannot listen at {address}: {source}; is another switch running there?")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// The certificates are no good.
    #[error("the certificates cannot be used: {0}")]
    Tls(String),
    /// Saved state cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Saved state cannot run.
    #[error("the saved pipeline does not run: {0}")]
    Resume(Refusal),
    /// The reflection service cannot be made of our descriptors.
    #[error("reflection: {0}")]
    Reflection(String),
}

/// Takes an address for a server that is to start later, when the right to take it may be gone.
///
/// # Errors
/// [`ServerError::Bind`].
pub fn listen(address: SocketAddr) -> Result<std::net::TcpListener, ServerError> {
    let listener = std::net::TcpListener::bind(address).and_then(|listener| {
        listener.set_nonblocking(true)?;
        Ok(listener)
    });
    listener.map_err(|source| ServerError::Bind { address, source })
}

/// A server that runs.
pub struct Server {
    address: SocketAddr,
    switch: Arc<Switch>,
    stopping: watch::Sender<bool>,
    serving: JoinHandle<Result<(), tonic::transport::Error>>,
    dispatching: JoinHandle<()>,
}

impl Server {
    /// Restores saved state if there is any, and serves from then on.
    ///
    /// # Errors
    /// [`ServerError`].
    pub async fn start(
        config: ServerConfig,
        engine: EngineHandle,
        notifications: mpsc::Receiver<Notification>,
    ) -> Result<Self, ServerError> {
        let listener = listen(config.address)?;
        Self::start_on(listener, config, engine, notifications).await
    }

    /// The same at a socket that listens already, whatever address the configuration has.
    ///
    /// # Errors
    /// [`ServerError`].
    pub async fn start_on(
        listener: std::net::TcpListener,
        config: ServerConfig,
        engine: EngineHandle,
        notifications: mpsc::Receiver<Notification>,
    ) -> Result<Self, ServerError> {
        let bind = |source| ServerError::Bind {
            address: config.address,
            source,
        };
        let address = listener.local_addr().map_err(bind)?;
        let listener = TcpListener::from_std(listener).map_err(bind)?;
        let mut store = config.state_dir.as_deref().map(Store::open).transpose()?;
        let restored = match &mut store {
            Some(store) => store.restore(&engine)?,
            None => None,
        };
        let engine_of_ports = engine.clone();
        let switch = Arc::new(Switch::new(config.device_id, engine, config.builder, store));
        if let Some(pipeline) = restored {
            switch.resume(pipeline).map_err(ServerError::Resume)?;
        }
        let (stopping, stopped) = watch::channel(false);
        let (acks, acknowledged) = mpsc::channel(1024);
        let dispatch = Dispatch::new(Arc::clone(&switch));
        let dispatching = tokio::spawn(dispatch.run(notifications, acknowledged));
        switch.changed.notify_one();
        let shared = Shared {
            switch: Arc::clone(&switch),
            acks,
            limits: config.limits,
        };
        let calls = Calls::new(Service::new(shared, stopped.clone()));
        let (health, health_service) = tonic_health::server::health_reporter();
        health.set_serving::<Calls>().await;
        health.set_serving::<GNmiServer<gnmi::Service>>().await;
        let gnmi = gnmi::service(
            engine_of_ports,
            config.ports,
            config.limits,
            stopped.clone(),
        );
        let reflection = tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(p4runtime::FILE_DESCRIPTOR_SET)
            .register_encoded_file_descriptor_set(::gnmi::FILE_DESCRIPTOR_SET)
            .build_v1()
            .map_err(|e| ServerError::Reflection(e.to_string()))?;
        let mut builder = tonic::transport::Server::builder()
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_frame_size(Some(1 << 20))
            .max_concurrent_streams(config.limits.calls_of_client)
            .http2_keepalive_interval(Some(config.limits.silence / 3))
            .http2_keepalive_timeout(Some(config.limits.silence / 3))
            .layer(GuardLayer::new(config.limits));
        if let Some(tls) = &config.tls {
            builder = builder
                .tls_config(tls_config(tls, config.limits.hello))
                .map_err(tls_error)?;
        }
        let router = builder
            .add_service(calls)
            .add_service(gnmi)
            .add_service(health_service)
            .add_service(reflection);
        let incoming = connections::incoming(listener, config.limits);
        let mut stop = stopped;
        let serving = tokio::spawn(router.serve_with_incoming_shutdown(incoming, async move {
            // A sender that is gone stops the server too.
            let _ = stop.wait_for(|stop| *stop).await;
        }));
        Ok(Self {
            address,
            switch,
            stopping,
            serving,
            dispatching,
        })
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The device it serves.
    #[must_use]
    pub const fn switch(&self) -> &Arc<Switch> {
        &self.switch
    }

    /// Ends all streams, lets calls in progress end, and saves the state.
    pub async fn stop(mut self) {
        // Nobody to tell means that it has stopped.
        let _ = self.stopping.send(true);
        if tokio::time::timeout(GRACE, &mut self.serving)
            .await
            .is_err()
        {
            self.serving.abort();
        }
        self.dispatching.abort();
        self.switch.save();
    }
}

fn tls_config(tls: &Tls, hello: Duration) -> ServerTlsConfig {
    let identity = Identity::from_pem(&tls.certificate, &tls.key);
    let config = ServerTlsConfig::new().identity(identity).timeout(hello);
    match &tls.client_ca {
        Some(ca) => config.client_ca_root(Certificate::from_pem(ca)),
        None => config,
    }
}

fn tls_error(error: tonic::transport::Error) -> ServerError {
    let cause = std::error::Error::source(&error).map(|e| format!(": {e}"));
    ServerError::Tls(format!("{error}{}", cause.unwrap_or_default()))
}
