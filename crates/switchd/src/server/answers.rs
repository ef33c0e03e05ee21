//! The way of a read's answer to its client: encoded where it is gathered, so that what waits is
//! counted in bytes and as small as it can be.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures::task::AtomicWaker;
use prost::bytes::Bytes;
use tokio_stream::Stream;
use tonic::Status;

use super::limits::Permit;

/// Bytes of an answer that wait for the client before its read waits too.
const WINDOW: usize = 256 << 10;

/// What became of a part of an answer.
pub enum Offer {
    /// It is on its way.
    Accepted,
    /// There was no room in time.
    Full(Bytes),
    /// Nobody wants it any more: the client has gone, or the read was ended.
    Unwanted,
}

struct State {
    /// Those beyond the window hold their bytes of the memory for answers.
    parts: VecDeque<(Bytes, Option<Permit>)>,
    bytes: usize,
    end: Option<Status>,
    /// Nothing comes any more.
    complete: bool,
    /// The client has gone.
    gone: bool,
    /// When the client last took something, or something came while nothing waited.
    progress: Instant,
}

/// An answer on its way.
pub struct Answer {
    state: Mutex<State>,
    room: Condvar,
    ready: AtomicWaker,
}

impl Answer {
    /// Nothing of it is there yet.
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State {
                parts: VecDeque::new(),
                bytes: 0,
                end: None,
                complete: false,
                gone: false,
                progress: Instant::now(),
            }),
            room: Condvar::new(),
            ready: AtomicWaker::new(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands over a part, and waits for room for it so long.
    pub fn offer(&self, part: Bytes, wait: Duration) -> Offer {
        let deadline = Instant::now() + wait;
        let mut state = self.lock();
        loop {
            if state.gone || state.complete {
                return Offer::Unwanted;
            }
            if state.bytes < WINDOW {
                break;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Offer::Full(part);
            }
            state = self
                .room
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        self.add(state, part, None);
        Offer::Accepted
    }

    /// Hands over a part for which there is no room but in the memory for answers.
    pub fn keep(&self, part: Bytes, memory: Permit) -> Offer {
        let state = self.lock();
        if state.gone || state.complete {
            return Offer::Unwanted;
        }
        self.add(state, part, Some(memory));
        Offer::Accepted
    }

    fn add(&self, mut state: MutexGuard<'_, State>, part: Bytes, memory: Option<Permit>) {
        if state.parts.is_empty() {
            state.progress = Instant::now();
        }
        state.bytes += part.len();
        state.parts.push_back((part, memory));
        drop(state);
        self.ready.wake();
    }

    /// Whether somebody still wants it.
    pub fn wanted(&self) -> bool {
        let state = self.lock();
        !state.gone && !state.complete
    }

    /// Says that all was handed over, or why the rest was not.
    pub fn finish(&self, end: Option<Status>) {
        let mut state = self.lock();
        if !state.complete {
            state.complete = true;
            state.end = end;
        }
        drop(state);
        self.ready.wake();
    }

    /// Ends it where it is: what waits is dropped.
    pub fn cut(&self, why: Status) {
        let mut state = self.lock();
        state.complete = true;
        state.end = Some(why);
        state.parts.clear();
        state.bytes = 0;
        drop(state);
        self.room.notify_one();
        self.ready.wake();
    }

    /// How long something has waited for the client, which took nothing meanwhile.
    pub fn stalled(&self) -> Duration {
        let state = self.lock();
        match state.parts.is_empty() {
            true => Duration::ZERO,
            false => state.progress.elapsed(),
        }
    }

    /// Whether nothing comes any more but what waits.
    pub fn complete(&self) -> bool {
        self.lock().complete
    }

    /// How long the client has taken nothing, not even the end.
    pub fn abandoned(&self) -> Duration {
        let state = self.lock();
        match state.complete {
            true => state.progress.elapsed(),
            false => Duration::ZERO,
        }
    }
}

/// The client's end of an [`Answer`]; dropping it says that the client has gone.
pub struct Parts(pub Arc<Answer>);

impl Stream for Parts {
    type Item = Result<Bytes, Status>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.ready.register(context.waker());
        let mut state = self.0.lock();
        let Some((part, _)) = state.parts.pop_front() else {
            if !state.complete {
                return Poll::Pending;
            }
            return Poll::Ready(state.end.take().map(Err));
        };
        state.bytes -= part.len();
        state.progress = Instant::now();
        drop(state);
        self.0.room.notify_one();
        Poll::Ready(Some(Ok(part)))
    }
}

