//! Capture files, read and written as a stream: pcap and pcapng in, pcap out.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use pcap_file::pcap::{PcapHeader, PcapPacket, PcapReader, PcapWriter};
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
use pcap_file::pcapng::{Block, PcapNgReader};
use pcap_file::{DataLink, TsResolution};
use quantities::{Nanos, PortId};

use crate::cli::fault::{Context, Fault};
use crate::cli::terminal;

/// The first bytes of a pcapng file.
const PCAPNG: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
/// The longest packet written whole.
const SNAPLEN: u32 = 1 << 18;

/// `PORT=FILE`.
#[derive(Clone, Debug)]
pub(super) struct PortFile {
    pub(super) port: PortId,
    pub(super) path: PathBuf,
}

impl std::str::FromStr for PortFile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (port, path) = text.split_once('=').ok_or("expected PORT=FILE")?;
        let port = port
            .parse()
            .map_err(|_| format!("`{port}` is not a port"))?;
        Ok(Self {
            port: PortId::new(port),
            path: PathBuf::from(path),
        })
    }
}

enum Format {
    Pcap(PcapReader<BufReader<File>>),
    PcapNg(PcapNgReader<BufReader<File>>),
}

fn not_a_capture(place: &impl std::fmt::Display) -> Fault {
    Fault::input(format!("{place} is not a pcap or pcapng file"))
}

/// Packets of a file, as they come at a port.
pub(super) struct Input {
    port: PortId,
    path: PathBuf,
    format: Format,
    next: Option<(Duration, Vec<u8>)>,
}

impl Input {
    fn open(file: &PortFile) -> Result<Self, Fault> {
        let place = file.path.display();
        let mut source = File::open(&file.path).input(place.to_string())?;
        let mut magic = [0; 4];
        source
            .read_exact(&mut magic)
            .map_err(|_| not_a_capture(&place))?;
        source.seek(SeekFrom::Start(0)).input(place.to_string())?;
        let source = BufReader::new(source);
        let format = if magic == PCAPNG {
            Format::PcapNg(PcapNgReader::new(source).map_err(|_| not_a_capture(&place))?)
        } else {
            Format::Pcap(PcapReader::new(source).map_err(|_| not_a_capture(&place))?)
        };
        let mut input = Self {
            port: file.port,
            path: file.path.clone(),
            format,
            next: None,
        };
        input.advance()?;
        Ok(input)
    }

    fn advance(&mut self) -> Result<(), Fault> {
        let place = self.path.display();
        self.next = match &mut self.format {
            Format::Pcap(reader) => match reader.next_packet() {
                None => None,
                Some(packet) => {
                    let packet = packet.input(place)?;
                    Some((packet.timestamp, packet.data.into_owned()))
                }
            },
            Format::PcapNg(reader) => next_of_blocks(reader).input(place)?,
        };
        Ok(())
    }
}

type Stamped = Option<(Duration, Vec<u8>)>;

fn next_of_blocks<R: Read>(reader: &mut PcapNgReader<R>) -> Result<Stamped, pcap_file::PcapError> {
    loop {
        let (interface, units, data) = match reader.next_block() {
            None => return Ok(None),
            Some(block) => match block? {
                Block::EnhancedPacket(packet) => {
                    let units = packet.timestamp.as_nanos();
                    (packet.interface_id, units, packet.data.into_owned())
                }
                Block::SimplePacket(packet) => (0, 0, packet.data.into_owned()),
                _ => continue,
            },
        };
        // The reader takes units for nanoseconds; the interface says what they are.
        let interface = reader.interfaces().get(interface as usize);
        let resolution = interface.and_then(|i| {
            i.options.iter().find_map(|option| match option {
                InterfaceDescriptionOption::IfTsResol(resolution) => Some(*resolution),
                _ => None,
            })
        });
        return Ok(Some((in_nanos(units, resolution.unwrap_or(6)), data)));
    }
}

/// Time in units of 10^-r seconds, or 2^-r where the highest bit is set.
fn in_nanos(units: u128, resolution: u8) -> Duration {
    let exponent = u32::from(resolution & 0x7f);
    let per_second = if resolution & 0x80 == 0 {
        10_u128.checked_pow(exponent)
    } else {
        1_u128.checked_shl(exponent)
    };
    let nanos = per_second.and_then(|n| units.checked_mul(1_000_000_000)?.checked_div(n));
    Duration::from_nanos(nanos.and_then(|n| u64::try_from(n).ok()).unwrap_or(0))
}

