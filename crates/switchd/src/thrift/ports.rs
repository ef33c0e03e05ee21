//! `bm_dev_mgr_*`, egress queues and the clock.

use std::sync::PoisonError;
use std::time::{SystemTime, UNIX_EPOCH};

use device::{QueueRange, QueueSetting};
use quantities::PortId;

use super::value::Value;
use super::{Call, Fault, Outcome};
use crate::admin::{is_lossless, set_queues, statuses};
use crate::ports::{PortBinding, PortSpec};

/// `DevMgrErrorCode`.
const ERROR: i32 = 1;

fn refused(why: impl ToString) -> Fault {
    Fault::Refused(ERROR, why.to_string())
}

fn port_number(number: i32) -> Result<PortId, String> {
    let port = u16::try_from(number).map_err(|_| format!("there is no port {number}"))?;
    Ok(PortId::new(port))
}

/// Ports of a lossless switch stay as they are.
fn check_changeable(call: &Call<'_>) -> Result<(), Fault> {
    match is_lossless(&call.subject.engine) {
        true => Err(refused("the ports of a lossless switch share its buffer")),
        false => Ok(()),
    }
}

/// Only interfaces: files and sockets of the switch's machine are for its administrator.
pub(super) fn add(call: &Call<'_>) -> Outcome {
    let port = port_number(call.args.i32(2)?).map_err(refused)?;
    if !call.args.bytes(3)?.is_empty() {
        return Err(refused(
            "captures are for all ports: start the switch with --pcap DIR",
        ));
    }
    check_changeable(call)?;
    let spec = PortSpec::Interface(call.args.text(1)?);
    let mut ports = call
        .subject
        .ports
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    ports.add(PortBinding { port, spec }).map_err(refused)?;
    Ok(None)
}

pub(super) fn remove(call: &Call<'_>) -> Outcome {
    let port = port_number(call.args.i32(1)?).map_err(refused)?;
    check_changeable(call)?;
    let mut ports = call
        .subject
        .ports
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    ports.remove(port).map_err(refused)?;
    Ok(None)
}

pub(super) fn show(call: &Call<'_>) -> Outcome {
    let ports = call
        .subject
        .ports
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    let found = statuses(&ports, &call.subject.engine);
    let port = |status: &crate::admin::PortStatus| {
        Value::structure([
            (1, Value::I32(status.port.get().into())),
            (2, Value::text(status.line.clone())),
            (3, Value::Bool(status.up)),
            (4, Value::Texts(Vec::new())),
        ])
    };
    Ok(Some(Value::structures(found.iter().map(port))))
}

/// Changes queues: of the port and the queue in these fields, or of all.
fn change(
    call: &Call<'_>,
    port: Option<i16>,
    queue: Option<i16>,
    setting: QueueSetting,
) -> Outcome {
    let engine = &call.subject.engine;
    if is_lossless(engine) {
        return Err(Fault::Application(
            "a lossless switch has its queues in its buffer".to_owned(),
        ));
    }
    let port = port.map(|field| call.args.i32(field)).transpose()?;
    let port = port
        .map(port_number)
        .transpose()
        .map_err(Fault::Application)?;
    let queue = queue.map(|field| call.args.i32(field)).transpose()?;
    let queue = queue.map(u8::try_from).transpose();
    let queue = queue.map_err(|_| Fault::Application("there is no such queue".to_owned()))?;
    set_queues(engine, QueueRange { port, queue }, setting).map_err(Fault::Application)?;
    Ok(Some(Value::I32(0)))
}

fn depth(call: &Call<'_>, field: i16) -> Result<QueueSetting, Fault> {
    let depth = usize::try_from(call.args.i32(field)?);
    let depth = depth.map_err(|_| Fault::Application("a depth is not negative".to_owned()))?;
    Ok(QueueSetting::Depth(depth))
}

fn rate(call: &Call<'_>, field: i16) -> Result<QueueSetting, Fault> {
    let rate = u64::try_from(call.args.i64(field)?);
    let rate = rate.map_err(|_| Fault::Application("a rate is not negative".to_owned()))?;
    Ok(QueueSetting::Rate(rate))
}

pub(super) fn set_priority_depth(call: &Call<'_>) -> Outcome {
    change(call, Some(1), Some(2), depth(call, 3)?)
}

pub(super) fn set_depth(call: &Call<'_>) -> Outcome {
    change(call, Some(1), None, depth(call, 2)?)
}

pub(super) fn set_all_depths(call: &Call<'_>) -> Outcome {
    change(call, None, None, depth(call, 1)?)
}

pub(super) fn set_priority_rate(call: &Call<'_>) -> Outcome {
    change(call, Some(1), Some(2), rate(call, 3)?)
}

pub(super) fn set_rate(call: &Call<'_>) -> Outcome {
    change(call, Some(1), None, rate(call, 2)?)
}

pub(super) fn set_all_rates(call: &Call<'_>) -> Outcome {
    change(call, None, None, rate(call, 1)?)
}

fn microseconds(time: u128) -> Outcome {
    Ok(Some(Value::I64(i64::try_from(time).unwrap_or(i64::MAX))))
}

/// The clock by which the program stamps packets.
pub(super) fn time_elapsed(call: &Call<'_>) -> Outcome {
    microseconds(u128::from(call.subject.engine.now().get() / 1000))
}

pub(super) fn time_since_epoch(_: &Call<'_>) -> Outcome {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    microseconds(now.map_or(0, |time| time.as_micros()))
}
