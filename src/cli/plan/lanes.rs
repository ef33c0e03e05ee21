//! Routings with virtual lanes: `--routes up-down-any|lash|dfsssp`.

use plan::Tables;
use schemes::failover::{LaneRouting, virtual_lanes};
use topology::Topology;

use super::super::fault::Fault;
use super::super::given::Given;
use super::{Plan, Scheme};

/// The routing of this name.
pub(super) fn named(routes: &str) -> Option<LaneRouting> {
    let mut all = LaneRouting::ALL.into_iter();
    all.find(|routing| routing.name() == routes)
}

/// What shapes tags that rise; lanes do not.
const OF_RISING_TAGS: &[&str] = &[
    "algorithm",
    "search_moves",
    "time_limit",
    "k",
    "bounces",
    "max_switches",
    "classes",
    "class",
    "class_bits",
];

impl Plan {
    /// The tables of a routing with virtual lanes, if the routes are to be those of one.
    pub(super) fn lanes(
        &self,
        topology: &Topology,
        given: &Given,
    ) -> Result<Option<Tables>, Fault> {
        let routing = self.tagging.routes.as_deref().and_then(named);
        let Some(routing) = routing else {
            return Ok(None);
        };
        if self.scheme != Scheme::Tagger {
            return Err(Fault::input(format!(
                "`--routes {}` has virtual lanes, which take the place of another scheme's tags",
                routing.name()
            ))
            .help("leave `--scheme` out"));
        }
        let reason = format!(
            "with `--routes {}`, whose packets keep their lane",
            routing.name()
        );
        given.refuse_all(OF_RISING_TAGS, &reason)?;
        let options = self.failover_tags(given)?;
        let tables = virtual_lanes(topology, routing, &options).map_err(Fault::input)?;
        Ok(Some(tables))
    }
}
