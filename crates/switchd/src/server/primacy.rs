//! Who may change the device, decided in one step with the change (P4Runtime 1.5, chapter 5).
//!
//! A change has three parts. [`Primacy::admit`] turns an election id into a [`Tenure`]; whatever
//! takes long happens then, and holds up nobody. [`Primacy::step`] asks whether the tenure still
//! lasts and answers with a [`Step`]; the change is made while the step lives, which should be
//! short. A hand-over ends the old tenure, waits for the steps that live, and only then tells the
//! new primary. So from the moment that a client hears that it is primary, nothing of an earlier
//! one comes in force any more, whatever it had begun.
//!
//! All that is decided under the lock of the roles is decided at once; between such decisions code
//! waits only at the gate and for the turn of the arbiter. Tests may therefore play every order of
//! events by choosing who goes on at these places.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use p4runtime::p4::v1;
use tokio::sync::{OwnedRwLockReadGuard, RwLock, watch};
use tonic::Status;

use super::limits::Limits;
use super::outbox::Outbox;
use super::roles::{Outcome, Permissions, Roles, StreamId, Tenure};

/// See the module's documentation.
pub struct Primacy {
    roles: Mutex<Roles>,
    /// Steps hold it shared; a hand-over takes it alone.
    gate: Arc<RwLock<()>>,
    /// Only one hand-over at a time.
    arbiter: tokio::sync::Mutex<()>,
    /// Rings when a tenure may have ended.
    ended: watch::Sender<()>,
}

/// Leave to change the device now: while it lives, no other client is told that it is primary.
pub struct Step {
    permissions: Option<Permissions>,
    _gate: OwnedRwLockReadGuard<()>,
}

impl Step {
    /// What the client's role may do; `None` is everything.
    #[must_use]
    pub const fn permissions(&self) -> Option<&Permissions> {
        self.permissions.as_ref()
    }
}

fn lost() -> Status {
    Status::permission_denied(
        "the client ceased to be primary before the change was made; nothing was changed",
    )
}

impl Primacy {
    /// Of a device nobody has asked for yet.
    #[must_use]
    pub fn new(device: u64) -> Self {
        Self {
            roles: Mutex::new(Roles::new(device)),
            gate: Arc::new(RwLock::new(())),
            arbiter: tokio::sync::Mutex::new(()),
            ended: watch::Sender::new(()),
        }
    }

    /// The roles.
    pub fn roles(&self) -> MutexGuard<'_, Roles> {
        self.roles.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The tenure of the client that gives this election id.
    ///
    /// # Errors
    /// NOT_FOUND for an unknown role, PERMISSION_DENIED for who is not its primary (P4Runtime 1.5,
    /// chapter 12).
    pub fn admit(&self, role: &str, election: Option<&v1::Uint128>) -> Result<Tenure, Status> {
        let roles = self.roles();
        if !roles.knows(role) {
            return Err(Status::not_found(format!("there is no role `{role}`")));
        }
        roles.tenure(role, election).ok_or_else(|| {
            Status::permission_denied(
                "the election id is not that of a connected primary; arbitrate on a stream first",
            )
        })
    }

    /// Leave to change the device, if the tenure lasts. Waits while a hand-over is under way.
    ///
    /// # Errors
    /// PERMISSION_DENIED if it has ended.
    pub async fn step(&self, tenure: &Tenure) -> Result<Step, Status> {
        let gate = Arc::clone(&self.gate).read_owned().await;
        let roles = self.roles();
        if !roles.lasts(tenure) {
            return Err(lost());
        }
        Ok(Step {
            permissions: roles.permissions(tenure.role()),
            _gate: gate,
        })
    }

    /// Returns when a tenure has ended, with the status to tell.
    pub async fn end_of(&self, tenure: &Tenure) -> Status {
        let mut ended = self.ended.subscribe();
        // The sender is ours, so waiting cannot fail.
        while self.roles().lasts(tenure) && ended.changed().await.is_ok() {}
        lost()
    }

    /// Takes a client's arbitration update and, if the client becomes primary by it, hands over
    /// (section 5.3).
    ///
    /// # Errors
    /// The status that ends the stream (P4Runtime 1.5, section 5.3).
    pub async fn arbitrate(
        &self,
        stream: StreamId,
        update: &v1::MasterArbitrationUpdate,
        known: Option<&str>,
        outbox: &Outbox,
        limits: &Limits,
    ) -> Result<(), Status> {
        let _turn = self.arbiter.lock().await;
        let name = update.role.as_ref().map_or("", |r| r.name.as_str());
        let elected = {
            let mut roles = self.roles();
            let outcome = roles.arbitrate(stream, update, known, outbox, limits)?;
            match outcome {
                Outcome::Primary(config, permissions) => {
                    roles.dethrone(name, stream, config);
                    Some(permissions)
                }
                Outcome::Backup => None,
            }
        };
        self.ended.send_replace(());
        if let Some(permissions) = elected {
            let _alone = self.gate.write().await;
            self.roles().enthrone(name, stream, permissions);
        }
        Ok(())
    }

    /// A client has gone.
    pub async fn leave(&self, role: &str, stream: StreamId) {
        // A hand-over in progress ends first.
        let _turn = self.arbiter.lock().await;
        self.roles().leave(role, stream);
        self.ended.send_replace(());
    }
}
