//! What spares compiled code look-ups, and how long it holds.
//!
//! Three stores keep what look-ups come to: [`Images`] (whole tables, if they are small), [`Memo`]
//! (entries that were found lately) and [`Answers`] (actions that were run lately, with their
//! data). All of it holds as long as a table stays what it is. That is decided here and nowhere
//! else: [`Caches::refresh`] compares what each table's look-ups depend on with what they depended
//! on before, and where it differs begins a new [`Epoch`](super::epoch::Epoch), which every
//! [`LookupCache`] follows. First look-ups that are made ahead ([`LookAhead`]) are of one batch,
//! during which nothing changes; whether it is worth making them depends on the tables, and is
//! decided here too.

use p4ir::Entity as _;

use super::ahead::{self, LookAhead};
use super::answers::Answers;
use super::code::Code;
use super::epoch::{Basis, Changed, Epochs, LookupCache};
use super::frame::words_of;
use super::image::Images;
use super::jit::Cells;
use super::memo::Memo;
use crate::state::RuntimeState;

/// See the module documentation.
pub(super) struct Caches {
    epochs: Epochs,
    pub(super) images: Images,
    pub(super) memo: Memo,
    pub(super) answers: Answers,
    /// Where first look-ups are kept, if the code can look ahead and it is worth it.
    pub(super) ahead: Option<Box<LookAhead>>,
    /// Where the cells of counters are.
    pub(super) counters: Vec<Cells>,
    /// Which ports are up, as the program's metadata has it.
    pub(super) port_status: Vec<u64>,
    /// Whether the state may have changed, other than by packets, since all of this was compared
    /// with it.
    stale: bool,
}

impl Caches {
    /// Nothing is kept yet.
    pub(super) fn new(code: &Code) -> Self {
        let tables = code.program.tables.len();
        Self {
            epochs: Epochs::new(tables),
            images: Images::new(tables, &code.looked_up),
            memo: Memo::new(tables),
            answers: Answers::new(&code.program),
            ahead: None,
            counters: Vec::new(),
            port_status: Vec::new(),
            stale: true,
        }
    }

    /// Somebody may change the state from now on.
    pub(super) const fn may_be_stale(&mut self) {
        self.stale = true;
    }

    /// Brings everything in line with the state, if somebody could change that. Costs a comparison
    /// for each table if nothing has changed.
    #[inline]
    pub(super) fn refresh(&mut self, code: &Code, state: &mut RuntimeState) {
        if self.stale {
            self.compare(code, state);
        }
    }

    fn compare(&mut self, code: &Code, state: &mut RuntimeState) {
        Cells::find(&mut self.counters, state);
        self.read_ports(code, state);
        self.look_ahead_if_worth(code, state);
        let looks_ahead = self.ahead.is_some();
        for id in code.program.tables.keys() {
            let Some(table) = state.control.known_table(id) else {
                continue;
            };
            let basis = Basis::of((id, table), state, looks_ahead);
            let Some(epoch) = self.epochs.begin(id.index(), basis) else {
                continue;
            };
            let changed = Changed {
                id,
                table,
                state,
                basis,
                epoch,
            };
            self.images.renew(&changed);
            self.memo.renew(&changed);
            self.answers.renew(&changed);
        }
        self.stale = false;
    }

    fn read_ports(&mut self, code: &Code, state: &RuntimeState) {
        self.port_status.clear();
        if let Some(leaf) = code.info.v1model().and_then(|info| info.port_status) {
            let slot = code.layout.slot(leaf);
            let status = state.port_status(slot.width);
            self.port_status.resize(slot.words() as usize, 0);
            words_of(&status, &mut self.port_status);
        }
    }

    fn look_ahead_if_worth(&mut self, code: &Code, state: &RuntimeState) {
        if !code.native.looks_ahead() || !ahead::has_large_table(&state.control) {
            self.ahead = None;
        } else if self.ahead.is_none() {
            self.ahead = Some(Box::default());
        }
    }
}
