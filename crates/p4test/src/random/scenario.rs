//! A run: updates, packets and port changes in order.

use std::fmt::{self, Write as _};
use std::sync::Arc;

use p4exec::{BuildError, RuntimeState, Update};
use p4ir::ValidProgram;
use packetgen::{Choices, PacketMaker, Pool};
use quantities::{Nanos, PortId};

use super::UpdateMaker;

/// One thing that happens to a switch.
#[derive(Clone, Debug)]
pub enum Step {
    /// The control plane changes something.
    Update(Box<Update>),
    /// A packet comes in.
    Packet {
        /// Where.
        port: PortId,
        /// Its bytes.
        bytes: Vec<u8>,
    },
    /// A port goes up or down.
    Port {
        /// Which.
        port: PortId,
        /// Whether it is up now.
        up: bool,
    },
    /// Time passes.
    Wait(Nanos),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Update(update) => write!(f, "{update:?}"),
            Self::Packet { port, bytes } => {
                let hex = bytes.iter().fold(String::new(), |mut text, byte| {
                    let _ = write!(text, "{byte:02x}");
                    text
                });
                write!(f, "packet {} {hex}", port.get())
            }
            Self::Port { port, up } => {
                let word = if *up { "port_up" } else { "port_down" };
                write!(f, "{word} {}", port.get())
            }
            Self::Wait(time) => write!(f, "wait {} ns", time.get()),
        }
    }
}

/// Steps for one program.
#[derive(Clone, Debug, Default)]
pub struct Scenario {
    /// In order.
    pub steps: Vec<Step>,
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.steps.iter().try_for_each(|step| writeln!(f, "{step}"))
    }
}

impl Scenario {
    /// A run with `packets` packets: first a burst of updates, then packets with an update now and
    /// then. Choices that are spent end it early.
    ///
    /// # Errors
    /// A program that no state can be made of.
    pub fn new(
        program: &Arc<ValidProgram>,
        packets: usize,
        choices: &mut Choices<'_>,
    ) -> Result<Self, BuildError> {
        let state = RuntimeState::new(Arc::clone(program))?;
        let mut updates = UpdateMaker::new(&state);
        let maker = PacketMaker::new(Arc::clone(program));
        let mut pool = Pool::new(program, choices);
        let basics = updates.basics(&pool, choices).into_iter();
        let mut steps: Vec<Step> = basics.map(|u| Step::Update(Box::new(u))).collect();
        let burst = choices.below(1 + 12 * updates.tables().max(1));
        for _ in 0..burst {
            if choices.is_spent() {
                break;
            }
            let update = updates.update(&pool, choices);
            steps.push(Step::Update(Box::new(update)));
        }
        // Packets look for what the entries match.
        pool.add_matches(steps.iter().flat_map(|step| match step {
            Step::Update(update) => match &**update {
                Update::InsertEntry { entry, .. } => entry.key.clone(),
                _ => Vec::new(),
            },
            _ => Vec::new(),
        }));
        let mut left = packets;
        while left > 0 && !choices.is_spent() {
            steps.push(match choices.below(32) {
                0 | 1 => Step::Update(Box::new(updates.update(&pool, choices))),
                2 => Step::Port {
                    port: Pool::few_ports(choices),
                    up: choices.one_in(2),
                },
                3 => Step::Wait(Nanos::new(choices.below(20_000_000) as u64)),
                _ => {
                    left -= 1;
                    Step::Packet {
                        port: Pool::few_ports(choices),
                        bytes: maker.packet(&pool, choices),
                    }
                }
            });
        }
        Ok(Self { steps })
    }

    /// Packets in it.
    #[must_use]
    pub fn packets(&self) -> usize {
        let is_packet = |step: &&Step| matches!(step, Step::Packet { .. });
        self.steps.iter().filter(is_packet).count()
    }
}
