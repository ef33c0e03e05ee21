//! Links, addresses, routes and neighbours by rtnetlink: one request, one answer, no runtime.

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, BorrowedFd};

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, NLM_F_REPLACE, NLM_F_REQUEST, NetlinkMessage,
    NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkLayerType, LinkMessage,
    Stats64,
};
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};

use crate::error::{ADMIN, NetError, Tried};

/// The longest name of an interface, in bytes.
const LONGEST_NAME: usize = 15;

/// A network interface, as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The kernel's number of it in this namespace.
    pub index: u32,
    /// Its name in this namespace.
    pub name: String,
    /// Whether frames can pass: it is switched on and its cable carries.
    pub up: bool,
    /// The longest payload of a frame, in bytes (the Ethernet header and tags not counted).
    pub mtu: u32,
    /// Its address.
    pub mac: [u8; 6],
    /// Whether it carries Ethernet frames.
    pub ethernet: bool,
    /// The queueing discipline that frames pass on their way out.
    pub queueing: String,
    /// What passed so far.
    pub stats: LinkStats,
}

/// What passed through an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkStats {
    /// Frames received.
    pub received: u64,
    /// Frames sent.
    pub sent: u64,
    /// Frames that were to be received and were not.
    pub receive_dropped: u64,
    /// Frames that were to be sent and were not.
    pub send_dropped: u64,
}

impl Link {
    /// Whether its queueing discipline is one that the system gives by itself, and not one that
    /// somebody chose, to shape or delay what leaves.
    #[must_use]
    pub fn has_default_queueing(&self) -> bool {
        const DEFAULTS: [&str; 7] = ["", "noop", "noqueue", "pfifo_fast", "mq", "fq_codel", "fq"];
        DEFAULTS.contains(&self.queueing.as_str())
    }

    /// Reads what the kernel tells about a link.
    pub(crate) fn read(message: &LinkMessage) -> Self {
        let flags = message.header.flags;
        let mut link = Self {
            index: message.header.index,
            name: String::new(),
            // A carrier alone is not enough: until the kernel has noted it, what is sent is
            // dropped.
            up: flags.contains(LinkFlags::Up | LinkFlags::LowerUp | LinkFlags::Running),
            mtu: 0,
            mac: [0; 6],
            ethernet: message.header.link_layer_type == LinkLayerType::Ether,
            queueing: String::new(),
            stats: LinkStats::default(),
        };
        for attribute in &message.attributes {
            match attribute {
                LinkAttribute::IfName(name) => link.name.clone_from(name),
                LinkAttribute::Mtu(mtu) => link.mtu = *mtu,
                LinkAttribute::Qdisc(name) => link.queueing.clone_from(name),
                LinkAttribute::Address(bytes) => {
                    if let Ok(mac) = bytes.as_slice().try_into() {
                        link.mac = mac;
                    }
                }
                LinkAttribute::Stats64(stats) => link.stats = read_stats(stats),
                _ => {}
            }
        }
        link
    }
}

fn read_stats(stats: &Stats64) -> LinkStats {
    LinkStats {
        received: stats.rx_packets,
        sent: stats.tx_packets,
        receive_dropped: stats.rx_dropped,
        send_dropped: stats.tx_dropped,
    }
}

/// A connection to the kernel's tables of one network namespace: that of the thread that opened it.
#[derive(Debug)]
pub struct Rtnl {
    socket: Socket,
    sequence: u32,
}

impl Rtnl {
    /// Connects.
    ///
    /// # Errors
    /// Too many open descriptors.
    pub fn open() -> Result<Self, NetError> {
        let socket = connect(0)?;
        Ok(Self {
            socket,
            sequence: 0,
        })
    }

    /// All interfaces, by rising index.
    ///
    /// # Errors
    /// None but a broken kernel's.
    pub fn links(&mut self) -> Result<Vec<Link>, NetError> {
        let get = RouteNetlinkMessage::GetLink(LinkMessage::default());
        let mut links = Vec::new();
        for answer in self.ask(get, NLM_F_DUMP, "listing the network interfaces")? {
            if let RouteNetlinkMessage::NewLink(message) = answer {
                links.push(Link::read(&message));
            }
        }
        links.sort_by_key(|link| link.index);
        Ok(links)
    }

