//! Network namespaces, veth pairs, raw sockets and link state on Linux.
