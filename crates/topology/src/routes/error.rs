//! Why there are no routes of a kind in a topology.

use thiserror::Error;

use super::explicit::RouteFileError;
use crate::flattened::FlattenedError;

/// Why a policy does not apply to a topology.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RouteError {
    /// Up-down routes need to know what is up.
    #[error(
        "up-down routes need a layered topology, but switch `{switch}` has no layer or is linked to a switch \
         of its own layer; set `layer` on every switch, or use shortest paths"
    )]
    NotLayered {
        /// A switch that breaks the layers.
        switch: String,
    },
    /// Routes through virtual layers need a Flattened Clos.
    #[error(transparent)]
    Flattened(#[from] FlattenedError),
    /// The routes of a BCube need a BCube.
    #[error("digit-correcting routes need a BCube, but {reason}; use shortest paths")]
    NotBcube {
        /// What breaks the structure.
        reason: String,
    },
    /// A limit that admits no route.
    #[error("{0} is 0, which admits no route; raise it")]
    Nothing(&'static str),
    /// A listed route does not exist.
    #[error(transparent)]
    File(#[from] RouteFileError),
}
