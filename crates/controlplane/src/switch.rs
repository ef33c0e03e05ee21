//! One switch, over whichever API it has.

use std::sync::Arc;

use p4gen::capabilities::Api;
use p4runtime::P4InfoIndex;
use p4runtime::p4::v1::{self, write_request::Atomicity};

use super::client::Client;
use super::desired::DesiredPipeline;
use super::devices::Device;
use super::entity::Entities;
use super::error::RemoteError;
use super::state::{self, SwitchState, Unreadable};
use crate::bfrt;

/// A switch that we talk to.
#[derive(Debug)]
pub enum Switch {
    /// Over P4Runtime.
    P4Runtime(Box<Client>),
    /// Over BF Runtime.
    BfRuntime(Box<bfrt::Client>),
}

impl Switch {
    /// Connects, over the API that the build is for.
    ///
    /// # Errors
    /// [`RemoteError::Connect`].
    pub async fn connect(
        device: &Device,
        pipeline: &Arc<DesiredPipeline>,
    ) -> Result<Self, RemoteError> {
        Ok(match pipeline.target.api {
            Api::P4Runtime => Self::P4Runtime(Box::new(Client::connect(&device.endpoint).await?)),
            Api::BfRuntime => {
                Self::BfRuntime(Box::new(bfrt::Client::connect(device, pipeline).await?))
            }
        })
    }

    /// Opens the session in which we may write.
    ///
    /// # Errors
    /// [`RemoteError::NotPrimary`], [`RemoteError::Taken`] where somebody else may; refusals; an
    /// unreachable switch.
    pub async fn become_primary(&mut self, take_over: bool) -> Result<(), RemoteError> {
        match self {
            Self::P4Runtime(client) => {
                client.check_version().await?;
                client.become_primary(take_over).await
            }
            Self::BfRuntime(client) => client.bind(take_over).await,
        }
    }

    /// Whether that session still stands.
    #[must_use]
    pub fn is_primary(&self) -> bool {
        match self {
            Self::P4Runtime(client) => client.is_primary(),
            Self::BfRuntime(client) => client.is_subscribed(),
        }
    }

    /// Reads everything.
    ///
    /// # Errors
    /// An unreachable switch; refusals; contents that do not fit the switch's own program; over BF
    /// Runtime also [`RemoteError::OtherProgram`], for there its tables can only be understood with
    /// the build's.
    pub async fn state(&mut self) -> Result<SwitchState, RemoteError> {
        match self {
            Self::P4Runtime(client) => state::read(client).await,
            Self::BfRuntime(client) => client.state().await,
        }
    }

    /// Reads the entities, of the program with this P4Info, which it runs.
    ///
    /// # Errors
    /// As [`state`](Self::state).
    pub async fn entities(
        &mut self,
        info: &P4InfoIndex,
    ) -> Result<(Entities, Unreadable), RemoteError> {
        match self {
            Self::P4Runtime(client) => state::read_entities(client, info).await,
            Self::BfRuntime(client) => Ok((client.entities().await?, Unreadable::new())),
        }
    }

    /// Writes one batch.
    ///
    /// # Errors
    /// [`RemoteError::Updates`] with every refused update; other refusals; an unreachable switch.
    pub async fn write(
        &mut self,
        updates: Vec<v1::Update>,
        atomicity: Atomicity,
    ) -> Result<(), RemoteError> {
        match self {
            Self::P4Runtime(client) => client.write(updates, atomicity).await,
            Self::BfRuntime(client) => client.write(&updates, atomicity).await,
        }
    }

    /// Whether updates of a batch are applied in its order. P4Runtime leaves the order to the
    /// server.
    #[must_use]
    pub const fn keeps_order(&self) -> bool {
        matches!(self, Self::BfRuntime(_))
    }
}
