//! A switch with ports that are UDP sockets, and a client of its gNMI.

use std::collections::BTreeMap;
use std::net::UdpSocket;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gnmi::proto::g_nmi_client::GNmiClient;
use gnmi::proto::subscribe_request::Request as Asked;
use gnmi::proto::subscribe_response::Response as Answer;
use gnmi::proto::subscription_list::Mode;
use gnmi::proto::typed_value::Value;
use gnmi::proto::{
    GetRequest, Notification, Path, PathElem, SubscribeRequest, SubscribeResponse, Subscription,
    SubscriptionList, SubscriptionMode, TypedValue, Update,
};
use p4front::source::SourceMap;
use quantities::PortId;
use switchd::engine::{Engine, EngineConfig};
use switchd::ports::{PortBinding, PortOptions, Ports};
use switchd::server::{Server, ServerConfig};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Channel;
use tonic::{Status, Streaming};

pub const WAIT: Duration = Duration::from_secs(20);

/// What comes in at 1 leaves by 2 and the other way round.
const PROGRAM: &str = r"
#include <core.p4>
#include <v1model.p4>
struct H { }
struct M { }
parser P(packet_in b, out H h, inout M m, inout standard_metadata_t s) { state start { transition accept; } }
control V(inout H h, inout M m) { apply { } }
control I(inout H h, inout M m, inout standard_metadata_t s) { apply { s.egress_spec = s.ingress_port ^ 3; } }
control E(inout H h, inout M m, inout standard_metadata_t s) { apply { } }
control D(packet_out b, in H h) { apply { } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
";

pub struct Rig {
    pub engine: Engine,
    pub ports: Arc<Mutex<Ports>>,
    pub server: Server,
    /// The other ends of ports 1 and 2.
    pub ends: Vec<UdpSocket>,
}

/// A UDP socket and the text that makes a port talk to it.
pub fn udp_end(number: u16) -> (UdpSocket, String) {
    let end = UdpSocket::bind("127.0.0.1:0").unwrap();
    end.set_read_timeout(Some(WAIT)).unwrap();
    let port = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = port.local_addr().unwrap();
    end.connect(port).unwrap();
    let text = format!("{number}=udp:{port}->{}", end.local_addr().unwrap());
    (end, text)
}

pub fn config() -> ServerConfig {
    ServerConfig::new(([127, 0, 0, 1], 0).into())
}

impl Rig {
    pub async fn start() -> Self {
        Self::start_as(config()).await
    }

    pub async fn start_as(config: ServerConfig) -> Self {
        let (ends, texts): (Vec<_>, Vec<_>) = [1, 2].map(udp_end).into_iter().unzip();
        Self::serve(config, &texts, ends).await
    }

    pub async fn serve(mut config: ServerConfig, texts: &[String], ends: Vec<UdpSocket>) -> Self {
        let bindings: Vec<PortBinding> = texts.iter().map(|t| t.parse().unwrap()).collect();
        let (mut ports, set) = Ports::open(&bindings, PortOptions::default()).unwrap();
        let engine = EngineConfig {
            ports: ports.numbers(),
            cpu_port: Some(PortId::new(255)),
            ..EngineConfig::default()
        };
        let (engine, notifications) = Engine::start(&engine, set).unwrap();
        let mut map = SourceMap::new();
        let main = map.add("test.p4", PROGRAM).unwrap();
        let compiled = p4front::compile(&mut map, main, &p4front::Options::default()).unwrap();
        let executor = engine.handle().build(Arc::new(compiled.ir)).unwrap();
        engine.handle().replace(executor).unwrap();
        ports.attach(engine.handle()).unwrap();
        let ports = Arc::new(Mutex::new(ports));
        config.ports = Some(Arc::clone(&ports));
        let server = Server::start(config, engine.handle().clone(), notifications);
        Self {
            server: server.await.unwrap(),
            engine,
            ports,
            ends,
        }
    }

    pub async fn client(&self) -> GNmiClient<Channel> {
        let address = format!("http://{}", self.server.address());
        let channel = Channel::from_shared(address).unwrap();
        GNmiClient::new(channel.connect().await.unwrap())
    }

    /// Sends a frame from the end of port 1, and waits until it has come out of port 2.
    pub fn carry(&self, frame: &[u8]) {
        self.ends[0].send(frame).unwrap();
        let mut buffer = [0; 2048];
        let length = self.ends[1].recv(&mut buffer).unwrap();
        assert_eq!(&buffer[..length], frame);
    }

    /// The link of a port comes up or goes down.
    pub fn link(&self, port: u16, up: bool) {
        self.engine
            .handle()
            .set_port_up(PortId::new(port), up)
            .unwrap();
    }
}

/// A path from its text: `a/b[name=1]/c`; `/` for the root.
pub fn path(text: &str) -> Path {
    let element = |text: &str| {
        let (name, keys) = text.split_once('[').unwrap_or((text, ""));
        let key = keys.split(['[', ']']).filter(|key| !key.is_empty());
        let key = key.map(|key| key.split_once('=').unwrap());
        PathElem {
            name: name.to_owned(),
            key: key.map(|(k, v)| (k.to_owned(), v.to_owned())).collect(),
        }
    };
    let elements = text.split('/').filter(|text| !text.is_empty());
    Path {
        elem: elements.map(element).collect(),
        ..Path::default()
    }
}

pub fn text(path: &Path) -> String {
    let mut text = String::new();
    for element in &path.elem {
        text.push('/');
        text.push_str(&element.name);
        for (key, value) in &element.key {
            text.push_str(&format!("[{key}={value}]"));
        }
    }
    text
}

pub fn get(paths: &[&str], encoding: gnmi::proto::Encoding) -> GetRequest {
    GetRequest {
        path: paths.iter().map(|text| path(text)).collect(),
        encoding: encoding.into(),
        ..GetRequest::default()
    }
}

/// A value as text.
pub fn shown(value: &TypedValue) -> String {
    match value.value.as_ref().unwrap() {
        Value::StringVal(text) => text.clone(),
        Value::UintVal(number) => number.to_string(),
        Value::BoolVal(flag) => flag.to_string(),
        Value::JsonVal(text) | Value::JsonIetfVal(text) => String::from_utf8(text.clone()).unwrap(),
        other => panic!("{other:?}"),
    }
}

fn update(update: &Update) -> (String, String) {
    let path = update.path.as_ref().unwrap();
    (text(path), shown(update.val.as_ref().unwrap()))
}

/// Values by path.
pub fn values<'a>(
    notifications: impl IntoIterator<Item = &'a Notification>,
) -> BTreeMap<String, String> {
    let notifications = notifications.into_iter();
    notifications
        .flat_map(|n| n.update.iter().map(update))
        .collect()
}

