//! Around all services: how many calls are in progress, and how many bytes of requests.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use http_body::{Frame, SizeHint};
use prost::bytes::Bytes;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::http::{Request, Response};
use tonic::codegen::{BoxFuture, Service};
use tower::Layer;

use super::connections::Client;
use super::limits::{Limits, Permit, Places};

/// Wraps services in a [`Guard`].
#[derive(Clone)]
pub struct GuardLayer {
    limits: Limits,
    calls: Arc<Places>,
    requests: Arc<Places>,
}

impl GuardLayer {
    /// Nothing is in progress yet.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            calls: Places::new(limits.calls),
            requests: Places::new(limits.requests),
        }
    }
}

impl<S> Layer<S> for GuardLayer {
    type Service = Guard<S>;

    fn layer(&self, inner: S) -> Guard<S> {
        Guard {
            inner,
            layer: self.clone(),
        }
    }
}

/// Calls that take one message after the other.
const STREAMS: [&str; 2] = ["/p4.v1.P4Runtime/StreamChannel", "/gnmi.gNMI/Subscribe"];

/// See the module's documentation.
#[derive(Clone)]
pub struct Guard<S> {
    inner: S,
    layer: GuardLayer,
}

/// What an answer holds until the client has taken it; a service puts it among the answer's
/// extensions.
#[derive(Clone, Debug)]
pub struct Holds(pub Arc<Permit>);

impl<S> Service<Request<Body>> for Guard<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible>,
    S::Future: Send + 'static,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Response<Body>, Infallible>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let GuardLayer {
            limits,
            calls,
            requests,
        } = &self.layer;
        let Some(place) = calls.take(1) else {
            let most = calls.most();
            let status =
                Status::resource_exhausted(format!("{most} calls are in progress; try again"));
            return Box::pin(async move { Ok(status.into_http()) });
        };
        let client = Client::of(request.extensions()).unwrap_or_else(|| Client::new(0, limits));
        let received = Received::new(&client.requests, requests);
        let (parts, body) = request.into_parts();
        let streaming = STREAMS.contains(&parts.uri.path());
        let metered = Body::new(Metered {
            inner: body,
            received: Arc::clone(&received),
            frames: Frames::default(),
            streaming,
        });
        let answer = self.inner.call(Request::from_parts(parts, metered));
        Box::pin(async move {
            let mut answer = answer.await?;
            // What was asked is worked off; a stream goes on and keeps count itself.
            drop(received);
            let holds = answer.extensions_mut().remove::<Holds>();
            Ok(answer.map(|inner| {
                Body::new(Held {
                    inner,
                    _holds: (place, holds),
                })
            }))
        })
    }
}

/// Bytes of a request that count against a client and all clients.
struct Received(Mutex<Option<(Permit, Permit)>>);

impl Received {
    fn new(client: &Arc<Places>, all: &Arc<Places>) -> Arc<Self> {
        Arc::new(Self(Mutex::new(client.take(0).zip(all.take(0)))))
    }

    /// Counts more, after all but `left` of those before were worked off; whether there was room.
    fn add(&self, left: Option<usize>, bytes: usize) -> bool {
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        places.as_mut().is_some_and(|(client, all)| {
            if let Some(left) = left {
                client.keep(left);
                all.keep(left);
            }
            client.more(bytes) && all.more(bytes)
        })
    }
}

/// Where the messages of a body end: each begins with a flag and its length in four bytes (gRPC
/// over HTTP/2).
#[derive(Default)]
struct Frames {
    head: [u8; 5],
    /// Bytes of the head that were seen.
    seen: usize,
    /// Bytes of the message that are missing.
    missing: usize,
    /// Bytes of the message that has begun.
    begun: usize,
}

impl Frames {
    fn take(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.seen < self.head.len() {
                let count = bytes.len().min(self.head.len() - self.seen);
                self.head[self.seen..self.seen + count].copy_from_slice(&bytes[..count]);
                self.seen += count;
                self.begun += count;
                bytes = &bytes[count..];
                let [_, a, b, c, d] = self.head;
                self.missing = u32::from_be_bytes([a, b, c, d]) as usize;
            } else {
                let count = bytes.len().min(self.missing);
                self.missing -= count;
                self.begun += count;
                bytes = &bytes[count..];
            }
            if self.seen == self.head.len() && self.missing == 0 {
                (self.seen, self.begun) = (0, 0);
            }
        }
    }
}

/// The body of a request, counted.
struct Metered {
    inner: Body,
    received: Arc<Received>,
    frames: Frames,
    /// Whether messages come one after the other: whoever asks for more has worked off those
    /// before.
    streaming: bool,
}

impl http_body::Body for Metered {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let frame = ready!(Pin::new(&mut self.inner).poll_frame(context));
        if let Some(Ok(frame)) = &frame
            && let Some(data) = frame.data_ref()
        {
            let left = self.streaming.then_some(self.frames.begun);
            if !self.received.add(left, data.len()) {
                return Poll::Ready(Some(Err(Status::resource_exhausted(
                    "too many bytes of requests are in progress; send smaller ones, or fewer at once",
                ))));
            }
            self.frames.take(data);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// The body of an answer, with what it holds.
struct Held {
    inner: Body,
    _holds: (Permit, Option<Holds>),
}

impl http_body::Body for Held {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        Pin::new(&mut self.inner).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_end_where_their_heads_say() {
        let mut body = vec![0, 0, 0, 0, 3, 1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 9];
        let mut frames = Frames::default();
        let mut begun = Vec::new();
        for byte in &body {
            frames.take(&[*byte]);
            begun.push(frames.begun);
        }
        let expected = [1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 5, 6];
        assert_eq!(begun, expected);
        body.push(9);
        let mut whole = Frames::default();
        whole.take(&body);
        assert_eq!(whole.begun, 0);
    }
}
