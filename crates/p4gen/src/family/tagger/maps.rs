//! Entries of the tables that are SONiC's maps, from the configuration of a switch.

use quantities::PortId;
use sonic::pipeline::{DSCPS, TCS};
use sonic::{ConfigDb, Pipeline, PortIndex, interface};
use topology::{SwitchId, Topology};

use crate::entries::Problem;
use crate::entries::writer::Writer;
use crate::layout::{action, table};

/// Adds the maps of all plugged ports. What a map does not say is 0 in the program too.
pub(super) fn fill(
    to: &mut Writer<'_>,
    topology: &Topology,
    switch: SwitchId,
    config: &ConfigDb,
) -> Result<(), Problem> {
    let pipeline = Pipeline::of(config);
    let mut ports: Vec<(PortId, PortIndex)> = Vec::new();
    for (port, _) in topology.peers(switch) {
        let name = interface(topology, switch, port);
        let index = pipeline.port(&name);
        let missing = || Problem::Maps(format!("interface `{name}` is not in PORT"));
        ports.push((port, index.ok_or_else(missing)?));
    }
    for &(port, index) in &ports {
        let mut add = |name, field, (key, of), call: &'static str, value: u8| {
            let side = to.exact(name, field, port.get())?;
            let key = to.exact(name, key, u16::from(of))?;
            let call = to.call(call, &[value.into()])?;
            to.add(name, vec![side, key], None, call);
            Ok::<_, Problem>(())
        };
        for dscp in 0..DSCPS {
            let tc = pipeline.class_of(index, dscp);
            if tc > 0 {
                let key = ("dscp", dscp);
                add(table::DSCP_TO_TC, "in_port", key, action::SET_TC, tc)?;
            }
        }
        for tc in 0..TCS {
            let key = ("tc", tc);
            let group = pipeline.group_of(index, tc);
            if group > 0 {
                let set = action::SET_PRIORITY_GROUP;
                add(table::TC_TO_PRIORITY_GROUP, "in_port", key, set, group)?;
            }
            let queue = pipeline.queue_of(index, tc);
            if queue > 0 {
                add(
                    table::TC_TO_QUEUE,
                    "out_port",
                    key,
                    action::SET_QUEUE,
                    queue,
                )?;
            }
            if let Some(dscp) = pipeline.dscp_of(index, tc) {
                add(table::TC_TO_DSCP, "out_port", key, action::SET_DSCP, dscp)?;
            }
        }
    }
    if pipeline.has_rules() {
        acl(to, &pipeline, &ports)?;
    }
    Ok(())
}

/// What ACL rules say, port by port.
fn acl(
    to: &mut Writer<'_>,
    pipeline: &Pipeline,
    ports: &[(PortId, PortIndex)],
) -> Result<(), Problem> {
    for &(from, input) in ports {
        for dscp in 0..DSCPS {
            for &(into, output) in ports {
                let Some(tc) = pipeline.rule(input, dscp, output) else {
                    continue;
                };
                let keys = vec![
                    to.exact(table::ACL_TC, "in_port", from.get())?,
                    to.exact(table::ACL_TC, "dscp", u16::from(dscp))?,
                    to.exact(table::ACL_TC, "out_port", into.get())?,
                ];
                let call = to.call(action::SET_TC, &[tc.into()])?;
                to.add(table::ACL_TC, keys, None, call);
            }
        }
    }
    Ok(())
}
