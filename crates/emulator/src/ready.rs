//! Where a switch of ours listens, as it says when it is ready: it binds port 0, and the system
//! chooses.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

/// What switches are given as the address of their P4Runtime server.
pub(crate) const ANY_ADDRESS: &str = "127.0.0.1:0";

/// The address in the line that a switch says when it serves, once that stands in its log.
pub(crate) fn address(log: &Path) -> Option<SocketAddr> {
    address_in(&fs::read_to_string(log).ok()?)
}

fn address_in(said: &str) -> Option<SocketAddr> {
    // The last line may be half written.
    let whole = &said[..said.rfind('\n')?];
    let line = whole
        .lines()
        .find_map(|line| line.strip_prefix("ready: device "))?;
    let (_, rest) = line.split_once(" at ")?;
    rest.split(',').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_stands_in_the_line_that_says_ready() {
        let line = "WARN late at 1.1.1.1:1\nready: device 3 at 127.0.0.1:4711, port 1@s0p1, waiting for a program; admin /x";
        assert_eq!(address_in(line), None, "the line is not whole yet");
        let whole = format!("{line}\n");
        assert_eq!(address_in(&whole), "127.0.0.1:4711".parse().ok());
        assert_eq!(address_in("switch ended\n"), None);
    }
}
