//! The file's records: how one is framed, and what may be wrong with it.
//!
//! A record is a header of twelve bytes and a payload. The header has the payload's length, the
//! CRC-32 of the payload, and the CRC-32 of these two and of the record's place in the file, each
//! in four bytes with the lowest first. So a length is believed only when it is right, and neither
//! a record of another place nor one inside a payload is taken for one.
//!
//! *Torn or damaged.* Records are only ever appended, so what a crash leaves is a beginning of the
//! last record: of a killed process, its first bytes; of a machine that lost power, perhaps with
//! zeros up to the end of the file, blocks that were never written. Hence the tail is torn where
//! the file ends within a header, where a right header announces more than there is or a payload
//! that fails its checksum at the very end, and where nothing but zeros follow. Anything else was
//! written and then changed: it is damaged.

use std::fs::File;
use std::io::{self, BufReader, Read};

use prost::Message;

use super::Kind;

/// First bytes of the file: what it is, and the version of its layout.
pub(super) const MAGIC: &[u8; 8] = b"SWSTATE2";
/// The version before: headers without a checksum of their own.
const MAGIC_1: &[u8; 8] = b"SWSTATE1";

/// The largest record that is believed, in bytes.
const MAX_RECORD: u64 = 1 << 30;

const CRC: crc::Crc<u32> = crc::Crc::<u32>::new(&crc::CRC_32_ISCSI);

/// Bytes of a header.
const HEADER: u64 = 12;

fn header_sum(length: u32, sum: u32, place: u64) -> u32 {
    let mut digest = CRC.digest();
    digest.update(&length.to_le_bytes());
    digest.update(&sum.to_le_bytes());
    digest.update(&place.to_le_bytes());
    digest.finalize()
}

/// The record of a message at a place of the file; `None` if it is too large for one.
pub(super) fn frame(kind: Kind, message: &impl Message, place: u64) -> Option<Vec<u8>> {
    let length = message.encoded_len() as u64 + 1;
    let length = u32::try_from(length)
        .ok()
        .filter(|l| u64::from(*l) <= MAX_RECORD)?;
    let mut record = vec![0; HEADER as usize];
    record.reserve_exact(length as usize);
    record.push(kind as u8);
    message.encode_raw(&mut record);
    let sum = CRC.checksum(&record[HEADER as usize..]);
    let numbers = [length, sum, header_sum(length, sum, place)];
    for (bytes, number) in record.chunks_exact_mut(4).zip(numbers) {
        bytes.copy_from_slice(&number.to_le_bytes());
    }
    Some(record)
}

/// What stands at a place of the file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FileItem {
    /// A whole record: what kind, and its message.
    Record(u8, Vec<u8>),
    /// The end of the file.
    End,
    /// A record that was cut short: the last one.
    Torn,
    /// A record that was whole and is not what was written; and how that shows.
    Damaged(&'static str),
}

/// The records of a file, in order.
pub(super) struct Records {
    input: BufReader<File>,
    /// Bytes of the file.
    pub(super) size: u64,
    /// Where the next record begins: all before it is whole.
    pub(super) place: u64,
    /// Whether headers have no checksum of their own.
    pub(super) old: bool,
}

impl Records {
    /// The records behind the file's first bytes; `None` if those are not ours.
    pub(super) fn open(file: File) -> io::Result<Option<Self>> {
        let size = file.metadata()?.len();
        let mut input = BufReader::with_capacity(1 << 20, file);
        let mut magic = [0; MAGIC.len()];
        if size < magic.len() as u64 {
            return Ok(None);
        }
        input.read_exact(&mut magic)?;
        let old = &magic == MAGIC_1;
        Ok((old || &magic == MAGIC).then_some(Self {
            input,
            size,
            place: magic.len() as u64,
            old,
        }))
    }

    /// Bytes of the file behind what is whole.
    pub(super) const fn left(&self) -> u64 {
        self.size - self.place
    }