pub fn subscription(text: &str, mode: SubscriptionMode) -> Subscription {
    Subscription {
        path: Some(path(text)),
        mode: mode.into(),
        ..Subscription::default()
    }
}

pub fn list(mode: Mode, subscription: Vec<Subscription>) -> SubscriptionList {
    SubscriptionList {
        mode: mode.into(),
        subscription,
        encoding: gnmi::proto::Encoding::Proto.into(),
        ..SubscriptionList::default()
    }
}

pub fn asked(asked: Asked) -> SubscribeRequest {
    SubscribeRequest {
        request: Some(asked),
        extension: Vec::new(),
    }
}

/// A Subscribe call.
pub struct Call {
    pub says: mpsc::Sender<SubscribeRequest>,
    hears: Streaming<SubscribeResponse>,
}

impl Call {
    pub async fn silent(client: &mut GNmiClient<Channel>) -> Result<Self, Status> {
        let (says, said) = mpsc::channel(16);
        let hears = client.subscribe(ReceiverStream::new(said)).await?;
        Ok(Self {
            says,
            hears: hears.into_inner(),
        })
    }

    pub async fn open(client: &mut GNmiClient<Channel>, list: SubscriptionList) -> Self {
        let call = Self::silent(client).await.unwrap();
        call.says.send(asked(Asked::Subscribe(list))).await.unwrap();
        call
    }

    /// The next message; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Answer>, Status> {
        let message = tokio::time::timeout(WAIT, self.hears.message()).await;
        let message = message.expect("an answer in time")?;
        Ok(message.map(|message| message.response.unwrap()))
    }

    /// The next notification.
    pub async fn news(&mut self) -> Notification {
        match self.next().await {
            Ok(Some(Answer::Update(notification))) => notification,
            other => panic!("a notification is expected, not {other:?}"),
        }
    }

    /// The values until everything was told once.
    pub async fn synchronized(&mut self) -> BTreeMap<String, String> {
        let mut all = Vec::new();
        loop {
            match self.next().await {
                Ok(Some(Answer::Update(notification))) => all.push(notification),
                Ok(Some(Answer::SyncResponse(true))) => return values(&all),
                other => panic!("{other:?}"),
            }
        }
    }

    /// How the call ends.
    pub async fn end(&mut self) -> Status {
        let end = async {
            loop {
                match self.next().await {
                    Ok(Some(_)) => {}
                    Ok(None) => return Status::ok(""),
                    Err(status) => return status,
                }
            }
        };
        tokio::time::timeout(WAIT, end)
            .await
            .expect("an end in time")
    }
}
