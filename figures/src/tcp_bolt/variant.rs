//! The ten transports of Stephens15 chapter 3, and what switches have for each (section 3.2.2).

use serde::Serialize;

/// A transport with what the network has for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Variant {
    /// TCP (NewReno) over lossy Ethernet, with slow start from 10 packets.
    #[serde(rename = "TCP")]
    Tcp,
    /// The same without slow start: a first window of 200 packets.
    #[serde(rename = "TCP-NoSS")]
    TcpNoSs,
    /// TCP over DCB (lossless Ethernet).
    #[serde(rename = "TCP-DCB")]
    TcpDcb,
    /// DCTCP over lossy Ethernet, with slow start.
    #[serde(rename = "DCTCP")]
    Dctcp,
    /// DCTCP over lossy Ethernet, without slow start.
    #[serde(rename = "DCTCP-NoSS")]
    DctcpNoSs,
    /// DCTCP over DCB, with slow start.
    #[serde(rename = "DCTCP-DCB")]
    DctcpDcb,
    /// DCTCP over DCB without slow start: TCP-Bolt.
    #[serde(rename = "TCP-Bolt")]
    TcpBolt,
    /// TCP-Bolt whose packets take all ways (packet spraying).
    #[serde(rename = "PS-TCP-Bolt")]
    PsTcpBolt,
    /// DCTCP over lossy Ethernet without slow start whose packets take all ways.
    #[serde(rename = "PS-DCTCP-NoSS")]
    PsDctcpNoSs,
    /// pFabric over lossy Ethernet with small ranked queues.
    #[serde(rename = "pFabric")]
    PFabric,
}

/// What chapter 3 says of its network.
pub(super) const ROUND_TRIP: &str = "240us";
/// By how much hosts of the testbed differ from packet to packet, which the chapter does not say: a
/// little more than a packet takes at 10 Gb/s. Without, packets of equal length come to a full
/// queue in the same order again and again, and one flow takes all places in it (phase effects,
/// Floyd91).
pub(super) const JITTER: &str = "2us";
/// KB of buffer of every port, and of a port's ranked queue with pFabric.
const PORT_KB: u32 = 225;
const RANKED_KB: f64 = 22.5;
/// KB of it that take what arrives after a pause, at 10 Gb/s: more than the calculated headroom of
/// 100 m.
const HEADROOM_KB: u32 = 25;

impl Variant {
    /// All, in the order in which figures list them.
    pub const ALL: [Self; 10] = [
        Self::Tcp,
        Self::TcpNoSs,
        Self::TcpDcb,
        Self::Dctcp,
        Self::DctcpNoSs,
        Self::DctcpDcb,
        Self::TcpBolt,
        Self::PsTcpBolt,
        Self::PsDctcpNoSs,
        Self::PFabric,
    ];

    /// Its name in the paper.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::TcpNoSs => "TCP-NoSS",
            Self::TcpDcb => "TCP-DCB",
            Self::Dctcp => "DCTCP",
            Self::DctcpNoSs => "DCTCP-NoSS",
            Self::DctcpDcb => "DCTCP-DCB",
            Self::TcpBolt => "TCP-Bolt",
            Self::PsTcpBolt => "PS-TCP-Bolt",
            Self::PsDctcpNoSs => "PS-DCTCP-NoSS",
            Self::PFabric => "pFabric",
        }
    }

    /// Whether switches pause rather than drop.
    #[must_use]
    pub const fn lossless(self) -> bool {
        matches!(
            self,
            Self::TcpDcb | Self::DctcpDcb | Self::TcpBolt | Self::PsTcpBolt
        )
    }

    /// Whether windows begin small and double.
    const fn slow_start(self) -> bool {
        matches!(
            self,
            Self::Tcp | Self::TcpDcb | Self::Dctcp | Self::DctcpDcb
        )
    }

    /// The fields of a flow or workload of a scenario file that make its senders. With `large` the
    /// first window is 200 packets, whatever the variant: what the paper calls TCP-DCB in Figure
    /// 3.1.
    pub(super) fn sender(self, large: bool) -> String {
        let transport = match self {
            Self::Tcp | Self::TcpNoSs | Self::TcpDcb => "tcp",
            Self::PFabric => "pfabric",
            _ => "dctcp",
        };
        let slow_start = self.slow_start() && !large;
        let first = if slow_start { 10 } else { 200 };
        let rto = match self {
            Self::PFabric => "600us",
            _ => "2ms",
        };
        let spray = matches!(self, Self::PsTcpBolt | Self::PsDctcpNoSs);
        format!(
            "transport: {transport}, first_window: {first}, slow_start: {slow_start}, min_rto: {rto}, spray: {spray}, lossy: {}",
            !self.lossless()
        )
    }

    /// What switches with so many ports are like, as a scenario file has it.
    pub(super) fn switches(self, ports: u32) -> String {
        let buffer = PORT_KB * ports;
        let own = match self {
            _ if self.lossless() => {
                let xoff = PORT_KB - HEADROOM_KB;
                let xon = xoff - 3;
                format!("headroom: {HEADROOM_KB}KB, threshold: {{ xoff: {xoff}KB, xon: {xon}KB }}")
            }
            Self::PFabric => format!("headroom: 0B, ranked: {RANKED_KB}KB"),
            _ => format!("headroom: 0B, lossy_limit: {PORT_KB}KB"),
        };
        format!("{{ buffer: {buffer}KB, {own}, ecn: {{ kmin: 22.5KB, kmax: 22.5KB }} }}")
    }
}
