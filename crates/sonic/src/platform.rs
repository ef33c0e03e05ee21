//! What switches under SONiC have of the resources that tags take. SONiC's models bound them
//! (traffic classes 0 to 15, priority groups 0 to 7); chips offer less or as much.

use serde::Serialize;

/// The highest traffic class that SONiC's models name.
pub const HIGHEST_TC: u8 = 15;
/// The highest priority group and PFC priority.
pub const HIGHEST_PG: u8 = 7;
/// The highest DSCP.
pub const HIGHEST_DSCP: u8 = 63;
/// The highest queue that SONiC's models name.
pub const HIGHEST_QUEUE: u8 = 9;

/// A kind of switch that runs SONiC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Platform {
    /// What `--platform` calls it.
    pub name: &'static str,
    /// Traffic classes, the lossy one included.
    pub traffic_classes: u8,
    /// Ingress ACL rules that match ingress ports, egress ports and DSCP and set the traffic class
    /// (`TC_ACTION`); 0 where the platform has no such action.
    pub acl_rules: u32,
}

/// Eight traffic classes, as many chips have, and no ACL action that sets one.
pub const GENERIC_8TC: Platform = Platform {
    name: "generic-8tc",
    traffic_classes: 8,
    acl_rules: 0,
};

/// As many traffic classes as SONiC's models allow.
pub const GENERIC_16TC: Platform = Platform {
    name: "generic-16tc",
    traffic_classes: 16,
    acl_rules: 0,
};

/// Eight traffic classes, and ACL rules that set one.
pub const GENERIC_8TC_ACL: Platform = Platform {
    name: "generic-8tc-acl",
    traffic_classes: 8,
    acl_rules: 1024,
};

/// Sixteen traffic classes, and ACL rules that set one.
pub const GENERIC_16TC_ACL: Platform = Platform {
    name: "generic-16tc-acl",
    traffic_classes: 16,
    acl_rules: 1024,
};
