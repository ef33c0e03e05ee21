//! One read: its entities are gathered and encoded, and all show one moment of what the control
//! plane decides (P4Runtime 1.5, sections 13.3 and 13.4).
//!
//! It begins on the state itself, where writers wait for it. As soon as one does, or the client is
//! slow, it goes on with a copy that is its own or shared with other reads of the same moment, and
//! writers go on too. What packets change (counters, meters, registers, times) is not copied: a
//! read of that stays with the state, never waits for its client while a writer waits, and what the
//! client has not taken is kept in memory, within bounds.

use std::sync::Arc;
use std::time::{Duration, Instant};

use p4runtime::p4::v1;
use p4runtime::p4::v1::entity::Entity;
use prost::bytes::{Bytes, BytesMut};
use tonic::Status;

use super::answers::{Answer, Offer};
use super::batch::object_names;
use super::limits::Permit;
use super::reads::Reads;
use super::roles::Permissions;
use super::status::batch_status;
use super::switch::Switch;
use crate::translate::pipeline_state::PipelineState;
use crate::translate::refusal::Refusal;
use crate::translate::{self, subject};

/// Bytes of a part of the answer: a message of the stream. One entity may make it longer.
const PART: usize = 64 << 10;

/// How often it is looked whether a writer waits, while the client takes nothing.
const GLANCE: Duration = Duration::from_millis(1);

/// A client that takes nothing for so long is slow, even if no writer waits.
const SLOW: Duration = Duration::from_millis(50);

/// A read that is over sooner need not make way for a writer.
const TURN: Duration = Duration::from_millis(5);

/// The number of `ReadResponse.entities`.
const ENTITIES: u32 = 1;

/// Why gathering stopped before the end.
enum Stop {
    /// Nobody wants the rest.
    Unwanted,
    /// The rest is to come from a copy of the state.
    Copy,
    /// The read fails.
    Failed(Status),
}

/// What a read looks at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    /// The state; a copy may take its place.
    State,
    /// The state, and nothing else has what is asked for.
    OnlyState,
    /// A copy of it.
    Copy,
}

/// See the module's documentation.
pub struct Reading {
    reads: Arc<Reads>,
    answer: Arc<Answer>,
    request: v1::ReadRequest,
    permissions: Option<Permissions>,
    source: Source,
    part: BytesMut,
    /// Entities found so far, those in the answer, and those to leave out since they are there.
    found: u64,
    given: u64,
    skip: u64,
    /// What is kept of this answer.
    kept: usize,
    /// When it began to look.
    began: Instant,
    /// Since when a writer has waited for it.
    hindering: Option<Instant>,
    stop: Option<Stop>,
}

/// Whether packets change something of what is asked for.
fn volatile(entity: &v1::Entity) -> bool {
    match &entity.entity {
        Some(Entity::TableEntry(entry)) => {
            entry.counter_data.is_some()
                || entry.meter_config.is_some()
                || entry.meter_counter_data.is_some()
                || entry.time_since_last_hit.is_some()
        }
        Some(
            Entity::CounterEntry(_)
            | Entity::DirectCounterEntry(_)
            | Entity::MeterEntry(_)
            | Entity::DirectMeterEntry(_)
            | Entity::RegisterEntry(_),
        ) => true,
        _ => false,
    }
}

impl Reading {
    /// A read that was let in, whose answer goes there.
    pub fn new(
        reads: Arc<Reads>,
        answer: Arc<Answer>,
        request: v1::ReadRequest,
        permissions: Option<Permissions>,
    ) -> Self {
        let source = match request.entities.iter().any(volatile) {
            true => Source::OnlyState,
            false => Source::State,
        };
        Self {
            reads,
            answer,
            request,
            permissions,
            source,
            part: BytesMut::new(),
            found: 0,
            given: 0,
            skip: 0,
            kept: 0,
            began: Instant::now(),
            hindering: None,
            stop: None,
        }
    }

    /// Gathers everything and says how it ended.
    pub fn run(mut self, switch: &Switch) {
        let refusals = self.look(switch);
        // Whatever was looked at is free again: the last part may wait for the client.
        self.source = Source::Copy;
        let end = match self.stop.take() {
            None => self.send(switch).err(),
            stop => stop,
        };
        self.answer.finish(match end {
            None => {
                let count = self.request.entities.len();
                (!refusals.is_empty()).then(|| batch_status(count, &refusals))
            }
            Some(Stop::Failed(status)) => Some(status),
            Some(Stop::Unwanted | Stop::Copy) => None,
        });
    }

    /// Looks at the state, and at a copy where that must do.
    fn look(&mut self, switch: &Switch) -> Vec<(usize, Refusal)> {
        let reads = Arc::clone(&self.reads);
        let look = reads.look();
        let pipelines = switch.pipelines();
        let Some(pipeline) = pipelines.current() else {
            let gone = Status::aborted("there is no forwarding pipeline any more; read again");
            self.stop = Some(Stop::Failed(gone));
            return Vec::new();
        };
        let refusals = self.gather(&pipeline.contents, switch);
        if !matches!(self.stop, Some(Stop::Copy)) {
            return refusals;
        }
        self.begin_again();
        if let Some(copy) = self.reads.copy(switch.revision(), &pipeline.contents) {
            drop(pipelines);
            drop(look);
            self.source = Source::Copy;
            return self.gather(&copy.contents, switch);
        }
        // Too many copies are kept: what the client does not take goes to the memory for answers.
        self.source = Source::OnlyState;
        self.gather(&pipeline.contents, switch)
    }

