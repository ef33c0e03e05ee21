//! What a program is measured with: the entries of the control plane, and packets.

use p4exec::{Executor, ExecutorKind};
use p4gen::entries::SwitchEntries;
use packetgen::{Traffic, TrafficSpec, traffic};
use simulator::embedded;

use super::capture::{Inputs, PortFile};
use super::subject::{Control, Source, Subject, of_build};
use crate::cli::fault::{Context, Fault};
use crate::cli::terminal::Terminal;

/// Packets of a capture file that are used.
const MAX_CAPTURED: usize = 65_536;

/// A program with its entries.
pub(super) struct Workload<'a> {
    pub(super) subject: Subject,
    /// Of a switch of a build directory.
    entries: Option<SwitchEntries>,
    control: &'a Control,
}

impl<'a> Workload<'a> {
    /// A program from a file, or of a build directory with the entries of one of its switches (else
    /// the first).
    pub(super) fn new(
        source: &Source,
        control: &'a Control,
        switch: Option<&str>,
        terminal: &Terminal,
    ) -> Result<Self, Fault> {
        let build = source.program.is_dir();
        refuse_idle(build, control, switch)?;
        let (subject, entries) = if build {
            let (subject, entries) = of_build(&source.program, switch, terminal)?;
            (subject, Some(entries))
        } else {
            (source.subject(control.p4info.as_deref(), terminal)?, None)
        };
        Ok(Self {
            subject,
            entries,
            control,
        })
    }

    /// Puts all entries into an executor of the program.
    pub(super) fn install(&self, executor: &mut dyn Executor) -> Result<(), Fault> {
        if let Some(entries) = &self.entries {
            embedded::install(executor.state_mut(), entries).input(&entries.switch)?;
        }
        self.subject.install(self.control, executor)
    }

    /// The packets of capture files, or, if there are none, packets that the entries forward.
    pub(super) fn traffic(
        &self,
        captures: &[PortFile],
        spec: TrafficSpec,
    ) -> Result<Traffic, Fault> {
        let mut packets = Traffic::new();
        let mut inputs = Inputs::open(captures)?;
        while let Some((_, port, bytes)) = inputs.next()? {
            packets.push((port, bytes));
            if packets.len() == MAX_CAPTURED {
                break;
            }
        }
        if captures.is_empty() {
            let mut executor = self.subject.start(ExecutorKind::Interp)?;
            self.install(executor.as_mut())?;
            packets = traffic(&self.subject.program, executor.state(), spec);
        }
        if packets.is_empty() {
            let fault = Fault::input("no packet was found that the program forwards");
            return Err(fault
                .help("give entries with --entries, a larger --size, or packets with --pcap-in"));
        }
        Ok(packets)
    }
}

/// Refuses what is for builds alone, or for programs alone.
fn refuse_idle(build: bool, control: &Control, switch: Option<&str>) -> Result<(), Fault> {
    let (idle, option, why) = match build {
        true => (control.p4info.is_some(), "p4info", "a build has its own"),
        false => (switch.is_some(), "switch", "it is for build directories"),
    };
    match idle {
        true => Err(
            Fault::input(format!("`--{option}` means nothing here: {why}"))
                .help(format!("leave `--{option}` out")),
        ),
        false => Ok(()),
    }
}
