//! A Subscribe call in progress: what it sends, and when (gNMI section 3.5).

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::SystemTime;

use ::gnmi::proto::subscribe_request::Request as Asked;
use ::gnmi::proto::subscribe_response::Response as Answer;
use ::gnmi::proto::subscription_list::Mode;
use ::gnmi::proto::{Notification, SubscribeRequest, SubscribeResponse};
use prost::Message as _;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tonic::{Status, Streaming};

use super::facts::{Facts, Wants};
use super::schema::nanoseconds;
use super::watch::{List, News};
use crate::engine::PortEvent;
use crate::server::limits::{Limits, Permit, Places};

/// Values in one message.
const UPDATES: usize = 256;

/// Messages that may wait for a client.
const MESSAGES: usize = 8;

/// What a message takes besides its bytes.
const OVERHEAD: usize = 256;

type Item = (Result<SubscribeResponse, Status>, Option<Permit>);

/// What the client hears, while the call has its places.
pub(super) struct Responses {
    receiver: mpsc::Receiver<Item>,
    _places: (Permit, Permit),
}

impl tokio_stream::Stream for Responses {
    type Item = Result<SubscribeResponse, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let item = self.receiver.poll_recv(context);
        item.map(|item| item.map(|(response, _)| response))
    }
}

/// What a call needs of the service.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) facts: Arc<Facts>,
    pub(super) limits: Limits,
    /// Values that are remembered for all calls.
    pub(super) values: Arc<Places>,
    /// Bytes that wait for the clients of all calls.
    pub(super) waiting: Arc<Places>,
}

/// The call.
pub(super) struct Stream {
    shared: Shared,
    sender: mpsc::Sender<Item>,
    remembered: Option<Permit>,
}

impl Stream {
    pub(super) fn new(shared: Shared, places: (Permit, Permit)) -> (Self, Responses) {
        let (sender, receiver) = mpsc::channel(MESSAGES);
        let stream = Self {
            shared,
            sender,
            remembered: None,
        };
        let responses = Responses {
            receiver,
            _places: places,
        };
        (stream, responses)
    }

    /// Serves the client until the call ends, and sends the status.
    pub(super) async fn serve(
        mut self,
        inbox: Streaming<SubscribeRequest>,
        stopped: impl Future<Output = ()>,
    ) {
        // A place for the status, which a client that takes nothing gets when it reads on.
        let Ok(last) = self.sender.clone().reserve_owned().await else {
            return;
        };
        let sender = self.sender.clone();
        let end = tokio::select! {
            end = self.run(inbox) => end,
            () = sender.closed() => return,
            () = stopped => Err(Status::unavailable("the switch is stopping")),
        };
        if let Err(status) = end {
            last.send((Err(status), None));
        }
    }

    async fn run(&mut self, mut inbox: Streaming<SubscribeRequest>) -> Result<(), Status> {
        let limits = self.shared.limits;
        let first = tokio::time::timeout(limits.arbitration, inbox.message()).await;
        let first = first.map_err(|_| {
            let seconds = limits.arbitration.as_secs();
            Status::deadline_exceeded(format!("no subscription came for {seconds} s"))
        })?;
        let Some(first) = first? else {
            return Err(Status::invalid_argument("the call has no subscription"));
        };
        super::refuse_extensions(&first.extension)?;
        let mut list = match &first.request {
            Some(Asked::Subscribe(list)) => List::read(list, &limits.gnmi)?,
            Some(Asked::Poll(_)) => {
                return Err(Status::invalid_argument(
                    "a poll came before any subscription",
                ));
            }
            None => {
                return Err(Status::invalid_argument(
                    "the first message has no subscription",
                ));
            }
        };
        match list.mode {
            Mode::Once => {
                let silent = list.updates_only;
                self.all(&mut list, silent).await
            }
            Mode::Poll => self.polled(list, inbox).await,
            Mode::Stream => self.streamed(list, inbox).await,
        }
    }

    /// Sends all values once, and that these were all.
    async fn all(&mut self, list: &mut List, silent: bool) -> Result<(), Status> {
        let snapshot = self.shared.facts.snapshot(list.wants()).await?;
        let encoding = list.encoding;
        for number in 0..list.watches.len() {
            let watch = list.watches.get_mut(number);
            let news = watch.map(|watch| watch.all(&snapshot, encoding, silent));
            self.remember(list)?;
            self.report(list, news.unwrap_or_default(), snapshot.time)
                .await?;
        }
        self.send(Answer::SyncResponse(true)).await
    }

    async fn polled(
        &mut self,
        mut list: List,
        mut inbox: Streaming<SubscribeRequest>,
    ) -> Result<(), Status> {
        let silent = list.updates_only;
        self.all(&mut list, silent).await?;
        while let Some(message) = inbox.message().await? {
            super::refuse_extensions(&message.extension)?;
            match message.request {
                Some(Asked::Poll(_)) => self.all(&mut list, false).await?,
                _ => return Err(again()),
            }
        }
        Ok(())
    }

