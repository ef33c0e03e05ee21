//! Lossless tags for failover tables.
//!
//! *Rising*: the ways of all packets, under every set of failures that the tables survive, get
//! rules over (tag, input port, output port) as Tagger17's routes do: the tag rises where keeping
//! it could close a cycle of buffers. Tags are a function of the links that a packet crosses, so
//! any failover scheme will do, compressed or not.
//!
//! *Channels* (Stephens15 section 5.1): a packet keeps the priority that its first switch gave it,
//! see [`channels`](super::channels).

use indexmap::IndexSet;
use plan::Tables;
use plan::check::resilience::fold_ways;
use plan::failover::Failover;
use topology::{ArcId, Fabric};

use super::FailoverError;
use super::channels::{MAX_WALKS, channels};
use super::dependency::Chosen;
use crate::{Tagged, TaggerOptions, numbered, single};

/// How packets of failover tables are kept lossless.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The tag rises where a cycle could close.
    Rising,
    /// The tag is a channel that a packet keeps; spread over at least so many.
    Channels(u8),
}

impl Method {
    /// The name in provenance.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rising => "rising",
            Self::Channels(_) => "channels",
        }
    }
}

/// The links of the ways to each destination.
type Ways = IndexSet<Box<[ArcId]>, foldhash::fast::FixedState>;

/// Gives lossless tags to the packets of failover tables. The claim is then that every packet that
/// arrives stays lossless.
///
/// # Errors
/// [`FailoverError`] if there are no failover tables, too many walks, too many tags, or a unit that
/// cannot have a channel.
pub fn lossless(
    mut tables: Tables,
    method: Method,
    options: &TaggerOptions,
) -> Result<Tables, FailoverError> {
    let Some(failover) = tables.failover.take() else {
        return Err(FailoverError::NoTables);
    };
    let fabric = Fabric::new(&tables.topology);
    let (failover, tagged, at_least) = match method {
        Method::Rising => {
            let tagged = rising(&tables, &fabric, &failover, options)?;
            // One tag is enough just if all ways together close no cycle; then the rules have no
            // second.
            let at_least = tagged.tags.len().min(2);
            (failover, tagged, at_least)
        }
        Method::Channels(least) => channels(&tables, &fabric, failover, None, least, options)?,
    };
    tables.failover = Some(failover);
    with_tags(tables, method.name(), tagged, at_least, options)
}

/// Gives channels to the packets of failover tables whose ways were chosen within channels.
pub(super) fn lossless_within(
    mut tables: Tables,
    chosen: &[Chosen],
    least: u8,
    options: &TaggerOptions,
) -> Result<Tables, FailoverError> {
    let Some(failover) = tables.failover.take() else {
        return Err(FailoverError::NoTables);
    };
    let fabric = Fabric::new(&tables.topology);
    let (failover, tagged, at_least) =
        channels(&tables, &fabric, failover, Some(chosen), least, options)?;
    tables.failover = Some(failover);
    let method = Method::Channels(least).name();
    with_tags(tables, method, tagged, at_least, options)
}

/// Puts lossless tags beside failover tables; at least so many of them are needed, as far as is
/// known.
///
/// # Errors
/// [`FailoverError`] if more codes or priorities are chosen than there are tags.
pub(super) fn with_tags(
    mut tables: Tables,
    method: &str,
    tagged: Tagged,
    at_least: usize,
    options: &TaggerOptions,
) -> Result<Tables, FailoverError> {
    let made = &mut tables.provenance.options;
    made.insert("lossless".to_owned(), method.to_owned());
    made.insert("priorities".to_owned(), tagged.tags.len().to_string());
    made.insert("priorities-at-least".to_owned(), at_least.to_string());
    (tables.carrier, tables.tagging) = numbered(options, tagged, false, &mut tables.provenance)?;
    tables.budget = options.budget.clone();
    Ok(tables)
}

fn rising(
    tables: &Tables,
    fabric: &Fabric,
    failover: &Failover,
    options: &TaggerOptions,
) -> Result<Tagged, FailoverError> {
    let ways = fold_ways(
        &tables.topology,
        failover,
        MAX_WALKS,
        Ways::default,
        |ways, way| {
            if !way.arcs.is_empty() && !ways.contains(way.arcs) {
                ways.insert(way.arcs.into());
            }
        },
    );
    let ways = ways.ok_or(FailoverError::Walks { most: MAX_WALKS })?;
    let mut all = Ways::default();
    for toward in ways {
        all.extend(toward);
    }
    let levels = single::of_ways(fabric, |see| all.iter().for_each(|way| see(way)))?;
    Ok(crate::tables(fabric, options, &levels)?)
}
