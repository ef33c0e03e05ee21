//! Which thread takes a frame, where this process shares frames out itself: those of one flow go to
//! one thread, so that they stay in order.
//!
//! A flow is what IP addresses, protocol and ports tell apart (the ports of TCP, UDP and SCTP, and
//! not of fragments: only the first has them); for frames without IP, Ethernet addresses and type.

/// Ethernet addresses and type, in bytes.
const ETHERNET: usize = 14;
/// Tags that may stand before the type.
const TAGS: usize = 2;

/// The thread, of so many, that takes a frame; 0 if there are none to choose from.
#[must_use]
pub fn thread_of(frame: &[u8], threads: usize) -> usize {
    if threads < 2 {
        return 0;
    }
    let sum = match ip_flow(frame) {
        Some((addresses, protocol, ports)) => hash([addresses, &[protocol], ports]),
        None => hash([&frame[..frame.len().min(ETHERNET)], &[], &[]]),
    };
    ((u128::from(sum) * threads as u128) >> 64) as usize
}

/// Addresses, protocol and ports of an IP packet.
fn ip_flow(frame: &[u8]) -> Option<(&[u8], u8, &[u8])> {
    let word = |at: usize| Some(u16::from_be_bytes([*frame.get(at)?, *frame.get(at + 1)?]));
    let mut at = ETHERNET - 2;
    for _ in 0..TAGS {
        if matches!(word(at)?, 0x8100 | 0x88a8) {
            at += 4;
        }
    }
    let (kind, ip) = (word(at)?, frame.get(at + 2..)?);
    let (addresses, protocol, header) = match kind {
        0x0800 => (ip.get(12..20)?, ip[9], usize::from(ip[0] & 15) * 4),
        0x86dd => (ip.get(8..40)?, ip[6], 40),
        _ => return None,
    };
    // "More fragments", or an offset.
    let fragment = kind == 0x0800 && (ip[6] & 0x3f, ip[7]) != (0, 0);
    let ports = match protocol {
        6 | 17 | 132 if !fragment => ip.get(header..header + 4).unwrap_or_default(),
        _ => &[],
    };
    Some((addresses, protocol, ports))
}

/// FNV-1a, and a step that lets every byte reach the top bits.
fn hash(parts: [&[u8]; 3]) -> u64 {
    let bytes = parts.into_iter().flatten();
    let sum = bytes.fold(0xcbf2_9ce4_8422_2325, |sum: u64, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (sum ^ (sum >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A TCP segment over IPv4 between these ports, with a flags and offset field.
    fn segment(tagged: bool, fragment: u16, ports: [u8; 4], rest: u8) -> Vec<u8> {
        let mut frame = vec![2; 12];
        if tagged {
            frame.extend([0x81, 0, 0, 7]);
        }
        frame.extend([8, 0, 0x45, 0, 0, 40, rest, rest]);
        frame.extend(fragment.to_be_bytes());
        frame.extend([64, 6, rest, rest, 10, 0, 0, 1, 10, 0, 0, 2]);
        frame.extend(ports);
        frame.extend([rest; 16]);
        frame
    }

    #[test]
    fn a_flow_stays_with_a_thread_and_flows_are_shared_out() {
        for threads in [2, 3, 64] {
            let mut seen = vec![false; threads];
            for port in 0..2000u16 {
                let [high, low] = port.to_be_bytes();
                let frame = |rest| segment(false, 0x4000, [high, low, 0, 80], rest);
                let thread = thread_of(&frame(1), threads);
                assert_eq!(thread, thread_of(&frame(2), threads), "the same flow");
                seen[thread] = true;
            }
            assert!(seen.iter().all(|seen| *seen), "{threads}: {seen:?}");
        }
    }

    #[test]
    fn tags_fragments_and_short_frames_have_flows() {
        let differ = |make: &dyn Fn(u8) -> Vec<u8>| {
            let first = thread_of(&make(0), 64);
            (1..100).any(|n| thread_of(&make(n), 64) != first)
        };
        assert!(differ(&|n| segment(true, 0, [0, n, 0, 80], 1)));
        assert!(
            !differ(&|n| segment(false, 0x2000, [0, n, 0, 80], 1)),
            "a fragment"
        );
        assert!(
            !differ(&|n| segment(false, 1, [0, n, 0, 80], 1)),
            "a later fragment"
        );
        assert!(differ(&|n| vec![n]));
        for length in 0..60 {
            let frame = &segment(true, 0, [0; 4], 1)[..length.min(58)];
            assert!(thread_of(frame, 3) < 3);
            assert_eq!(thread_of(frame, 1), 0);
        }
    }
}
