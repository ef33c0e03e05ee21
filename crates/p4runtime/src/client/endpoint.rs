//! Where a server is, and the transport to it.

use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Identity as Certified};

use super::{Connection, ElectionId, Identity};

/// Room for the `details` of a refused Write: one error per update travels in a header.
const HEADERS_MAX: u32 = 16 << 20;
/// Bytes that a server may send unasked, on one call and on all: a Read of a large table shall not
/// wait for us.
const STREAM_WINDOW: u32 = 8 << 20;
const CONNECTION_WINDOW: u32 = 64 << 20;

/// Why there is no connection.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConnectError {
    /// Nobody answers there.
    #[error("{address} cannot be reached: {reason}")]
    Unreachable {
        /// Where we called.
        address: String,
        /// Why.
        reason: String,
    },
    /// A certificate or key cannot be used.
    #[error("TLS with {address}: {reason}")]
    Tls {
        /// Where we called.
        address: String,
        /// Why.
        reason: String,
    },
}

/// Certificates of a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tls {
    /// The authority that signed the switch's certificate, PEM.
    pub ca: Option<PathBuf>,
    /// Our own certificate and key, PEM, for switches that ask for one.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// The name in the switch's certificate, where it is not the address.
    pub name: Option<String>,
}

/// Where a switch is and who we are to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// `HOST:PORT`.
    pub address: String,
    /// P4Runtime device id.
    pub device_id: u64,
    /// Role name, empty for full access.
    pub role: String,
    /// With this id we ask to be primary.
    pub election_id: ElectionId,
    /// Encrypted, with these certificates.
    pub tls: Option<Tls>,
    /// How long one call may take.
    pub timeout: Duration,
}

impl Endpoint {
    /// A plain connection with the usual settings.
    #[must_use]
    pub fn plain(address: impl Into<String>, device_id: u64) -> Self {
        Self {
            address: address.into(),
            device_id,
            role: String::new(),
            election_id: ElectionId(1),
            tls: None,
            timeout: Duration::from_secs(30),
        }
    }

    /// Opens the transport.
    ///
    /// # Errors
    /// [`ConnectError::Tls`] for certificates that cannot be used, [`ConnectError::Unreachable`].
    pub async fn channel(&self) -> Result<Channel, ConnectError> {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let uri = format!("{scheme}://{}", self.address);
        let mut endpoint = tonic::transport::Endpoint::from_shared(uri)
            .map_err(|error| self.unreachable(&error))?
            .connect_timeout(self.timeout.min(Duration::from_secs(5)))
            .http2_max_header_list_size(HEADERS_MAX)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .tcp_nodelay(true);
        if let Some(tls) = &self.tls {
            endpoint = endpoint
                .tls_config(self.tls_config(tls)?)
                .map_err(|error| self.tls_error(&error))?;
        }
        endpoint
            .connect()
            .await
            .map_err(|error| self.unreachable(&error))
    }

    /// Connects; a connection says nothing of who we are.
    ///
    /// # Errors
    /// As [`Endpoint::channel`].
    pub async fn connect(&self) -> Result<Connection, ConnectError> {
        Ok(Connection::new(self.channel().await?, self.timeout))
    }

    /// Who we are there.
    #[must_use]
    pub fn identity(&self) -> Identity {
        Identity {
            device_id: self.device_id,
            role: self.role.clone(),
            election_id: Some(self.election_id),
        }
    }

    fn tls_config(&self, tls: &Tls) -> Result<ClientTlsConfig, ConnectError> {
        let read = |path: &PathBuf| {
            std::fs::read(path).map_err(|error| ConnectError::Tls {
                address: self.address.clone(),
                reason: format!("`{}` cannot be read: {error}", path.display()),
            })
        };
        let mut config = ClientTlsConfig::new();
        if let Some(ca) = &tls.ca {
            config = config.ca_certificate(Certificate::from_pem(read(ca)?));
        }
        if let Some((certificate, key)) = &tls.identity {
            config = config.identity(Certified::from_pem(read(certificate)?, read(key)?));
        }
        if let Some(name) = &tls.name {
            config = config.domain_name(name);
        }
        Ok(config)
    }

    fn unreachable(&self, error: &dyn std::error::Error) -> ConnectError {
        ConnectError::Unreachable {
            address: self.address.clone(),
            reason: causes(error),
        }
    }

    fn tls_error(&self, error: &dyn std::error::Error) -> ConnectError {
        ConnectError::Tls {
            address: self.address.clone(),
            reason: causes(error),
        }
    }
}

/// An error with its causes.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text = format!("{text}: {inner_text}");
        }
        cause = inner.source();
    }
    text
}