    async fn streamed(
        &mut self,
        mut list: List,
        mut inbox: Streaming<SubscribeRequest>,
    ) -> Result<(), Status> {
        // Before the first snapshot: no change after it is missed.
        let mut events = self.shared.facts.engine.port_events();
        let silent = list.updates_only;
        self.all(&mut list, silent).await?;
        let mut listening = true;
        loop {
            let due = list.due();
            tokio::select! {
                event = events.recv() => self.event(&mut list, event).await?,
                () = sleep_until(due) => self.due(&mut list).await?,
                message = inbox.message(), if listening => match message? {
                    Some(_) => return Err(again()),
                    // The client says no more, and goes on listening.
                    None => listening = false,
                },
            }
        }
    }

    /// Sends what an event changes.
    async fn event(
        &mut self,
        list: &mut List,
        event: Result<PortEvent, RecvError>,
    ) -> Result<(), Status> {
        let encoding = list.encoding;
        match event {
            Ok(PortEvent {
                revision,
                at,
                state: Some(state),
            }) => {
                let port = self.shared.facts.port(state);
                for number in 0..list.watches.len() {
                    let watch = list.watches.get_mut(number);
                    let news = watch.map(|watch| watch.event(&port, revision, encoding));
                    self.report(list, news.unwrap_or_default(), at).await?;
                }
                self.remember(list)
            }
            Ok(_) | Err(RecvError::Lagged(_)) => {
                let snapshot = self.shared.facts.snapshot(list.wants()).await?;
                for number in 0..list.watches.len() {
                    let watch = list.watches.get_mut(number);
                    let news = watch.map(|watch| watch.changes(&snapshot, encoding));
                    self.remember(list)?;
                    self.report(list, news.unwrap_or_default(), snapshot.time)
                        .await?;
                }
                Ok(())
            }
            Err(RecvError::Closed) => Err(Status::unavailable("the data plane has stopped")),
        }
    }

    /// Sends what is due.
    async fn due(&mut self, list: &mut List) -> Result<(), Status> {
        let now = Instant::now();
        let wants = list.watches.iter().filter_map(|watch| watch.due_wants(now));
        let Some(wants) = wants.reduce(Wants::with) else {
            return Ok(());
        };
        let snapshot = self.shared.facts.snapshot(wants).await?;
        let encoding = list.encoding;
        for number in 0..list.watches.len() {
            let Some(watch) = list.watches.get_mut(number) else {
                continue;
            };
            if watch.due_wants(now).is_some() {
                let news = watch.due_news(&snapshot, encoding, now);
                self.remember(list)?;
                self.report(list, news, snapshot.time).await?;
            }
        }
        Ok(())
    }

    /// Takes room for what the watches remember.
    fn remember(&mut self, list: &List) -> Result<(), Status> {
        let values = &self.shared.values;
        let count = list.remembered();
        let none = || values.take(0);
        let Some(mut taken) = self.remembered.take().or_else(none) else {
            return Ok(());
        };
        let missing = count.saturating_sub(taken.count());
        if !taken.more(missing) {
            return Err(Status::resource_exhausted(format!(
                "the subscriptions of all clients remember {} values already; {} may be",
                values.taken(),
                values.most()
            )));
        }
        taken.keep(count);
        self.remembered = Some(taken);
        Ok(())
    }

    /// Sends values, so many in a message.
    async fn report(&self, list: &List, news: News, at: SystemTime) -> Result<(), Status> {
        let timestamp = i64::try_from(nanoseconds(at)).unwrap_or(i64::MAX);
        let notification = || Notification {
            timestamp,
            prefix: list.prefix.clone(),
            ..Notification::default()
        };
        for delete in news.delete.chunks(UPDATES) {
            self.send(Answer::Update(Notification {
                delete: delete.to_vec(),
                ..notification()
            }))
            .await?;
        }
        for update in news.update.chunks(UPDATES) {
            self.send(Answer::Update(Notification {
                update: update.to_vec(),
                ..notification()
            }))
            .await?;
        }
        Ok(())
    }

    /// Sends a message as soon as the client has taken enough of those before.
    async fn send(&self, answer: Answer) -> Result<(), Status> {
        let patience = self.shared.limits.gnmi.patience;
        let waiting = &self.shared.waiting;
        let response = SubscribeResponse {
            response: Some(answer),
            ..SubscribeResponse::default()
        };
        let bytes = response.encoded_len() + OVERHEAD;
        let memory = waiting.take(bytes).ok_or_else(|| {
            Status::resource_exhausted(format!(
                "{} bytes wait for clients that take nothing; {} may be",
                waiting.taken(),
                waiting.most()
            ))
        })?;
        let sent = self
            .sender
            .send_timeout((Ok(response), Some(memory)), patience)
            .await;
        sent.map_err(|_| {
            let seconds = patience.as_secs();
            Status::aborted(format!("the client took nothing for {seconds} s"))
        })
    }
}

fn again() -> Status {
    Status::invalid_argument(
        "a call has one list of subscriptions, and polls only in the mode POLL; make another call",
    )
}

/// Waits until then, or for ever.
async fn sleep_until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}