/// Packets of several files in the order of their times.
pub(super) struct Inputs {
    inputs: Vec<Input>,
}

impl Inputs {
    pub(super) fn open(files: &[PortFile]) -> Result<Self, Fault> {
        let inputs = files.iter().map(Input::open).collect::<Result<_, _>>()?;
        Ok(Self { inputs })
    }

    /// The earliest packet that is left; of several, that of the file named first.
    pub(super) fn next(&mut self) -> Result<Option<(Nanos, PortId, Vec<u8>)>, Fault> {
        let time = |input: &Input| input.next.as_ref().map(|(time, _)| *time);
        let waiting = (0..self.inputs.len()).filter_map(|i| Some((time(&self.inputs[i])?, i)));
        let Some((_, index)) = waiting.min() else {
            return Ok(None);
        };
        let input = &mut self.inputs[index];
        let taken = input.next.take();
        input.advance()?;
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        Ok(taken.map(|(time, bytes)| (Nanos::new(nanos(time)), input.port, bytes)))
    }
}

/// Where packets go that leave: a folder with a file per port, or files for some ports.
pub(super) struct Outputs {
    folder: Option<PathBuf>,
    named: BTreeMap<PortId, PathBuf>,
    open: BTreeMap<PortId, PcapWriter<BufWriter<File>>>,
}

impl Outputs {
    /// From `DIR` and `PORT=FILE` arguments.
    pub(super) fn new(arguments: &[String]) -> Result<Self, Fault> {
        let mut outputs = Self {
            folder: None,
            named: BTreeMap::new(),
            open: BTreeMap::new(),
        };
        for text in arguments {
            match text.parse::<PortFile>() {
                Ok(file) => {
                    outputs.named.insert(file.port, file.path);
                }
                Err(_) => {
                    files::make_folder(Path::new(text)).map_err(terminal::unwritten)?;
                    outputs.folder = Some(PathBuf::from(text));
                }
            }
        }
        Ok(outputs)
    }

    fn path(&self, port: PortId) -> Option<PathBuf> {
        let in_folder = |folder: &PathBuf| folder.join(format!("port{}.pcap", port.get()));
        let named = self.named.get(&port).cloned();
        named.or_else(|| self.folder.as_ref().map(in_folder))
    }

    /// Writes a packet, if its port has a file.
    pub(super) fn write(&mut self, now: Nanos, port: PortId, bytes: &[u8]) -> Result<(), Fault> {
        let Some(path) = self.path(port) else {
            return Ok(());
        };
        let place = path.display();
        let writer = match self.open.entry(port) {
            std::collections::btree_map::Entry::Occupied(open) => open.into_mut(),
            std::collections::btree_map::Entry::Vacant(free) => free.insert(create(&path)?),
        };
        let time = Duration::from_nanos(now.get());
        let packet = PcapPacket::new(time, bytes.len() as u32, bytes);
        writer.write_packet(&packet).input(place)?;
        Ok(())
    }

    /// Files written.
    pub(super) fn files(&self) -> Vec<String> {
        let ports = self.open.keys();
        ports
            .filter_map(|port| Some(self.path(*port)?.display().to_string()))
            .collect()
    }

    /// Writes out what is still in memory.
    pub(super) fn finish(self) -> Result<(), Fault> {
        for (port, writer) in self.open {
            let mut file = writer.into_writer();
            std::io::Write::flush(&mut file).input(format!("port {}", port.get()))?;
        }
        Ok(())
    }
}

fn create(path: &Path) -> Result<PcapWriter<BufWriter<File>>, Fault> {
    let file = files::stream(path).map_err(terminal::unwritten)?;
    let header = PcapHeader {
        datalink: DataLink::ETHERNET,
        ts_resolution: TsResolution::NanoSecond,
        snaplen: SNAPLEN,
        ..PcapHeader::default()
    };
    PcapWriter::with_header(BufWriter::new(file), header).input(path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_pcapng_have_units() {
        assert_eq!(in_nanos(1_500_000, 6), Duration::from_millis(1500));
        assert_eq!(in_nanos(1_500_000_000, 9), Duration::from_millis(1500));
        assert_eq!(in_nanos(3, 0x81), Duration::from_millis(1500));
        assert_eq!(in_nanos(3, 0x7f), Duration::ZERO);
    }
}
