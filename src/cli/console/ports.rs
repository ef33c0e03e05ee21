//! Ports, their queues and the switch's clock: over its admin socket, as P4Runtime has no words for
//! them.

use quantities::PortId;

use super::super::terminal;
use super::{Outcome, Session, help, number};
use switchd::admin::{self, Answer, PortStatus, Request};

impl Session {
    pub(super) fn ports(&mut self, command: &str, words: &[&str]) -> Outcome {
        let request = match (command, words) {
            // simple_switch_CLI's order: interface, number; ours: one word.
            ("port_add", [line, port]) => Request::PortAdd {
                port: format!("{port}@{line}"),
            },
            ("port_add", [port]) => Request::PortAdd {
                port: (*port).to_owned(),
            },
            ("port_remove", [port]) => Request::PortRemove {
                port: PortId::new(number(port)?),
            },
            ("port_add", [_, _, _]) => {
                return Err("captures are for all ports: start the switch with --pcap DIR".into());
            }
            ("show_ports", []) => Request::Ports,
            ("set_queue_depth", [depth, rest @ ..]) => {
                let (port, queue) = which_queues(command, rest)?;
                Request::QueueDepth {
                    depth: number(depth)?,
                    port,
                    queue,
                }
            }
            ("set_queue_rate", [rate, rest @ ..]) => {
                let (port, queue) = which_queues(command, rest)?;
                Request::QueueRate {
                    rate: number(rate)?,
                    port,
                    queue,
                }
            }
            ("get_time_elapsed" | "get_time_since_epoch", []) => Request::Time,
            _ => return Err(help::unknown_or_usage(command).into()),
        };
        let path = self.admin.display();
        let answer = admin::ask(&self.admin, &request).map_err(|error| {
            format!("the switch's admin socket {path}: {error}; name it with --admin (it is on the switch's machine)")
        })?;
        match answer {
            Answer::Done => Ok("Done".to_owned()),
            Answer::Refused { why } => Err(why.into()),
            Answer::Ports { ports } => Ok(describe(&ports)),
            Answer::Time { microseconds } => Ok(microseconds.to_string()),
            Answer::Server { .. } | Answer::Lossless { .. } => {
                Err("the switch answers something else".into())
            }
        }
    }
}

/// The port and the queue of it that a command names, if any.
fn which_queues(command: &str, words: &[&str]) -> Outcome<(Option<PortId>, Option<u8>)> {
    match words {
        [] => Ok((None, None)),
        [port] => Ok((Some(PortId::new(number(port)?)), None)),
        [port, queue] => Ok((Some(PortId::new(number(port)?)), Some(number(queue)?))),
        _ => Err(help::unknown_or_usage(command).into()),
    }
}

/// The ports for people.
pub(in crate::cli) fn describe(ports: &[PortStatus]) -> String {
    let row = |port: &PortStatus| {
        vec![
            port.port.to_string(),
            port.line.clone(),
            if port.up { "up" } else { "down" }.to_owned(),
            port.received.to_string(),
            port.received_bytes.to_string(),
            port.sent.to_string(),
            port.sent_bytes.to_string(),
            (port.lost_down + port.lost_queue + port.overrun + port.refused).to_string(),
        ]
    };
    let rows: Vec<Vec<String>> = ports.iter().map(row).collect();
    let header = [
        "port", "line", "link", "received", "bytes", "sent", "bytes", "lost",
    ];
    terminal::table(&header, &[0, 3, 4, 5, 6, 7], &rows)
}
