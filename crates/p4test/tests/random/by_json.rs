//! A program as the JSON that we write of it says it, beside the program itself.

use std::fmt::Display;
use std::sync::Arc;

use p4exec::{Batch, Executor, ExecutorKind, RuntimeState, Update, executor};
use p4ir::ValidProgram;
use p4test::beside::{Beside, NoJson};
use quantities::{Nanos, PortId};

/// The interpreter on the JSON of a program.
pub(super) struct ByJson {
    source: Arc<ValidProgram>,
    json: Beside,
    executor: Box<dyn Executor + Send>,
}

impl ByJson {
    /// A program that JSON can say.
    pub(super) fn of(program: &Arc<ValidProgram>) -> Self {
        Self::where_sayable(program).expect("JSON can say it")
    }

    /// The same, or why JSON cannot say it. What is written must be read.
    pub(super) fn where_sayable(program: &Arc<ValidProgram>) -> Result<Self, NoJson> {
        let json = Beside::new(program).inspect_err(|why| {
            assert!(matches!(why, NoJson::Refused(_)), "{why}");
        })?;
        let executor = executor(ExecutorKind::Interp, Arc::clone(json.program()));
        Ok(Self {
            source: Arc::clone(program),
            executor: executor.expect("it starts"),
            json,
        })
    }

    /// Makes a change that was or was not taken by the program.
    pub(super) fn take(&mut self, update: &Update, taken: bool) {
        let update = self.json.update(&self.source, update);
        let update = update.expect("the JSON has the same objects");
        let also = self.executor.state_mut().apply(update, Nanos::new(0));
        assert_eq!(also.is_ok(), taken, "{also:?}");
    }

    pub(super) fn state_mut(&mut self) -> &mut RuntimeState {
        self.executor.state_mut()
    }

    /// Packets of port 1 at a time come to what they came to in the program.
    pub(super) fn send(
        &mut self,
        now: Nanos,
        packets: &[Vec<u8>],
        expected: &Batch,
        what: &dyn Display,
    ) {
        let list: Vec<(PortId, &[u8])> = packets.iter().map(|p| (PortId::new(1), &p[..])).collect();
        let mut found = Batch::default();
        self.executor.process_batch(now, &list, &mut found);
        let sent = |batch: &Batch| -> Vec<(u32, PortId, Vec<u8>)> {
            let sent = batch.sent.iter();
            sent.map(|one| (one.arrival, one.port, batch.packet(one).to_vec()))
                .collect()
        };
        assert_eq!(sent(&found), sent(expected), "by way of JSON: {what}");
        assert_eq!(found.dropped, expected.dropped, "by way of JSON: {what}");
    }
}
