//! Diagrams as SVG documents, without a drawing library (why: `docs/adr/0006-well-kept-crates.md`).
//! The same figures give the same bytes.
//!
//! - [`Plot`]: series of points over linear or logarithmic axes, with a legend.
//! - [`ring()`]: things of which each waits for the next.
//! - [`TimeAxes`]: a diagram over simulated time on a [`Page`], with marks of what happened; what
//!   is drawn in it is the caller's.

mod lines;
mod page;
mod ring;
mod scale;
mod time;

pub use lines::{Axis, Plot, Series, Stroke};
pub use page::{ALARM, COLOURS, Page, STYLE, colours_of, escape};
pub use ring::{RingBox, ring};
pub use scale::Scale;
pub use time::{Mark, TimeAxes};
