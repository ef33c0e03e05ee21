//! The P4Runtime service on the wire: which call goes where, and how large its messages may be.
//! Reads and writes have codecs of their own: their lists have limits, and answers to reads are
//! encoded where they are gathered.

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use p4runtime::p4::v1;
use p4runtime::p4::v1::p4_runtime_server::{P4RuntimeServer, SERVICE_NAME};
use prost::bytes::Bytes;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::http::{Request, Response};
use tonic::codegen::{BoxFuture, Service as TowerService};
use tonic::server::{Grpc, NamedService, ServerStreamingService, UnaryService};

use super::MAX_MESSAGE;
use super::answers::codec::ListCodec;
use super::encoded::EncodedWrite;
use super::limits::{MAX_CALL, MAX_SMALL};
use super::reads::AnswerStream;
use super::service::Service;

/// See the module's documentation.
#[derive(Clone)]
pub struct Calls {
    service: Arc<Service>,
    configs: P4RuntimeServer<Service>,
    others: P4RuntimeServer<Service>,
}

impl Calls {
    /// The calls of a service.
    #[must_use]
    pub fn new(service: Service) -> Self {
        let service = Arc::new(service);
        let server = |most| {
            P4RuntimeServer::from_arc(Arc::clone(&service))
                .max_decoding_message_size(most)
                .max_encoding_message_size(usize::MAX)
        };
        Self {
            configs: server(MAX_MESSAGE),
            others: server(MAX_SMALL),
            service,
        }
    }
}

impl NamedService for Calls {
    const NAME: &'static str = SERVICE_NAME;
}

struct Read(Arc<Service>);

impl ServerStreamingService<v1::ReadRequest> for Read {
    type Response = Bytes;
    type ResponseStream = AnswerStream;
    type Future = BoxFuture<tonic::Response<AnswerStream>, Status>;

    fn call(&mut self, request: tonic::Request<v1::ReadRequest>) -> Self::Future {
        let service = Arc::clone(&self.0);
        Box::pin(async move { service.start_read(request).await })
    }
}

struct Write(Arc<Service>);

impl UnaryService<EncodedWrite> for Write {
    type Response = Bytes;
    type Future = BoxFuture<tonic::Response<Bytes>, Status>;

    fn call(&mut self, request: tonic::Request<EncodedWrite>) -> Self::Future {
        let service = Arc::clone(&self.0);
        Box::pin(async move {
            service.make_write(request.into_inner()).await?;
            // A WriteResponse has no fields.
            Ok(tonic::Response::new(Bytes::new()))
        })
    }
}

impl TowerService<Request<Body>> for Calls {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Response<Body>, Infallible>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let service = Arc::clone(&self.service);
        let limits = service.limits();
        match request.uri().path() {
            "/p4.v1.P4Runtime/Read" => Box::pin(async move {
                let mut grpc = Grpc::new(ListCodec::<v1::ReadRequest>::new(limits.entities))
                    .max_decoding_message_size(MAX_SMALL);
                Ok(grpc.server_streaming(Read(service), request).await)
            }),
            "/p4.v1.P4Runtime/Write" => Box::pin(async move {
                let mut grpc = Grpc::new(ListCodec::<EncodedWrite>::new(limits.updates))
                    .max_decoding_message_size(MAX_CALL);
                Ok(grpc.unary(Write(service), request).await)
            }),
            "/p4.v1.P4Runtime/SetForwardingPipelineConfig" => self.configs.call(request),
            _ => self.others.call(request),
        }
    }
}
