//! Packets that leave at once.

use p4exec::{Batch, Departure};
use quantities::Nanos;

use crate::{DeviceDrop, Transmit, ports::Ports};

/// Packets that leave at once, in order: those that [`Device::poll_transmit`] has not handed over
/// yet.
///
/// [`Device::poll_transmit`]: crate::Device::poll_transmit
#[derive(Clone, Debug, Default)]
pub struct Immediate {
    batch: Batch,
    /// Packets of the batch that were handed over.
    handed: usize,
}

impl Immediate {
    /// Where the executor puts packets, behind those that still are to be handed over.
    #[inline]
    pub(crate) fn batch(&mut self) -> &mut Batch {
        if self.handed == self.batch.sent.len() {
            self.batch.clear();
            self.handed = 0;
        }
        &mut self.batch
    }

    /// Counts the packets from `first` on, which the program has sent; takes out those whose port
    /// does not send.
    pub(crate) fn check(&mut self, first: usize, ports: &mut Ports, drops: &mut Vec<DeviceDrop>) {
        let reasons = self.batch.dropped.drain(..);
        drops.extend(reasons.map(|(_, reason)| DeviceDrop::from(reason)));
        let mut kept = first;
        for at in first..self.batch.sent.len() {
            let departure = &self.batch.sent[at];
            let port = departure.port;
            match ports.may_send(port) {
                Ok(()) => {
                    ports.count_sent(port, departure.range.len() as u64);
                    self.batch.sent.swap(kept, at);
                    kept += 1;
                }
                Err(drop) => drops.push(drop),
            }
        }
        self.batch.sent.truncate(kept);
    }

    /// Adds one packet, which was counted.
    pub(crate) fn push(&mut self, departure: &Departure, bytes: &[u8]) {
        let batch = self.batch();
        let start = batch.bytes.len();
        batch.bytes.extend_from_slice(bytes);
        batch.sent.push(Departure {
            range: start..batch.bytes.len(),
            ..departure.clone()
        });
    }

    #[inline]
    pub(super) fn poll_transmit(&mut self, now: Nanos) -> Option<Transmit<'_>> {
        let departure = self.batch.sent.get(self.handed)?;
        self.handed += 1;
        let eg_prio = departure.metadata.eg_prio.unwrap_or_default();
        Some(Transmit {
            port: departure.port,
            bytes: self.batch.packet(departure),
            padding: 0,
            queue: Some(eg_prio),
            ing_prio: departure.metadata.ing_prio.unwrap_or_default(),
            eg_prio,
            until: now,
        })
    }

    #[inline]
    pub(super) fn poll_timeout(&self) -> Option<Nanos> {
        (self.handed < self.batch.sent.len()).then_some(Nanos::new(0))
    }
}
