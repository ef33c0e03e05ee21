//! What can be said of failover tables without walking a packet.

use topology::{Switch, Topology};

use crate::check::error::PlanError;
use crate::failover::{Action, Failover, MAX_HOPS, Output, WIDEST};

/// Every reference that leads nowhere: one per switch.
pub(in crate::check) fn shape(topology: &Topology, failover: &Failover) -> Vec<PlanError> {
    let mut errors = Vec::new();
    let switches = topology.switches();
    if failover.tables.len() != switches.len() {
        errors.push(PlanError::RuleLists {
            given: failover.tables.len(),
            switches: switches.len(),
        });
        return errors;
    }
    if usize::from(failover.stack) > MAX_HOPS {
        errors.push(PlanError::Failover {
            place: "failover.stack".to_owned(),
            reason: format!("routes in a header have at most {MAX_HOPS} hops"),
        });
    }
    for (switch, table) in switches.iter().zip(&failover.tables) {
        for (number, rule) in table.iter().enumerate() {
            let status = rule.ports.up.bits() | rule.ports.down.bits();
            let beyond = u16::try_from(127 - status.leading_zeros().min(127)).unwrap_or(0);
            let bad = if status != 0 && beyond > switch.ports {
                Some(no_port(switch, beyond))
            } else {
                action(switch, failover.output, rule.action)
            };
            if let Some(reason) = bad {
                errors.push(PlanError::Failover {
                    place: format!("failover rule {} of switch `{}`", number + 1, switch.name),
                    reason,
                });
                break;
            }
        }
    }
    errors
}

fn no_port(switch: &Switch, port: u16) -> String {
    format!(
        "there is no port {port}; `{}` has ports 1 to {}",
        switch.name, switch.ports
    )
}

fn action(switch: &Switch, output: Output, action: &Action) -> Option<String> {
    let Action::Forward { route, .. } = action else {
        return None;
    };
    let Some(&first) = route.first() else {
        return Some("it forwards by no port; give one, or drop".to_owned());
    };
    if u16::from(first) > switch.ports {
        return Some(no_port(switch, u16::from(first)));
    }
    if u16::from(first) > WIDEST.get() {
        return Some(format!(
            "port {first} is beyond the port status, which ends at {WIDEST}"
        ));
    }
    (output == Output::HopByHop && route.len() > 1)
        .then(|| "it puts out a route, but the plan says `hop-by-hop`; set `output`".to_owned())
}
