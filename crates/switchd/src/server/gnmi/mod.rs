//! gNMI beside P4Runtime: clients that learn of ports by OpenConfig's `interfaces` (gNMI 0.10).
//!
//! [`models`] names the models, [`schema`] lists the leaves, [`facts`] gathers what is known of the
//! ports, [`path`] and [`value`] read and write messages; [`get`], [`set`], and [`stream`] with its
//! [`watch`]es are the calls.
//!
//! There is no mastership: every client may set `config/enabled`.

mod facts;
mod get;
mod models;
mod path;
mod schema;
mod set;
mod stream;
mod value;
mod watch;

use std::pin::Pin;
use std::sync::{Arc, Mutex};

use ::gnmi::extensions::Extension;
use ::gnmi::proto::g_nmi_server::{GNmi, GNmiServer};
use ::gnmi::proto::{
    CapabilityRequest, CapabilityResponse, GetRequest, GetResponse, ModelData, SetRequest,
    SetResponse, SubscribeRequest, SubscribeResponse,
};
use tokio::sync::watch as channel;
use tonic::{Request, Response, Status, Streaming};

use super::connections::Client;
use super::guard::Holds;
use super::limits::{GnmiLimits, Limits, MAX_SMALL, Places};
use crate::engine::EngineHandle;
use crate::ports::Ports;
use facts::Facts;
use models::Module;
use stream::{Shared, Stream};
use value::Encoding;

/// The service.
pub struct Service {
    shared: Shared,
    streams: Arc<Places>,
    /// Memory for answers that wait for clients.
    answers: Arc<Places>,
    stopping: channel::Receiver<bool>,
}

/// The service as a server has it; `stopping` ends its streams. Without `ports` leaves about lines
/// and interfaces are absent.
#[must_use]
pub fn service(
    engine: EngineHandle,
    ports: Option<Arc<Mutex<Ports>>>,
    limits: Limits,
    stopping: channel::Receiver<bool>,
) -> GNmiServer<Service> {
    let service = Service {
        shared: Shared {
            facts: Facts::new(engine, ports),
            limits,
            values: Places::new(limits.gnmi.values),
            waiting: Places::new(limits.gnmi.waiting),
        },
        streams: Places::new(limits.streams),
        answers: Places::new(limits.gnmi.answers),
        stopping,
    };
    GNmiServer::new(service)
        .max_decoding_message_size(MAX_SMALL)
        .max_encoding_message_size(usize::MAX)
}

/// No extension is served.
fn refuse_extensions(extensions: &[Extension]) -> Result<(), Status> {
    match extensions {
        [] => Ok(()),
        _ => Err(Status::unimplemented(
            "extensions of gNMI are not implemented; leave them out",
        )),
    }
}

fn check_count(what: &str, count: usize, limits: &GnmiLimits) -> Result<(), Status> {
    if count <= limits.paths {
        return Ok(());
    }
    let most = limits.paths;
    Err(Status::resource_exhausted(format!(
        "the request has {count} {what}; {most} may be"
    )))
}

type Answers = Pin<Box<dyn tokio_stream::Stream<Item = Result<SubscribeResponse, Status>> + Send>>;

#[tonic::async_trait]
impl GNmi for Service {
    async fn capabilities(
        &self,
        request: Request<CapabilityRequest>,
    ) -> Result<Response<CapabilityResponse>, Status> {
        refuse_extensions(&request.get_ref().extension)?;
        let model = |module: Module| ModelData {
            name: module.name().to_owned(),
            organization: module.organization().to_owned(),
            version: module.version().to_owned(),
        };
        Ok(Response::new(CapabilityResponse {
            supported_models: Module::ALL.into_iter().map(model).collect(),
            supported_encodings: Encoding::ALL.map(i32::from).to_vec(),
            g_nmi_version: ::gnmi::SERVICE_VERSION.to_owned(),
            extension: Vec::new(),
        }))
    }

    async fn get(&self, request: Request<GetRequest>) -> Result<Response<GetResponse>, Status> {
        let limits = &self.shared.limits.gnmi;
        let none = self.answers.take(0);
        let none = none.ok_or_else(|| Status::internal("nothing cannot be taken"))?;
        let (answer, memory) =
            get::answer(&self.shared.facts, request.into_inner(), limits, none).await?;
        let mut response = Response::new(answer);
        response.extensions_mut().insert(Holds(Arc::new(memory)));
        Ok(response)
    }

    async fn set(&self, request: Request<SetRequest>) -> Result<Response<SetResponse>, Status> {
        let limits = &self.shared.limits.gnmi;
        let answer = set::answer(&self.shared.facts, request.get_ref(), limits)?;
        Ok(Response::new(answer))
    }

    type SubscribeStream = Answers;

    async fn subscribe(
        &self,
        request: Request<Streaming<SubscribeRequest>>,
    ) -> Result<Response<Self::SubscribeStream>, Status> {
        let limits = &self.shared.limits;
        let client = Client::of(request.extensions()).unwrap_or_else(|| Client::new(0, limits));
        let places = client.streams.take(1).zip(self.streams.take(1));
        let places = places.ok_or_else(|| {
            Status::resource_exhausted(format!(
                "there are {} streams of this connection and {} Subscribe calls in all already; {} and {} may be",
                client.streams.taken(),
                self.streams.taken(),
                client.streams.most(),
                self.streams.most()
            ))
        })?;
        let (stream, responses) = Stream::new(self.shared.clone(), places);
        let mut stopping = self.stopping.clone();
        tokio::spawn(stream.serve(request.into_inner(), async move {
            // A sender that is gone stops the server too.
            let _ = stopping.wait_for(|stop| *stop).await;
        }));
        Ok(Response::new(Box::pin(responses)))
    }
}
