//! The laboratory: benchmarks side by side with peers, and every figure of the papers. It is the
//! program `switchwright-figures`, which `switchwright bench` and `switchwright reproduce` start;
//! no other package depends on it.
//!
//! Speed and memory live here and never in tests. A benchmark names its machine and, where a peer
//! runs, gives the ratio to it.

mod cabling;
mod clos_cabling;
pub mod command;
mod cores;
mod cyclic;
pub mod failover;
mod flattened;
mod halving;
mod htsim;
mod lanes;
mod large_table;
mod links;
mod machine;
mod p4runtime;
mod packets;
mod parallel;
mod peer;
mod planning;
mod ports;
mod program;
mod pushing;
pub mod reproduce;
mod rerouting;
mod scale;
mod simulation;
mod switch_load;
mod switches;
mod tagging;
pub mod tcp_bolt;
mod throughput;
mod traffic;
mod trees;

pub use cabling::{
    CablingBenchError, CablingCase, CablingFigure, PaperCabling, cabling_cases, cabling_name,
    table_3_cabling,
};
pub use clos_cabling::{CLOS_PITCH, ClosCabling};
pub use conformance::rates::PROGRAM as RUNTIME_PROGRAM;
pub use cores::{CORES_CASES, CoresCase, CoresError, CoresFigure, CoresRun};
pub use cyclic::{CyclicFigure, ExpanderKind, TRAFFIC, Traffic, measure_cyclic, plot_cyclic};
pub use flattened::{
    FlattenedBenchError, FlattenedCase, FlattenedFigure, FlattenedNetwork, FlattenedTable,
    PaperPaths,
};
pub use htsim::{HTSIM_VARIABLE, HtsimBench, HtsimError, HtsimFigure};
pub use lanes::{LANES_CASES, LanesCase, LanesFigure, OpenSm};
pub use large_table::LargeTable;
pub use links::{LinkFigure, measure_links};
pub use p4runtime::{RuntimeError, RuntimeFigure, measure_p4runtime};
pub use packets::{
    ComparedNetwork, PacketBench, PacketBenchError, PacketCase, PacketFigure, PaperTimes,
};
pub use parallel::{ParallelFigure, Projection, SharedFigure, parallel};
pub use peer::{PeerFigure, TreesPeer, python_greedy, sage_trees};
pub use planning::{MeasureError, PlanningCase, PlanningFigure, cases, measure};
pub use ports::{Contender, PortFigure, PortsError, measure_ports};
pub use pushing::{ProcessFigure, watched};
pub use rerouting::ReroutingFigure;
pub use scale::{SCALE_CASES, ScaleCase, ScaleFigure};
pub use simulation::{PUBLISHED, SimulationBench, SimulationFigure};
pub use switch_load::SwitchLoad;
pub use switches::{SwitchFigure, SwitchesError, measure_switches};
pub use tagging::{TaggingCase, TaggingFigure, tagging_cases};
pub use throughput::{
    ClosSize, PaperThroughput, THROUGHPUT_CASES, Throughput, ThroughputCase, ThroughputFigure,
    large_throughput_case,
};
pub use trees::{PaperTrees, TreeLengths};