    /// An interface by name.
    ///
    /// # Errors
    /// [`NetError::NoInterface`], which names those that there are.
    pub fn link(&mut self, name: &str) -> Result<Link, NetError> {
        check_name(name)?;
        let mut message = LinkMessage::default();
        message
            .attributes
            .push(LinkAttribute::IfName(name.to_owned()));
        let what = format!("looking for the interface {name}");
        let answers = match self.ask(RouteNetlinkMessage::GetLink(message), 0, &what) {
            Err(e) if e.errno() == Some(libc::ENODEV) => Vec::new(),
            other => other?,
        };
        let found = answers.iter().find_map(|answer| match answer {
            RouteNetlinkMessage::NewLink(message) => Some(Link::read(message)),
            _ => None,
        });
        match found {
            Some(link) => Ok(link),
            None => Err(NetError::NoInterface {
                name: name.to_owned(),
                known: self.links()?.into_iter().map(|link| link.name).collect(),
            }),
        }
    }

    /// Makes a veth pair, each end by its name and the namespace where it is to live (`None`: the
    /// caller's); they start down.
    pub(crate) fn add_veth(
        &mut self,
        a: (&str, Option<BorrowedFd<'_>>),
        b: (&str, Option<BorrowedFd<'_>>),
    ) -> Result<(), NetError> {
        let describe =
            |(name, namespace): (&str, Option<BorrowedFd<'_>>)| -> Result<LinkMessage, NetError> {
                check_name(name)?;
                let mut message = LinkMessage::default();
                let name = LinkAttribute::IfName(name.to_owned());
                message.attributes.push(name);
                if let Some(namespace) = namespace {
                    let file = namespace.as_raw_fd();
                    message.attributes.push(LinkAttribute::NetNsFd(file));
                }
                Ok(message)
            };
        let mut message = describe(a)?;
        let peer = InfoData::Veth(InfoVeth::Peer(describe(b)?));
        let info = vec![LinkInfo::Kind(InfoKind::Veth), LinkInfo::Data(peer)];
        message.attributes.push(LinkAttribute::LinkInfo(info));
        let what = format!("making the veth pair {} - {}", a.0, b.0);
        self.tell(
            RouteNetlinkMessage::NewLink(message),
            NLM_F_CREATE | NLM_F_EXCL,
            &what,
        )
    }

    /// Removes an interface (a veth takes its peer along).
    ///
    /// # Errors
    /// [`NetError::NoInterface`]; [`NetError::NotPermitted`].
    pub fn delete_link(&mut self, name: &str) -> Result<(), NetError> {
        let message = self.at(name)?;
        self.tell(
            RouteNetlinkMessage::DelLink(message),
            0,
            &format!("removing the interface {name}"),
        )
    }

    /// Switches an interface on or off.
    ///
    /// # Errors
    /// [`NetError::NoInterface`]; [`NetError::NotPermitted`].
    pub fn set_up(&mut self, name: &str, up: bool) -> Result<(), NetError> {
        let mut message = self.at(name)?;
        message.header.flags = if up {
            LinkFlags::Up
        } else {
            LinkFlags::empty()
        };
        message.header.change_mask = LinkFlags::Up;
        let what = format!("switching {name} {}", if up { "on" } else { "off" });
        self.tell(RouteNetlinkMessage::SetLink(message), 0, &what)
    }

    /// Sets the longest payload of a frame, in bytes.
    ///
    /// # Errors
    /// [`NetError::NoInterface`]; a length the interface cannot.
    pub fn set_mtu(&mut self, name: &str, mtu: u32) -> Result<(), NetError> {
        let mut message = self.at(name)?;
        message.attributes.push(LinkAttribute::Mtu(mtu));
        let what = format!("setting the MTU of {name} to {mtu}");
        self.tell(RouteNetlinkMessage::SetLink(message), 0, &what)
    }

    /// Sets the Ethernet address.
    ///
    /// # Errors
    /// [`NetError::NoInterface`]; a group address.
    pub fn set_mac(&mut self, name: &str, mac: [u8; 6]) -> Result<(), NetError> {
        let mut message = self.at(name)?;
        message
            .attributes
            .push(LinkAttribute::Address(mac.to_vec()));
        let what = format!("setting the address of {name}");
        self.tell(RouteNetlinkMessage::SetLink(message), 0, &what)
    }

    /// Gives an interface an IP address.
    ///
    /// # Errors
    /// [`NetError::NoInterface`]; an address that it has.
    pub fn add_address(
        &mut self,
        name: &str,
        address: IpAddr,
        prefix_length: u8,
    ) -> Result<(), NetError> {
        let mut message = AddressMessage::default();
        message.header.index = self.link(name)?.index;
        message.header.family = family(address);
        message.header.prefix_len = prefix_length;
        message.attributes.push(AddressAttribute::Local(address));
        message.attributes.push(AddressAttribute::Address(address));
        let what = format!("giving {name} the address {address}/{prefix_length}");
        self.tell(
            RouteNetlinkMessage::NewAddress(message),
            NLM_F_CREATE | NLM_F_REPLACE,
            &what,
        )
    }

    /// Says at which Ethernet address an IP address is found, for good.
    ///
    /// # Errors
    /// [`NetError::NoInterface`].
    pub fn add_neighbour(
        &mut self,
        name: &str,
        address: IpAddr,
        mac: [u8; 6],
    ) -> Result<(), NetError> {
        let mut message = NeighbourMessage::default();
        message.header.ifindex = self.link(name)?.index;
        message.header.family = family(address);
        message.header.state = NeighbourState::Permanent;
        let destination = match address {
            IpAddr::V4(address) => NeighbourAddress::Inet(address),
            IpAddr::V6(address) => NeighbourAddress::Inet6(address),
        };
        message
            .attributes
            .push(NeighbourAttribute::Destination(destination));
        let mac = NeighbourAttribute::LinkLayerAddress(mac.to_vec());
        message.attributes.push(mac);
        let what = format!("telling {name} of the neighbour {address}");
        self.tell(
            RouteNetlinkMessage::NewNeighbour(message),
            NLM_F_CREATE | NLM_F_REPLACE,
            &what,
        )
    }

    /// Sends everything without a nearer route through this interface, to `gateway`.
    ///
    /// # Errors
    /// [`NetError::NoInterface`]; a gateway out of reach.
    pub fn add_default_route(&mut self, name: &str, gateway: IpAddr) -> Result<(), NetError> {
        let mut message = RouteMessage::default();
        message.header.address_family = family(gateway);
        message.header.table = RouteHeader::RT_TABLE_MAIN;
        message.header.protocol = RouteProtocol::Static;
        message.header.scope = RouteScope::Universe;
        message.header.kind = RouteType::Unicast;
        let address = match gateway {
            IpAddr::V4(address) => RouteAddress::Inet(address),
            IpAddr::V6(address) => RouteAddress::Inet6(address),
        };
        message.attributes.push(RouteAttribute::Gateway(address));
        let interface = RouteAttribute::Oif(self.link(name)?.index);
        message.attributes.push(interface);
        let what = format!("routing by {gateway} at {name}");
        self.tell(
            RouteNetlinkMessage::NewRoute(message),
            NLM_F_CREATE | NLM_F_REPLACE,
            &what,
        )
    }

    fn at(&mut self, name: &str) -> Result<LinkMessage, NetError> {
        let mut message = LinkMessage::default();
        message.header.index = self.link(name)?.index;
        Ok(message)
    }

    /// A request whose answer is only "done" or an error.
    fn tell(
        &mut self,
        message: RouteNetlinkMessage,
        flags: u16,
        what: &str,
    ) -> Result<(), NetError> {
        self.ask(message, flags | NLM_F_ACK, what).map(|_| ())
    }

    /// Sends a request and gathers the answers.
    fn ask(
        &mut self,
        message: RouteNetlinkMessage,
        flags: u16,
        what: &str,
    ) -> Result<Vec<RouteNetlinkMessage>, NetError> {
        self.sequence = self.sequence.wrapping_add(1);
        let mut request = NetlinkMessage::from(message);
        request.header.flags = NLM_F_REQUEST | flags;
        request.header.sequence_number = self.sequence;
        request.finalize();
        let mut bytes = vec![0; request.buffer_len()];
        request.serialize(&mut bytes);
        self.socket
            .send_to(&bytes, &SocketAddr::new(0, 0), 0)
            .tried(what, ADMIN)?;
        let mut answers = Vec::new();
        loop {
            let (datagram, _) = self.socket.recv_from_full().tried(what, ADMIN)?;
            for answer in messages(&datagram, what)? {
                if answer.header.sequence_number != self.sequence {
                    continue; // what is left of a request that was given up
                }
                match answer.payload {
                    NetlinkPayload::Done(_) => return Ok(answers),
                    NetlinkPayload::Error(error) => {
                        return match error.code {
                            None => Ok(answers),
                            Some(_) => Err(error.to_io()).tried(what, ADMIN),
                        };
                    }
                    NetlinkPayload::InnerMessage(message) => {
                        answers.push(message);
                        if flags & (NLM_F_ACK | NLM_F_DUMP) == 0 {
                            return Ok(answers);
                        }
                    }
                    _ => {}
                }
            }
        }
    }
}

fn family(address: IpAddr) -> AddressFamily {
    match address {
        IpAddr::V4(_) => AddressFamily::Inet,
        IpAddr::V6(_) => AddressFamily::Inet6,
    }
}

fn check_name(name: &str) -> Result<(), NetError> {
    let fits = (1..=LONGEST_NAME).contains(&name.len());
    let clean = !name.contains(|c: char| c == '/' || c == '\0' || c.is_whitespace());
    if fits && clean && name != "." && name != ".." {
        return Ok(());
    }
    Err(NetError::BadName {
        name: name.to_owned(),
    })
}

/// A socket to the kernel that also hears these multicast groups (a mask of old-style group bits).
pub(crate) fn connect(groups: u32) -> Result<Socket, NetError> {
    let what = "talking to the kernel by netlink";
    let mut socket = Socket::new(NETLINK_ROUTE).tried(what, ADMIN)?;
    socket
        .bind(&SocketAddr::new(0, groups))
        .tried(what, ADMIN)?;
    Ok(socket)
}

/// The messages of one datagram.
pub(crate) fn messages(
    mut datagram: &[u8],
    what: &str,
) -> Result<Vec<NetlinkMessage<RouteNetlinkMessage>>, NetError> {
    let mut found = Vec::new();
    while !datagram.is_empty() {
        let message =
            NetlinkMessage::<RouteNetlinkMessage>::deserialize(datagram).map_err(|e| {
                NetError::Answer {
                    what: what.to_owned(),
                    detail: e.to_string(),
                }
            })?;
        // Messages are aligned to 4 bytes.
        let length = (message.header.length as usize).next_multiple_of(4);
        if length == 0 {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof)).tried(what, ADMIN);
        }
        datagram = datagram.get(length..).unwrap_or_default();
        found.push(message);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_there_and_missing_links_are_named() {
        let mut rtnl = Rtnl::open().expect("netlink needs no rights");
        let loopback = rtnl.link("lo").expect("every namespace has it");
        assert!(!loopback.ethernet || loopback.mac == [0; 6]);
        let missing = rtnl.link("nosuch0").expect_err("there is none").to_string();
        assert!(
            missing.contains("'nosuch0'") && missing.contains("lo"),
            "{missing}"
        );
    }

    #[test]
    fn bad_names_are_refused_before_the_kernel_sees_them() {
        for bad in ["", "a/b", "longer-than-fifteen", "a b", ".."] {
            assert!(
                matches!(check_name(bad), Err(NetError::BadName { .. })),
                "{bad}"
            );
        }
    }

    #[test]
    fn a_damaged_answer_is_an_error() {
        assert!(messages(&[1, 2, 3], "test").is_err());
        assert!(messages(&[0; 16], "test").is_err());
    }
}