    fn number(&mut self) -> io::Result<u32> {
        let mut bytes = [0; 4];
        self.input.read_exact(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    /// The next record. After anything but a record, nothing more can be read.
    pub(super) fn next(&mut self) -> io::Result<FileItem> {
        let header = if self.old { HEADER - 4 } else { HEADER };
        let left = self.left();
        if left == 0 {
            return Ok(FileItem::End);
        }
        if left < header {
            return Ok(FileItem::Torn);
        }
        let (length, sum) = (self.number()?, self.number()?);
        let right = if self.old {
            length > 0
        } else {
            self.number()? == header_sum(length, sum, self.place)
        };
        let left = left - header;
        if !right || u64::from(length) > MAX_RECORD {
            return self.torn_or("its header fails its checksum");
        }
        if left < u64::from(length) {
            return Ok(FileItem::Torn);
        }
        let mut payload = vec![0; length as usize];
        self.input.read_exact(&mut payload)?;
        if CRC.checksum(&payload) != sum {
            return self.torn_or("its content fails its checksum");
        }
        let Some((kind, message)) = payload.split_first() else {
            return Ok(FileItem::Damaged("it is empty"));
        };
        let found = FileItem::Record(*kind, message.to_vec());
        self.place += header + u64::from(length);
        Ok(found)
    }

    /// Torn if nothing but zeros follow.
    fn torn_or(&mut self, why: &'static str) -> io::Result<FileItem> {
        let mut block = [0; 4096];
        loop {
            match self.input.read(&mut block)? {
                0 => return Ok(FileItem::Torn),
                n if block[..n].iter().any(|b| *b != 0) => return Ok(FileItem::Damaged(why)),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::io::Write as _;

    use p4runtime::p4::v1;

    use super::*;

    /// A file of five batches, and where each ends.
    fn file() -> (Vec<u8>, Vec<usize>) {
        let mut bytes = MAGIC.to_vec();
        let mut ends = Vec::new();
        for number in 0..5u64 {
            let batch = v1::WriteRequest {
                device_id: number + 1,
                role: "r".repeat(7 * number as usize),
                ..Default::default()
            };
            bytes.extend(frame(Kind::Batch, &batch, bytes.len() as u64).unwrap());
            ends.push(bytes.len());
        }
        (bytes, ends)
    }

    /// How many records are read, and what stands behind them; `None` if it is no file of ours.
    fn read(bytes: &[u8]) -> Option<(usize, FileItem)> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        io::Seek::rewind(&mut file).unwrap();
        let mut records = Records::open(file).unwrap()?;
        let mut count = 0;
        loop {
            match records.next().unwrap() {
                FileItem::Record(..) => count += 1,
                end => return Some((count, end)),
            }
        }
    }

    #[test]
    fn a_file_cut_anywhere_has_all_that_was_whole() {
        let (bytes, ends) = file();
        for cut in MAGIC.len()..=bytes.len() {
            let whole = ends.iter().filter(|end| **end <= cut).count();
            let clean = cut == MAGIC.len() || ends.contains(&cut);
            let expected = if clean { FileItem::End } else { FileItem::Torn };
            assert_eq!(read(&bytes[..cut]), Some((whole, expected)), "cut at {cut}");
            // Blocks that were never written read as zeros; what ends in zeros may even be whole.
            let mut zeros = bytes[..cut].to_vec();
            zeros.resize(bytes.len() + 5000, 0);
            let (count, end) = read(&zeros).unwrap();
            assert!(
                count >= whole && end == FileItem::Torn,
                "zeros from {cut} on"
            );
        }
        for cut in 0..MAGIC.len() {
            assert_eq!(read(&bytes[..cut]), None);
        }
    }

    #[test]
    fn no_flipped_bit_passes_for_a_torn_tail_but_in_the_last_batch() {
        let (bytes, ends) = file();
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let whole = ends.iter().filter(|end| **end <= bit / 8).count();
            match read(&flipped) {
                None => assert!(bit / 8 < MAGIC.len(), "bit {bit}"),
                Some((count, FileItem::Damaged(_))) => assert_eq!(count, whole, "bit {bit}"),
                Some((count, end)) => {
                    assert_eq!((count, end), (ends.len() - 1, FileItem::Torn), "bit {bit}");
                    assert_eq!(whole, ends.len() - 1, "bit {bit}");
                }
            }
        }
    }

    #[test]
    fn records_of_another_place_are_no_records() {
        let (bytes, ends) = file();
        let mut shorter = bytes[..ends[0]].to_vec();
        shorter.extend_from_slice(&bytes[ends[1]..]);
        let (count, end) = read(&shorter).unwrap();
        assert!(count == 1 && matches!(end, FileItem::Damaged(_)), "{end:?}");
    }
}
