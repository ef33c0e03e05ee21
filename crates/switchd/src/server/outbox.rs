//! The way to the client of a stream, which may leave only so many bytes waiting.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use p4runtime::p4::v1;
use prost::Message as _;
use tokio::sync::mpsc;
use tokio_stream::Stream;
use tonic::Status;

use super::limits::{Permit, Places};

/// Messages a client may leave waiting.
const MESSAGES: usize = 8192;

/// Places among them that are kept for arbitration updates and for how the stream ends.
const RESERVE: usize = 64;

/// What a message takes besides its bytes.
const OVERHEAD: usize = 256;

struct Waiting {
    message: Result<v1::StreamMessageResponse, Status>,
    _bytes: Option<(Permit, Permit)>,
}

/// The server's end; clones reach the same client.
#[derive(Clone)]
pub struct Outbox {
    sender: mpsc::Sender<Waiting>,
    own: Arc<Places>,
    all: Arc<Places>,
}

impl Outbox {
    /// Both ends: so many bytes may wait, and no more than there are places for all.
    #[must_use]
    pub fn new(most: usize, all: Arc<Places>) -> (Self, Inbox) {
        let (sender, receiver) = mpsc::channel(MESSAGES);
        let own = Places::new(most);
        (Self { sender, own, all }, Inbox(receiver))
    }

    /// Sends what a slow client may do without: packets, digests, errors. Whether there was room.
    #[must_use]
    pub fn offer(&self, bytes: usize, message: impl FnOnce() -> v1::StreamMessageResponse) -> bool {
        self.sender.capacity() > RESERVE && self.put(bytes, message)
    }

    /// Sends an arbitration update. Whether there was room; a client that takes nothing at all
    /// loses even this.
    pub fn tell(&self, message: v1::StreamMessageResponse) -> bool {
        self.put(message.encoded_len(), || message)
    }

    fn put(&self, bytes: usize, message: impl FnOnce() -> v1::StreamMessageResponse) -> bool {
        let bytes = bytes + OVERHEAD;
        let places = self.own.take(bytes).zip(self.all.take(bytes));
        let Some(places) = places else {
            return false;
        };
        let waiting = Waiting {
            message: Ok(message()),
            _bytes: Some(places),
        };
        self.sender.try_send(waiting).is_ok()
    }

    /// Ends the stream; it does not matter whether the client can still be told.
    pub fn end(&self, why: Status) {
        let _ = self.sender.try_send(Waiting {
            message: Err(why),
            _bytes: None,
        });
    }

    /// Waits until the client has gone.
    pub async fn closed(&self) {
        self.sender.closed().await;
    }
}

/// The client's end.
pub struct Inbox(mpsc::Receiver<Waiting>);

impl Stream for Inbox {
    type Item = Result<v1::StreamMessageResponse, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0
            .poll_recv(context)
            .map(|waiting| waiting.map(|waiting| waiting.message))
    }
}