impl Drop for Parts {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.gone = true;
        state.parts.clear();
        drop(state);
        self.0.room.notify_one();
    }
}

/// Codecs of calls whose messages are not simply those of the proto.
pub mod codec {
    use std::marker::PhantomData;

    use p4runtime::p4::v1;
    use prost::Message;
    use prost::bytes::{Buf, BufMut as _, Bytes};
    use prost::encoding::{DecodeContext, WireType, decode_key, skip_field};
    use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};

    use super::super::encoded::EncodedWrite;
    use super::Status;

    /// A request with a list that has a limit: a message of a few bytes per element takes hundreds
    /// of bytes of memory each.
    pub trait Listed: Message + Default {
        /// The number of the list's field.
        const FIELD: u32;
        /// What its elements are.
        const WHAT: &'static str;
    }

    impl Listed for EncodedWrite {
        const FIELD: u32 = 4;
        const WHAT: &'static str = "updates in a Write";
    }

    impl Listed for v1::ReadRequest {
        const FIELD: u32 = 2;
        const WHAT: &'static str = "entities in a Read";
    }

    /// Decodes requests whose list is not too long.
    pub struct Counted<T> {
        most: usize,
        kind: PhantomData<fn() -> T>,
    }

    impl<T: Listed> Counted<T> {
        fn check(&self, bytes: &mut impl Buf) -> Result<(), Status> {
            let broken = |e: prost::DecodeError| Status::internal(e.to_string());
            let mut count = 0;
            while bytes.has_remaining() {
                let (field, wire) = decode_key(bytes).map_err(broken)?;
                count += usize::from(field == T::FIELD && wire == WireType::LengthDelimited);
                if count > self.most {
                    let (what, most) = (T::WHAT, self.most);
                    return Err(Status::resource_exhausted(format!(
                        "more than {most} {what}: make several calls"
                    )));
                }
                skip_field(wire, field, bytes, DecodeContext::default()).map_err(broken)?;
            }
            Ok(())
        }
    }

    impl<T: Listed> Decoder for Counted<T> {
        type Item = T;
        type Error = Status;

        fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<T>, Status> {
            let bytes = buffer.copy_to_bytes(buffer.remaining());
            self.check(&mut bytes.as_ref())?;
            let decoded = T::decode(bytes).map_err(|e| Status::internal(e.to_string()))?;
            Ok(Some(decoded))
        }
    }

    /// Encodes what is encoded already.
    pub struct Encoded;

    impl Encoder for Encoded {
        type Item = Bytes;
        type Error = Status;

        fn encode(&mut self, item: Bytes, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
            buffer.put(item);
            Ok(())
        }
    }

    /// The codec of a call with such a request, whose answers are encoded already.
    pub struct ListCodec<T> {
        /// The most elements.
        pub most: usize,
        kind: PhantomData<fn() -> T>,
    }

    impl<T> ListCodec<T> {
        /// With so many elements at most.
        pub const fn new(most: usize) -> Self {
            Self {
                most,
                kind: PhantomData,
            }
        }
    }

    impl<T: Listed + Send + 'static> Codec for ListCodec<T> {
        type Encode = Bytes;
        type Decode = T;
        type Encoder = Encoded;
        type Decoder = Counted<T>;

        fn encoder(&mut self) -> Encoded {
            Encoded
        }

        fn decoder(&mut self) -> Counted<T> {
            Counted {
                most: self.most,
                kind: PhantomData,
            }
        }
    }
}
