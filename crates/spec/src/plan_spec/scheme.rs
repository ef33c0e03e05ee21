//! A scheme with its options: what can be asked, and nothing that contradicts itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use plan::{CarrierKind, Tables};
use quantities::Progress;
use schemes::failover::{LaneRouting, SourceRouteOptions, source_routes, virtual_lanes};
use schemes::{Algorithm, Search, TaggerOptions};
use topology::Topology;
use topology::routes::RoutePolicy;

use super::failover::Failover;
use super::routes::{DEFAULT_K, Routes};
use super::tags::{Classes, Tags};
use super::{PlanError, PlanSpec, SchemeKind, Spelling, owners};

/// A scheme with its options. Each variant holds the options of its scheme and no others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Tags that rise where a cycle of buffers could close.
    Tagger(Tagger),
    /// One way for every pair of switches, in virtual lanes that packets keep.
    Lanes(Lanes),
    /// A tag per hop.
    Ttl(Ttl),
    /// Up, then down through virtual layers; tables by destination.
    FlattenedClos(FlattenedClos),
    /// Disjoint paths of a Flattened Clos as source routes.
    DisjointPaths(DisjointPaths),
    /// One tag, as without a scheme.
    OneTag(OneTag),
    /// Backup ways for failed links.
    Failover(Box<Failover>),
}

/// Options of Tagger (Tagger17).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tagger {
    algorithm: Option<TagAlgorithm>,
    routes: Routes,
    /// Bounces that were asked for: means something with up-down routes only.
    bounces: Option<u8>,
    classes: Classes,
    tags: Tags,
}

/// How Tagger computes tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TagAlgorithm {
    /// By a search that ends after a number of moves or after a time.
    Optimal {
        moves: u64,
        time_limit: Option<Duration>,
    },
    /// By an algorithm without a search.
    Direct(Algorithm),
}

/// Options of routings with virtual lanes (Domke11).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lanes {
    routing: LaneRouting,
    tags: Tags,
}

/// Options of TTL tagging (TaggerDraft section 4.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ttl {
    hops: Option<u8>,
    routes: Routes,
    bounces: Option<u8>,
    classes: Classes,
    tags: Tags,
}

/// Options of tables by destination in a Flattened Clos (FC23 section 3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlattenedClos {
    turns: u8,
    classes: Classes,
    tags: Tags,
}

/// Options of disjoint paths in a Flattened Clos (FC23 section 3.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DisjointPaths {
    turns: u8,
    paths: Option<u16>,
    stack: Option<u8>,
    classes: Classes,
    tags: Tags,
}

/// Routes with one tag, as without a scheme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OneTag {
    routes: RoutePolicy,
    name: &'static str,
    tags: Tags,
}

impl Scheme {
    /// The scheme of a plan whose options are known to be the scheme's.
    pub(super) fn of(spec: &PlanSpec, spelling: Spelling) -> Result<Self, PlanError> {
        if let Some(routing) = spec.lanes(spelling)? {
            let tags = Tags::of(spec, CarrierKind::Shim, spelling)?;
            return Ok(Self::Lanes(Lanes { routing, tags }));
        }
        let tags = || Tags::of(spec, CarrierKind::default(), spelling);
        Ok(match spec.scheme.0 {
            SchemeKind::Tagger => Self::Tagger(Tagger::of(spec, spelling)?),
            SchemeKind::Ttl => Self::Ttl(Ttl::of(spec, spelling)?),
            SchemeKind::FlattenedClos => Self::flattened(spec, spelling)?,
            SchemeKind::Ecmp => Self::OneTag(OneTag {
                routes: RoutePolicy::Shortest,
                name: "ecmp",
                tags: tags()?,
            }),
            SchemeKind::Ksp => Self::OneTag(OneTag {
                routes: RoutePolicy::Ksp {
                    k: spec.k.unwrap_or(DEFAULT_K),
                },
                name: "ksp",
                tags: tags()?,
            }),
            SchemeKind::Failover(scheme) => {
                Self::Failover(Box::new(Failover::of(spec, scheme, spelling)?))
            }
        })
    }

    fn flattened(spec: &PlanSpec, spelling: Spelling) -> Result<Self, PlanError> {
        let turns = spec.bounces.unwrap_or(0);
        let classes = Classes::of(spec, spelling)?;
        classes.refuse_limits(spelling)?;
        if !spec.source_routes {
            let tags = Tags::of(spec, CarrierKind::default(), spelling)?;
            return Ok(Self::FlattenedClos(FlattenedClos {
                turns,
                classes,
                tags,
            }));
        }
        if spec.multipath == Some(0) {
            let given = spelling.with_value("multipath", "0");
            let problem = format!("{given}: a pair of switches needs a path");
            return Err(PlanError::new(problem));
        }
        Ok(Self::DisjointPaths(DisjointPaths {
            turns,
            paths: spec.multipath,
            stack: spec.stack,
            classes,
            tags: Tags::of(spec, CarrierKind::Shim, spelling)?,
        }))
    }

