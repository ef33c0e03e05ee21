//! How packets are sent: transports, and what a scenario may say of each.

use serde::Deserialize;

use crate::quantity::Time;

/// The shortest frame that holds the headers and what the simulator writes behind them.
pub const MIN_PACKET: u16 = 74;
/// The longest frame.
pub const MAX_PACKET: u16 = 9216;

/// How a flow's sender behaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum TransportSpec {
    /// Sends at its rate, whatever happens: RDMA without congestion control.
    #[default]
    Open,
    /// TCP: a window that grows until something is lost (RFC 5681, NewReno's recovery by RFC 6582,
    /// timeouts by RFC 6298).
    Tcp,
    /// DCTCP: a window that follows the share of marked packets (RFC 8257).
    Dctcp,
    /// TCP-Bolt (Stephens15 chapter 3): DCTCP that begins with a window of a whole bandwidth-delay
    /// product.
    Bolt,
    /// DCQCN: a rate that follows the receiver's congestion notifications.
    Dcqcn,
    /// pFabric (pFabric13 section 4.3): a first window of a whole bandwidth-delay product, and of
    /// losses only timeouts tell, which are short and never grow. For switches with `ranked`
    /// queues.
    Pfabric,
}

impl TransportSpec {
    /// Whether the sender has a window, and its receiver acknowledges.
    #[must_use]
    pub const fn has_window(self) -> bool {
        !matches!(self, Self::Open | Self::Dcqcn)
    }

    /// Whether the sender asks for marks.
    #[must_use]
    pub const fn is_ecn_capable(self) -> bool {
        matches!(self, Self::Dctcp | Self::Bolt | Self::Dcqcn)
    }
}

/// How packets are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SenderSpec {
    /// How the sender behaves.
    pub transport: TransportSpec,
    /// Another source port for every packet.
    pub spray: bool,
    /// The first window in packets.
    pub first_window: Option<u32>,
    /// Whether the window doubles in every round trip at first.
    pub slow_start: Option<bool>,
    /// Whether repeated acknowledgements tell of losses.
    pub fast_retransmit: Option<bool>,
    /// The shortest retransmission timeout.
    pub min_rto: Option<Time>,
}

impl SenderSpec {
    pub(super) fn check(&self) -> Result<(), String> {
        let given = [
            ("first_window", self.first_window.is_some()),
            ("slow_start", self.slow_start.is_some()),
            ("fast_retransmit", self.fast_retransmit.is_some()),
            ("min_rto", self.min_rto.is_some()),
        ];
        if let Some((name, _)) = given.iter().find(|(_, given)| *given)
            && !self.transport.has_window()
        {
            return Err(format!(
                "has `{name}`, which means nothing for a transport without a window; leave it out, or use tcp, dctcp, bolt or pfabric"
            ));
        }
        if self.transport == TransportSpec::Pfabric && self.fast_retransmit == Some(true) {
            return Err(
                "has `fast_retransmit`, but pFabric knows of losses by timeouts alone".to_owned(),
            );
        }
        if self.first_window == Some(0) {
            return Err("has a first window of 0 packets and would never send".to_owned());
        }
        if self.min_rto.is_some_and(|time| time.0.get() == 0) {
            return Err("has `min_rto` 0; a timeout takes some time".to_owned());
        }
        Ok(())
    }
}
