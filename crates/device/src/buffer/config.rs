//! Configuration of a shared-buffer switch: ports, thresholds, schedulers, marking; and why one is
//! refused.

use quantities::{BitRate, Bytes, Nanos, PortId, Priority};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use wire::MacAddr;
use wire::pfc::Quanta;

/// Number of priorities, hence of queues per port and direction.
pub const CLASSES: usize = 8;

/// A set of priorities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassSet(u8);

impl ClassSet {
    /// Whether the priority is in the set.
    #[must_use]
    pub const fn contains(self, class: Priority) -> bool {
        class.get() < 8 && self.0 >> class.get() & 1 == 1
    }

    /// The set as a bit mask: bit i stands for priority i.
    #[must_use]
    pub const fn bits(self) -> u8 {
        self.0
    }
}

impl FromIterator<Priority> for ClassSet {
    /// Priorities above 7 do not exist and are left out.
    fn from_iter<T: IntoIterator<Item = Priority>>(classes: T) -> Self {
        let bit = |class: Priority| 1u8.checked_shl(class.get().into()).unwrap_or(0);
        Self(classes.into_iter().fold(0, |set, class| set | bit(class)))
    }
}

/// A share of the free shared buffer, in units of 1/1024, as switches hold it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Alpha(u32);

impl Alpha {
    /// The nearest share that a switch can hold; nothing for what is not a positive number up to
    /// 1024.
    #[must_use]
    pub fn new(share: f64) -> Option<Self> {
        let scaled = (share * 1024.0).round();
        ((1.0..=1_048_576.0).contains(&scaled)).then_some(Self(scaled as u32))
    }

    /// The share as a number.
    #[must_use]
    pub fn share(self) -> f64 {
        f64::from(self.0) / 1024.0
    }

    /// So much of what is free.
    #[must_use]
    pub const fn of(self, free: u64) -> u64 {
        ((free as u128 * self.0 as u128) >> 10) as u64
    }
}

/// When a lossless class of an input port has used so much that its sender must stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Threshold {
    /// XOFF from `xoff` bytes on, XON at or below `xon`.
    Fixed {
        /// Use at which the sender is paused.
        xoff: Bytes,
        /// Use at which it may go on.
        xon: Bytes,
    },
    /// XOFF from `alpha` times the free shared buffer on; XON `offset` bytes below that.
    Dynamic {
        /// The share.
        alpha: Alpha,
        /// How far below the threshold a sender may go on.
        offset: Bytes,
    },
}

impl Threshold {
    /// The use at which a class is stopped when so much of the shared buffer is free.
    pub(super) const fn stop_at(self, free: u64) -> u64 {
        match self {
            Self::Fixed { xoff, .. } => xoff.get(),
            Self::Dynamic { alpha, .. } => alpha.of(free),
        }
    }

    /// The use down to which a stopped class must fall when so much of the shared buffer is free.
    pub(super) const fn resume_at(self, free: u64) -> u64 {
        match self {
            Self::Fixed { xon, .. } => xon.get(),
            Self::Dynamic { alpha, offset } => alpha.of(free).saturating_sub(offset.get()),
        }
    }
}

/// How long a lossy queue may grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// So many bytes.
    Fixed(Bytes),
    /// So much of the free shared buffer.
    Dynamic(Alpha),
}

impl QueueLimit {
    /// The limit when so much of the shared buffer is free.
    pub(super) const fn of(self, free: u64) -> u64 {
        match self {
            Self::Fixed(limit) => limit.get(),
            Self::Dynamic(alpha) => alpha.of(free),
        }
    }
}

/// Which of a port's waiting classes sends next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduler {
    /// The highest.
    Strict,
    /// Weighted round robin: so many packets of each class in turn.
    Wrr([u16; CLASSES]),
    /// Deficit weighted round robin: bytes in these proportions.
    Dwrr([u16; CLASSES]),
}

impl Default for Scheduler {
    fn default() -> Self {
        Self::Dwrr([1; CLASSES])
    }
}

