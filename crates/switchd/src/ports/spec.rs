//! How ports are written on a command line.
//!
//! `1@veth0` as BMv2 has it, or `1=veth0`; behind the sign also `pcap:IN,OUT`, `udp:LOCAL->PEER`,
//! `unix:LOCAL->PEER`.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use quantities::PortId;
use thiserror::Error;

/// What a port is connected to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PortSpec {
    /// A network interface of the switch's namespace.
    Interface(String),
    /// Frames are read from one capture file and written to another; either may be missing.
    Pcap {
        /// Where frames come from.
        input: Option<PathBuf>,
        /// Where frames go.
        output: Option<PathBuf>,
    },
    /// Every UDP datagram is a frame.
    Udp {
        /// Our address.
        local: SocketAddr,
        /// The other end's: only its datagrams are taken.
        peer: SocketAddr,
    },
    /// Every datagram of a Unix socket is a frame.
    Unix {
        /// Our end, made here and removed with the port.
        local: PathBuf,
        /// The other end.
        peer: PathBuf,
    },
}

/// A port with its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortBinding {
    /// The number.
    pub port: PortId,
    /// What it is connected to.
    pub spec: PortSpec,
}

/// Why a port cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "'{text}' is not a port: {detail}; write NUMBER@INTERFACE, or NUMBER= with an interface, pcap:IN,OUT, \
         udp:LOCAL->PEER or unix:LOCAL->PEER"
)]
pub struct SpecError {
    text: String,
    detail: String,
}

impl FromStr for PortSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let wrong = |detail: String| SpecError {
            text: text.to_owned(),
            detail,
        };
        let pair = |rest: &str| {
            let pair = rest
                .split_once("->")
                .map(|(a, b)| (a.trim().to_owned(), b.trim().to_owned()));
            pair.ok_or_else(|| wrong("both ends are needed".to_owned()))
        };
        let address = |text: &str| {
            text.parse::<SocketAddr>()
                .map_err(|_| wrong(format!("'{text}' is not ADDRESS:PORT")))
        };
        if let Some(files) = text.strip_prefix("pcap:") {
            let (input, output) = files.split_once(',').unwrap_or((files, ""));
            let file = |name: &str| (!name.is_empty()).then(|| PathBuf::from(name));
            let (input, output) = (file(input), file(output));
            if input.is_none() && output.is_none() {
                return Err(wrong("a file is needed".to_owned()));
            }
            return Ok(Self::Pcap { input, output });
        }
        if let Some(ends) = text.strip_prefix("udp:") {
            let (local, peer) = pair(ends)?;
            return Ok(Self::Udp {
                local: address(&local)?,
                peer: address(&peer)?,
            });
        }
        if let Some(ends) = text.strip_prefix("unix:") {
            let (local, peer) = pair(ends)?;
            return Ok(Self::Unix {
                local: local.into(),
                peer: peer.into(),
            });
        }
        if text.is_empty() || text.contains(['/', ' ']) {
            return Err(wrong("there is no interface of such a name".to_owned()));
        }
        Ok(Self::Interface(text.to_owned()))
    }
}

impl fmt::Display for PortSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = |path: &Option<PathBuf>| {
            path.as_ref()
                .map_or_else(String::new, |p| p.display().to_string())
        };
        match self {
            Self::Interface(name) => f.write_str(name),
            Self::Pcap { input, output } => write!(f, "pcap:{},{}", path(input), path(output)),
            Self::Udp { local, peer } => write!(f, "udp:{local}->{peer}"),
            Self::Unix { local, peer } => {
                write!(f, "unix:{}->{}", local.display(), peer.display())
            }
        }
    }
}

impl FromStr for PortBinding {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let wrong = |detail: &str| SpecError {
            text: text.to_owned(),
            detail: detail.to_owned(),
        };
        let at = text
            .find(['@', '='])
            .ok_or_else(|| wrong("there is no '@' or '='"))?;
        let number = text[..at]
            .trim()
            .parse()
            .map_err(|_| wrong("it begins with no port number"))?;
        Ok(Self {
            port: PortId::new(number),
            spec: text[at + 1..].trim().parse()?,
        })
    }
}

impl fmt::Display for PortBinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.port, self.spec)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_read_and_written() {
        for text in [
            "1@veth0",
            "0@pcap:in.pcap,out.pcap",
            "2@pcap:,out.pcap",
            "3@udp:127.0.0.1:9000->127.0.0.1:9001",
            "4@udp:[::1]:9000->[::1]:9001",
            "5@unix:/tmp/a->/tmp/b",
        ] {
            let binding: PortBinding = text.parse().expect(text);
            assert_eq!(binding.to_string(), text);
            let other: PortBinding = text.replacen('@', "=", 1).parse().expect(text);
            assert_eq!(other, binding);
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, why) in [
            ("veth0", "there is no '@'"),
            ("x@veth0", "begins with no port number"),
            ("70000@veth0", "begins with no port number"),
            ("1@", "no interface"),
            ("1@pcap:", "a file is needed"),
            ("1@udp:127.0.0.1:1", "both ends"),
            ("1@udp:here->127.0.0.1:1", "'here' is not ADDRESS:PORT"),
        ] {
            let error = text.parse::<PortBinding>().expect_err(text).to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
