//! The server as a process: state on disk, certificates, health, reflection, what does not start.

use std::io::Write as _;

use p4runtime::p4::v1;
use p4runtime::p4::v1::entity::Entity;
use p4runtime::p4::v1::p4_runtime_client::P4RuntimeClient;
use p4runtime::p4::v1::update::Type;
use p4runtime::p4::v1::write_request::Atomicity;
use switchd::engine::io::MemoryIo;
use switchd::engine::{Engine, EngineConfig};
use switchd::server::{Server, ServerConfig, ServerError, Tls};
use tonic::Code;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Identity};
use units::PortId;

use crate::support::{Client, Rig, WAIT, delete, exact, insert, lpm, update};

fn kept(dir: &std::path::Path) -> ServerConfig {
    ServerConfig {
        state_dir: Some(dir.to_owned()),
        ..ServerConfig::new(([127, 0, 0, 1], 0).into())
    }
}

async fn fill(rig: &Rig, client: &mut Client) {
    let member = Entity::ActionProfileMember(v1::ActionProfileMember {
        action_profile_id: rig.profile("shared"),
        member_id: 3,
        action: Some(rig.call("send", &[&[1]])),
    });
    let mut noted = rig.entry("exact_one", vec![exact(1, &[9])], 0, "send", &[&[4]]);
    noted.metadata = b"note".as_slice().into();
    client
        .write(vec![update(Type::Insert, member), insert(noted)])
        .await
        .unwrap();
    let begun = rig.entry("begun", vec![exact(1, &[201])], 0, "send", &[&[2]]);
    client.write(vec![delete(begun)]).await.unwrap();
    let good = insert(rig.entry("routes", vec![lpm(1, &[10, 0, 0, 0], 8)], 0, "drop", &[]));
    let bad = insert(rig.entry("routes", vec![lpm(1, &[11, 0, 0, 0], 80)], 0, "drop", &[]));
    client
        .write(vec![good.clone(), bad.clone()])
        .await
        .unwrap_err();
    client
        .write_as(
            vec![insert(rig.entry("routes", vec![], 0, "drop", &[])), bad],
            Atomicity::RollbackOnError,
        )
        .await
        .unwrap_err();
}

async fn everything(client: &mut Client) -> Vec<Entity> {
    let all = vec![
        Entity::TableEntry(v1::TableEntry::default()),
        Entity::TableEntry(v1::TableEntry {
            is_default_action: true,
            ..Default::default()
        }),
        Entity::ActionProfileMember(v1::ActionProfileMember::default()),
    ];
    client.read(all).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn state_survives_a_killed_switch_and_a_stopped_one() {
    let dir = tempfile::tempdir().unwrap();
    let rig = Rig::start_as(kept(dir.path())).await;
    let mut client = rig.ready().await;
    fill(&rig, &mut client).await;
    let before = everything(&mut client).await;
    // A killed process leaves the file as it is, the last record perhaps cut short.
    let file = dir.path().join("state");
    let image = std::fs::read(&file).unwrap();
    for cut in [0, 1, 7] {
        let copy = tempfile::tempdir().unwrap();
        let mut torn = std::fs::File::create(copy.path().join("state")).unwrap();
        torn.write_all(&image).unwrap();
        torn.write_all(&[64, 0, 0, 0, 1, 2, 3][..cut]).unwrap();
        let again = Rig::start_as(kept(copy.path())).await;
        let mut client = again.client(Some(1), "").await;
        assert_eq!(
            everything(&mut client).await,
            before,
            "{cut} bytes of another record"
        );
        again.wires.send(PortId::new(1), &[0, 0, 0, 0, 9, 0, 0]);
        assert_eq!(again.wires.receive(WAIT).unwrap().0, PortId::new(4));
        // What comes after is kept too, and so is what a graceful stop writes.
        let late = insert(again.entry("routes", vec![lpm(1, &[12, 0, 0, 0], 8)], 0, "drop", &[]));
        client.write(vec![late]).await.unwrap();
        let later = everything(&mut client).await;
        drop(client);
        let Rig { server, engine, .. } = again;
        server.stop().await;
        engine.stop();
        let third = Rig::start_as(kept(copy.path())).await;
        let mut client = third.client(Some(1), "").await;
        assert_eq!(everything(&mut client).await.len(), later.len());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn at_whatever_byte_the_file_ends_no_half_batch_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    let rig = Rig::start_as(kept(dir.path())).await;
    let mut client = rig.ready().await;
    let file = dir.path().join("state");
    let snapshot = std::fs::metadata(&file).unwrap().len() as usize;
    for batch in 0..4u8 {
        let entry =
            |to: u8| insert(rig.entry("exact_one", vec![exact(1, &[batch, to])], 0, "drop", &[]));
        client.write((0..5).map(entry).collect()).await.unwrap();
    }
    let image = std::fs::read(&file).unwrap();
    for end in (snapshot..image.len()).step_by(37) {
        let copy = tempfile::tempdir().unwrap();
        std::fs::write(copy.path().join("state"), &image[..end]).unwrap();
        let again = Rig::start_as(kept(copy.path())).await;
        let mut client = again.client(Some(1), "").await;
        let filter = v1::TableEntry {
            table_id: rig.table("exact_one"),
            ..Default::default()
        };
        assert_eq!(client.entries(filter).await.len() % 5, 0, "cut at {end}");
    }
    // A snapshot is never cut, for it is renamed when it is whole; a file that is says so.
    std::fs::write(&file, &image[..snapshot / 2]).unwrap();
    let (io, _wires) = MemoryIo::new();
    let (engine, notifications) = Engine::start(&EngineConfig::default(), io).unwrap();
    let started = Server::start(kept(dir.path()), engine.handle().clone(), notifications).await;
    assert!(matches!(started, Err(ServerError::Store(_))));
}

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
    assert!(
        list.service.iter().any(|s| s.name == "p4.v1.P4Runtime"),
        "{list:?}"
    );
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