/// When packets of ECN-capable senders are marked: by the length of their queue as they join it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ecn {
    /// No marks up to here.
    pub kmin: Bytes,
    /// All are marked from here on.
    pub kmax: Bytes,
    /// The probability just below `kmax`; it rises from 0 at `kmin` in a straight line.
    pub pmax: f64,
}

/// A port of a shared-buffer switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortConfig {
    /// Its number.
    pub port: PortId,
    /// How fast it sends.
    pub rate: BitRate,
    /// Buffer set aside for what still arrives of one lossless class after its sender was told to
    /// stop (TaggerDraft section 3.3).
    pub headroom: Bytes,
    /// Its address: the source of the PFC frames that it sends.
    pub mac: MacAddr,
    /// How long it takes to act on a PFC frame (IEEE 802.1Qbb: at most 60 quanta).
    pub reaction: Nanos,
}

/// A shared-buffer switch.
#[derive(Clone, Debug, PartialEq)]
pub struct BufferConfig {
    /// The packet buffer. What the headroom of all ports and lossless classes leaves is shared.
    pub capacity: Bytes,
    /// The classes that are paused rather than dropped.
    pub lossless: ClassSet,
    /// When a lossless class is paused.
    pub threshold: Threshold,
    /// When a lossy class is dropped.
    pub lossy_limit: QueueLimit,
    /// Lossy queues go by rank and hold so much, whatever `lossy_limit` says; if absent, they go by
    /// arrival.
    pub ranked: Option<Bytes>,
    /// When packets are marked.
    pub ecn: Option<Ecn>,
    /// Who sends next.
    pub scheduler: Scheduler,
    /// The pause that a PFC frame asks for; it is renewed after half of it.
    pub pause: Quanta,
    /// What a frame takes on the wire beyond its bytes: check sequence, preamble, gap.
    pub wire_overhead: Bytes,
    /// Queue packets by ING_PRIO instead of EG_PRIO, as switches do that do not tell them apart
    /// (TaggerDraft section 6.3 shows why that loses packets).
    pub tied_priorities: bool,
    /// Where chance (marking) begins.
    pub seed: u64,
    /// The ports.
    pub ports: Vec<PortConfig>,
}

/// Check sequence (4), preamble and delimiter (8), gap (12).
pub const ETHERNET_OVERHEAD: Bytes = Bytes::new(24);

impl BufferConfig {
    /// A switch with these ports and lossless classes, and what is usual: dynamic thresholds of
    /// 1/2, lossy queues up to as much as is free, DWRR with equal weights, the longest pause, no
    /// marks.
    #[must_use]
    pub fn usual(capacity: Bytes, lossless: ClassSet, ports: Vec<PortConfig>) -> Self {
        Self {
            capacity,
            lossless,
            threshold: Threshold::Dynamic {
                alpha: Alpha(512),
                offset: Bytes::new(3_000),
            },
            lossy_limit: QueueLimit::Dynamic(Alpha(1024)),
            ranked: None,
            ecn: None,
            scheduler: Scheduler::default(),
            pause: Quanta::MAX,
            wire_overhead: ETHERNET_OVERHEAD,
            tied_priorities: false,
            seed: 1,
            ports,
        }
    }

    /// What all headroom leaves of the buffer.
    ///
    /// # Errors
    /// [`BufferError::Headroom`] if it leaves nothing.
    pub fn shared(&self) -> Result<Bytes, BufferError> {
        let classes = u64::from(self.lossless.bits().count_ones());
        let headroom = self.ports.iter().fold(0u64, |sum, port| {
            sum.saturating_add(port.headroom.get().saturating_mul(classes))
        });
        match self.capacity.get().checked_sub(headroom) {
            Some(shared) if shared > 0 => Ok(Bytes::new(shared)),
            _ => Err(BufferError::Headroom {
                needed: Bytes::new(headroom),
                classes,
                capacity: self.capacity,
            }),
        }
    }

