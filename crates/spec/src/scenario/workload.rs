//! Workloads as a scenario file has them: jobs that begin by chance at every host.

use serde::Deserialize;

use super::transport::{MAX_PACKET, MIN_PACKET, SenderSpec, TransportSpec};
use crate::quantity::{Size, Time};

/// Jobs of one kind at every host, to others drawn at random.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkloadSpec {
    /// What it is called in the report.
    pub name: String,
    /// When jobs begin.
    pub arrivals: ArrivalsSpec,
    /// A job is an incast: requests to so many other hosts, each of which answers; done when all
    /// answers are there. If absent, it is one flow to another host.
    pub servers: Option<u32>,
    /// Bytes of the flow, or of each answer: each of these as likely as the others.
    pub sizes: Vec<Size>,
    /// Bytes of a request; those of the shortest frame if absent.
    pub request: Option<Size>,
    /// When the first job may begin; 0 if absent.
    pub start: Option<Time>,
    /// From when on no more jobs begin; the end if absent.
    pub stop: Option<Time>,
    /// The lossless class, counted from 0; 0 if absent.
    #[serde(default)]
    pub class: u8,
    /// Send it lossy.
    #[serde(default)]
    pub lossy: bool,
    /// Length of its frames.
    pub packet: Option<u16>,
    /// How its senders behave.
    #[serde(default)]
    pub transport: TransportSpec,
    /// Another source port for every packet, so that ECMP spreads them (packet spraying).
    #[serde(default)]
    pub spray: bool,
    /// As of a flow.
    pub first_window: Option<u32>,
    /// As of a flow.
    pub slow_start: Option<bool>,
    /// As of a flow.
    pub fast_retransmit: Option<bool>,
    /// As of a flow.
    pub min_rto: Option<Time>,
}

/// When jobs begin.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ArrivalsSpec {
    /// So many per second at every host on average, independent of each other.
    Poisson(f64),
    /// One at a time at every host; the next one begins after a pause that is drawn from nothing to
    /// this.
    Closed(Time),
}

impl WorkloadSpec {
    /// How packets are sent.
    #[must_use]
    pub const fn sender(&self) -> SenderSpec {
        SenderSpec {
            transport: self.transport,
            spray: self.spray,
            first_window: self.first_window,
            slow_start: self.slow_start,
            fast_retransmit: self.fast_retransmit,
            min_rto: self.min_rto,
        }
    }

    pub(super) fn check(&self) -> Result<(), String> {
        self.sender().check()?;
        if self.sizes.is_empty() || self.sizes.iter().any(|size| size.0.get() == 0) {
            return Err("needs `sizes`, all above 0 bytes".to_owned());
        }
        if let ArrivalsSpec::Poisson(rate) = self.arrivals
            && !(rate > 0.0 && rate <= 1e9)
        {
            return Err(format!(
                "has {rate} jobs per second and host; there may be any number above 0 up to 10^9"
            ));
        }
        if self.servers == Some(0) {
            return Err("asks 0 servers; leave `servers` out for single flows".to_owned());
        }
        if self.servers.is_none() && self.request.is_some() {
            return Err("has a `request` and asks no `servers`".to_owned());
        }
        if self
            .packet
            .is_some_and(|packet| !(MIN_PACKET..=MAX_PACKET).contains(&packet))
        {
            return Err(format!(
                "has frames that may not be; they may have {MIN_PACKET} to {MAX_PACKET} bytes"
            ));
        }
        let start = self.start.map_or(0, |start| start.0.get());
        if self.stop.is_some_and(|stop| stop.0.get() <= start) {
            return Err("stops before it starts".to_owned());
        }
        Ok(())
    }
}
