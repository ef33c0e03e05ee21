//! The server as a process: certificates, health, reflection, what does not start.

use p4runtime::p4::v1;
use p4runtime::p4::v1::p4_runtime_client::P4RuntimeClient;
use switchd::engine::io::MemoryIo;
use switchd::engine::{Engine, EngineConfig};
use switchd::server::{Server, ServerConfig, ServerError, Tls};
use tonic::Code;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Identity};

use crate::support::Rig;

#[tokio::test(flavor = "multi_thread")]
async fn an_address_in_use_is_named() {
    let rig = Rig::start().await;
    let (io, _wires) = MemoryIo::new();
    let (engine, notifications) = Engine::start(&EngineConfig::default(), io).unwrap();
    let config = ServerConfig::new(rig.server.address());
    let refused = Server::start(config, engine.handle().clone(), notifications).await;
    let text = refused.err().unwrap().to_string();
    assert!(text.contains(&rig.server.address().to_string()), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn certificates_of_both_sides() {
    let key = |name: &str| rcgen::generate_simple_self_signed(vec![name.to_owned()]).unwrap();
    let (server, client, stranger) = (key("localhost"), key("client"), key("client"));
    let mut config = ServerConfig::new(([127, 0, 0, 1], 0).into());
    config.tls = Some(Tls {
        certificate: server.cert.pem(),
        key: server.signing_key.serialize_pem(),
        client_ca: Some(client.cert.pem()),
    });
    let rig = Rig::start_as(config).await;
    let connect = async |identity: Option<&rcgen::CertifiedKey<rcgen::KeyPair>>| {
        let mut tls = ClientTlsConfig::new()
            .domain_name("localhost")
            .ca_certificate(Certificate::from_pem(server.cert.pem()));
        if let Some(own) = identity {
            tls = tls.identity(Identity::from_pem(
                own.cert.pem(),
                own.signing_key.serialize_pem(),
            ));
        }
        let endpoint = Channel::from_shared(format!("https://{}", rig.server.address())).unwrap();
        let channel = endpoint
            .tls_config(tls)
            .unwrap()
            .connect()
            .await
            .map_err(|e| e.to_string())?;
        let mut rpc = P4RuntimeClient::new(channel);
        let answer = rpc.capabilities(v1::CapabilitiesRequest::default()).await;
        answer
            .map(|a| a.into_inner().p4runtime_api_version)
            .map_err(|e| e.to_string())
    };
    assert_eq!(connect(Some(&client)).await.as_deref(), Ok("1.5.0"));
    assert!(connect(None).await.is_err());
    assert!(connect(Some(&stranger)).await.is_err());
    let (io, _wires) = MemoryIo::new();
    let (engine, notifications) = Engine::start(&EngineConfig::default(), io).unwrap();
    let mut config = ServerConfig::new(([127, 0, 0, 1], 0).into());
    config.tls = Some(Tls {
        certificate: "none".to_owned(),
        key: "none".to_owned(),
        client_ca: None,
    });
    let refused = Server::start(config, engine.handle().clone(), notifications).await;
    assert!(matches!(refused, Err(ServerError::Tls(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn health_and_reflection_answer() {
    use tonic_health::pb::HealthCheckRequest;
    use tonic_health::pb::health_client::HealthClient;
    use tonic_reflection::pb::v1::ServerReflectionRequest;
    use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
    use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
    use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;
    let rig = Rig::start().await;
    let endpoint = Channel::from_shared(format!("http://{}", rig.server.address())).unwrap();
    let channel = endpoint.connect().await.unwrap();
    let request = HealthCheckRequest {
        service: "p4.v1.P4Runtime".to_owned(),
    };
    let health = HealthClient::new(channel.clone())
        .check(request)
        .await
        .unwrap();
    assert_eq!(health.into_inner().status, 1);
    let ask = ServerReflectionRequest {
        host: String::new(),
        message_request: Some(MessageRequest::ListServices(String::new())),
    };
    let mut reflection = ServerReflectionClient::new(channel);
    let mut answers = reflection
        .server_reflection_info(tokio_stream::iter([ask]))
        .await
        .unwrap()
        .into_inner();
    let answer = answers
        .message()
        .await
        .unwrap()
        .unwrap()
        .message_response
        .unwrap();
    let MessageResponse::ListServicesResponse(list) = answer else {
        panic!("{answer:?}")
    };
    for name in ["p4.v1.P4Runtime", "gnmi.gNMI"] {
        assert!(list.service.iter().any(|s| s.name == name), "{list:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_graceful_stop_ends_the_streams() {
    let rig = Rig::start().await;
    let mut client = rig.ready().await;
    let Rig { server, engine, .. } = rig;
    server.stop().await;
    assert_eq!(client.hear().await.unwrap_err().code(), Code::Unavailable);
    engine.stop();
}