    /// Whether a switch can work like this; what is shared.
    pub(super) fn check(&self) -> Result<Bytes, BufferError> {
        let shared = self.shared()?;
        if self.lossless.contains(Priority::new(0)) {
            return Err(BufferError::LossyClass);
        }
        let mut ports: Vec<PortId> = self.ports.iter().map(|p| p.port).collect();
        ports.sort_unstable();
        if let Some(twice) = ports.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(BufferError::PortTwice(twice[0]));
        }
        if let Some(port) = self.ports.iter().find(|p| p.rate.get() == 0) {
            return Err(BufferError::NoRate(port.port));
        }
        if let Threshold::Fixed { xoff, xon } = self.threshold {
            if xon > xoff {
                return Err(BufferError::XonAboveXoff { xoff, xon });
            }
            if xoff > shared {
                return Err(BufferError::XoffAboveShared { xoff, shared });
            }
            if xoff.get() == 0 {
                return Err(BufferError::NoThreshold);
            }
        }
        if let Some(limit) = self.ranked
            && (limit.get() == 0 || limit > shared)
        {
            return Err(BufferError::Ranked { limit, shared });
        }
        if let Some(ecn) = self.ecn
            && !(ecn.kmin <= ecn.kmax && (0.0..=1.0).contains(&ecn.pmax))
        {
            return Err(BufferError::Ecn);
        }
        if let Scheduler::Wrr(weights) | Scheduler::Dwrr(weights) = self.scheduler
            && weights.contains(&0)
        {
            return Err(BufferError::NoWeight);
        }
        if self.pause == Quanta::RESUME {
            return Err(BufferError::NoPause);
        }
        Ok(shared)
    }
}

/// Why a switch cannot be configured like this.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BufferError {
    /// The buffer is too small.
    #[error(
        "the PFC headroom of all ports and {classes} lossless classes is {needed} bytes and leaves nothing of a buffer of \
         {capacity} to share; have fewer lossless classes, shorter links or a larger buffer"
    )]
    Headroom {
        /// All headroom.
        needed: Bytes,
        /// Lossless classes.
        classes: u64,
        /// The buffer.
        capacity: Bytes,
    },
    /// Class 0.
    #[error("priority 0 is the lossy class and cannot be lossless; use 1 to 7")]
    LossyClass,
    /// One number, two ports.
    #[error("port {0} is configured twice")]
    PortTwice(PortId),
    /// Rate 0.
    #[error("port {0} has rate 0 and could never send")]
    NoRate(PortId),
    /// Hysteresis the wrong way round.
    #[error("XON at {xon} bytes is above XOFF at {xoff}; XON must not be above XOFF")]
    XonAboveXoff {
        /// XOFF.
        xoff: Bytes,
        /// XON.
        xon: Bytes,
    },
    /// XOFF would never be reached.
    #[error(
        "XOFF at {xoff} bytes is above the {shared} bytes that the buffer shares beside its headroom"
    )]
    XoffAboveShared {
        /// XOFF.
        xoff: Bytes,
        /// The shared part.
        shared: Bytes,
    },
    /// XOFF at nothing.
    #[error("XOFF at 0 bytes would pause every sender for ever")]
    NoThreshold,
    /// Ranked queues of nothing, or of more than there is.
    #[error(
        "ranked queues of {limit} bytes cannot be: they hold more than 0 and not more than the {shared} bytes that the buffer shares"
    )]
    Ranked {
        /// What each is to hold.
        limit: Bytes,
        /// The shared part.
        shared: Bytes,
    },
    /// Marks.
    #[error("ECN needs kmin <= kmax and a probability pmax from 0 to 1")]
    Ecn,
    /// A class that never sends.
    #[error("a scheduler's weight is 0: that class would never send; weights are at least 1")]
    NoWeight,
    /// A pause of nothing.
    #[error("a pause of 0 quanta means \"go on\"; ask for at least 1")]
    NoPause,
}