    /// The tables of a topology, yet to be proven; `progress` can cancel the computation.
    ///
    /// # Errors
    /// [`PlanError`] if the scheme refuses the topology, or an option means nothing on it; in the
    /// words of `spelling`.
    pub fn tables(
        &self,
        topology: &Topology,
        spelling: Spelling,
        progress: &Arc<Progress>,
    ) -> Result<Tables, PlanError> {
        progress.checkpoint();
        let tables = match self {
            Self::Tagger(tagger) => tagger.tables(topology, spelling, progress),
            Self::Lanes(lanes) => virtual_lanes(topology, lanes.routing, &lanes.tags.options())
                .map_err(PlanError::new),
            Self::Ttl(ttl) => ttl.tables(topology, spelling),
            Self::FlattenedClos(clos) => {
                let options = clos.classes.apply(clos.tags.options());
                schemes::flattened_clos(topology, clos.turns, &options).map_err(PlanError::new)
            }
            Self::DisjointPaths(paths) => paths.tables(topology, progress),
            Self::OneTag(one) => {
                let options = one.tags.options();
                schemes::one_tag(topology, one.name, &one.routes, &options).map_err(PlanError::new)
            }
            Self::Failover(failover) => failover.tables(topology, spelling, progress),
        };
        progress.checkpoint();
        tables
    }
}

impl Tagger {
    fn of(spec: &PlanSpec, spelling: Spelling) -> Result<Self, PlanError> {
        let algorithm = match spec.algorithm.map(|algorithm| algorithm.0) {
            Some(Algorithm::Optimal) => Some(TagAlgorithm::Optimal {
                moves: spec.search_moves.unwrap_or(Search::default().moves),
                time_limit: spec.time_limit.map(Duration::from_secs),
            }),
            other => {
                spec.refuse(spelling, |option| {
                    let of_search = ["search_moves", "time_limit"].contains(&option);
                    let wanted = spelling.with_value("algorithm", "optimal");
                    of_search.then(|| format!("here: it is for {wanted}"))
                })?;
                other.map(TagAlgorithm::Direct)
            }
        };
        let classes = Classes::of(spec, spelling)?;
        Ok(Self {
            algorithm,
            routes: Routes::of(spec, &classes, spelling)?,
            bounces: spec.bounces,
            classes,
            tags: Tags::of(spec, CarrierKind::default(), spelling)?,
        })
    }

    fn tables(
        &self,
        topology: &Topology,
        spelling: Spelling,
        progress: &Arc<Progress>,
    ) -> Result<Tables, PlanError> {
        let mut options = TaggerOptions {
            routes: self.routes.policy(topology)?,
            ..self.classes.apply(self.tags.options())
        };
        match self.algorithm {
            Some(TagAlgorithm::Optimal { moves, time_limit }) => {
                options.algorithm = Some(Algorithm::Optimal);
                options.search = Search {
                    moves,
                    stop: Some(time_limit.map_or_else(|| progress.stop(), alarm)),
                };
            }
            Some(TagAlgorithm::Direct(algorithm)) => options.algorithm = Some(algorithm),
            None => {}
        }
        let routes = options.routes_for(topology, options.algorithm_for(topology));
        refuse_bounces(self.bounces, topology, &routes, spelling)?;
        if !matches!(routes, RoutePolicy::UpDown { .. }) {
            self.classes.refuse_limits(spelling)?;
        }
        schemes::tagger(topology, &options).map_err(PlanError::new)
    }
}

impl Ttl {
    fn of(spec: &PlanSpec, spelling: Spelling) -> Result<Self, PlanError> {
        let classes = Classes::of(spec, spelling)?;
        classes.refuse_limits(spelling)?;
        Ok(Self {
            hops: spec.hops,
            routes: Routes::of(spec, &classes, spelling)?,
            bounces: spec.bounces,
            classes,
            tags: Tags::of(spec, CarrierKind::default(), spelling)?,
        })
    }

    fn tables(&self, topology: &Topology, spelling: Spelling) -> Result<Tables, PlanError> {
        let options = TaggerOptions {
            routes: self.routes.policy(topology)?,
            ..self.classes.apply(self.tags.options())
        };
        let routes = options.routes.clone().unwrap_or(RoutePolicy::Shortest);
        refuse_bounces(self.bounces, topology, &routes, spelling)?;
        schemes::ttl(topology, self.hops, &options).map_err(PlanError::new)
    }
}

/// Refuses a number of bounces where routes do not bounce.
fn refuse_bounces(
    bounces: Option<u8>,
    topology: &Topology,
    routes: &RoutePolicy,
    spelling: Spelling,
) -> Result<(), PlanError> {
    if bounces.is_none() || matches!(routes, RoutePolicy::UpDown { .. }) {
        return Ok(());
    }
    let option = spelling.option("bounces");
    let reason = owners::without_bounces(topology, routes, spelling);
    Err(PlanError::new(format!("{option} means nothing {reason}"))
        .help(format!("leave {option} out")))
}

impl DisjointPaths {
    fn tables(&self, topology: &Topology, progress: &Progress) -> Result<Tables, PlanError> {
        let wanted = SourceRouteOptions {
            paths: self.paths,
            bounces: self.turns,
            stack: self.stack,
        };
        let options = self.classes.apply(self.tags.options());
        source_routes(topology, wanted, &options, progress).map_err(PlanError::new)
    }
}

/// A flag that is set after a time.
fn alarm(after: Duration) -> Arc<AtomicBool> {
    let flag = Arc::<AtomicBool>::default();
    let set = Arc::clone(&flag);
    // It sleeps until then or the process's end, whichever is first.
    std::thread::spawn(move || {
        std::thread::sleep(after);
        set.store(true, Ordering::Relaxed);
    });
    flag
}