    /// Goes through everything once more, and leaves out what is in the answer.
    fn begin_again(&mut self) {
        self.stop = None;
        self.part.clear();
        (self.found, self.skip) = (0, self.given);
    }

    fn gather(&mut self, contents: &PipelineState, switch: &Switch) -> Vec<(usize, Refusal)> {
        let mut refusals = Vec::new();
        let entities = std::mem::take(&mut self.request.entities);
        self.began = Instant::now();
        for (index, asked) in entities.iter().enumerate() {
            let read = translate::read(contents, asked.entity.as_ref(), &mut |entity| {
                self.put(contents, entity, switch)
            });
            if let Err(refusal) = read
                && self.stop.is_none()
            {
                refusals.push((index, refusal));
            }
            // What finds nothing takes its time too.
            if self.stop.is_none()
                && index + 1 < entities.len()
                && let Err(stop) = self.glance(switch)
            {
                self.stop = Some(stop);
            }
            if self.stop.is_some() {
                break;
            }
        }
        self.request.entities = entities;
        refusals
    }

    /// Takes an entity; the refusal ends the gathering and is told to nobody.
    fn put(
        &mut self,
        contents: &PipelineState,
        entity: Entity,
        switch: &Switch,
    ) -> Result<(), Refusal> {
        let schema = &contents.schema;
        let may = |p: &Permissions| p.may_read(&object_names(schema, subject(&entity)));
        if !self.permissions.as_ref().is_none_or(may) {
            return Ok(());
        }
        self.found += 1;
        if self.found <= self.skip {
            return Ok(());
        }
        let entity = v1::Entity {
            entity: Some(entity),
        };
        if self.part.capacity() == 0 {
            self.part.reserve(PART + PART / 8);
        }
        prost::encoding::message::encode(ENTITIES, &entity, &mut self.part);
        if self.part.len() < PART {
            return Ok(());
        }
        let sent = self.send(switch).and_then(|()| self.glance(switch));
        sent.map_err(|stop| {
            self.stop = Some(stop);
            Refusal::aborted("the read was stopped")
        })
    }

    /// Whether it may go on where it is.
    fn glance(&mut self, switch: &Switch) -> Result<(), Stop> {
        if self.source != Source::Copy && self.awaited(switch) && self.began.elapsed() >= TURN {
            return match self.source {
                Source::State => Err(Stop::Copy),
                _ => self.check_hindrance(),
            };
        }
        match self.answer.wanted() {
            true => Ok(()),
            false => Err(Stop::Unwanted),
        }
    }

    /// Whether a writer or another read waits for it.
    fn awaited(&self, switch: &Switch) -> bool {
        switch.writer_waits() || self.reads.look_awaited()
    }

    fn check_hindrance(&mut self) -> Result<(), Stop> {
        let began = self.hindering.get_or_insert_with(Instant::now);
        let most = self.reads.limits().hindrance;
        if began.elapsed() < most {
            return Ok(());
        }
        Err(Stop::Failed(Status::resource_exhausted(format!(
            "writers have waited {} ms for this read of counters, meters, registers or times; ask for fewer at once",
            most.as_millis()
        ))))
    }

    /// Sends what is encoded.
    fn send(&mut self, switch: &Switch) -> Result<(), Stop> {
        if self.part.is_empty() {
            return Ok(());
        }
        let mut part = self.part.split().freeze();
        let began = Instant::now();
        loop {
            let wait = match self.source {
                Source::Copy => self.reads.limits().patience,
                _ if self.awaited(switch) => Duration::ZERO,
                _ => GLANCE,
            };
            part = match self.answer.offer(part, wait) {
                Offer::Accepted => break,
                Offer::Unwanted => return Err(Stop::Unwanted),
                Offer::Full(part) => part,
            };
            let slow = self.awaited(switch) || began.elapsed() >= SLOW;
            match self.source {
                Source::Copy => return Err(Stop::Failed(self.too_slow())),
                Source::State if slow => return Err(Stop::Copy),
                Source::OnlyState if slow => {
                    self.keep(part)?;
                    break;
                }
                Source::State | Source::OnlyState => {}
            }
        }
        self.given = self.found;
        Ok(())
    }

    fn too_slow(&self) -> Status {
        let seconds = self.reads.limits().patience.as_secs();
        Status::aborted(format!(
            "the client took nothing of the answer for {seconds} s"
        ))
    }

    /// Keeps a part for a client that is slow.
    fn keep(&mut self, part: Bytes) -> Result<(), Stop> {
        let Some(memory) = self.memory(part.len()) else {
            return Err(Stop::Failed(Status::resource_exhausted(format!(
                "the client takes the answer too slowly: {} bytes wait for it, and {} for all clients; ask for less at once",
                self.kept,
                self.reads.answers().taken()
            ))));
        };
        self.kept += part.len();
        match self.answer.keep(part, memory) {
            Offer::Accepted => Ok(()),
            _ => Err(Stop::Unwanted),
        }
    }

    fn memory(&self, bytes: usize) -> Option<Permit> {
        if self.kept + bytes > self.reads.limits().answer {
            return None;
        }
        loop {
            let memory = self.reads.answers().take(bytes);
            // Who takes nothing makes room for who may.
            if memory.is_some() || !self.reads.end_stalled(false) {
                return memory;
            }
        }
    }
}
