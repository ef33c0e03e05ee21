//! A switch with the Thrift services, and a client that speaks Thrift's protocol over loopback.

use std::collections::BTreeSet;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};

use p4runtime::p4::v1::ForwardingPipelineConfig;
use quantities::PortId;
use switchd::engine::{Engine, EngineConfig};
use switchd::ports::{PortOptions, Ports};
use switchd::server::{Server, ServerConfig};
use switchd::thrift::value::{Fields, Reader, Value, write_fields};
use switchd::thrift::{Limits, Subject, ThriftServer};
use thrift::protocol::{
    TBinaryInputProtocol, TBinaryOutputProtocol, TInputProtocol, TMessageIdentifier, TMessageType,
    TOutputProtocol, TType,
};
use thrift::transport::{ReadHalf, TIoChannel, TTcpChannel, WriteHalf};
use tokio::runtime::Runtime;

/// The P4Runtime tests' program, with a hash whose parameters can be set.
pub fn program() -> String {
    let hash = "hash(m.sum, HashAlgorithm.crc16_custom, 16w0, { h.h.to }, 32w65536);";
    include_str!("../p4rt/all.p4").replace("seen.count(", &format!("{hash} seen.count("))
}

/// The program as BMv2's JSON.
pub fn json() -> String {
    let mut map = p4front::source::SourceMap::new();
    let main = map.add("all.p4", &program()).unwrap();
    let compiled = p4front::compile(&mut map, main, &p4front::Options::default());
    bmv2json::write(&compiled.unwrap().ir, "all.p4").unwrap()
}

pub struct Rig {
    pub thrift: Option<ThriftServer>,
    pub server: Option<Server>,
    pub engine: Option<Engine>,
    pub runtime: Runtime,
}

impl Rig {
    pub fn start(limits: Limits, swap: bool) -> Self {
        let runtime = Runtime::new().unwrap();
        let (ports, set) = Ports::open(&[], PortOptions::default()).unwrap();
        let config = EngineConfig {
            ports: (1..=8).map(PortId::new).collect(),
            cpu_port: Some(PortId::new(255)),
            ..EngineConfig::default()
        };
        let (engine, notifications) = Engine::start(&config, set).unwrap();
        let address = ([127, 0, 0, 1], 0).into();
        let config = ServerConfig::new(address);
        let start = Server::start(config, engine.handle().clone(), notifications);
        let server = runtime.block_on(start).unwrap();
        let subject = Subject {
            switch: Arc::clone(server.switch()),
            ports: Arc::new(Mutex::new(ports)),
            engine: engine.handle().clone(),
            device_id: 0,
            swap,
        };
        let listener = TcpListener::bind(address).unwrap();
        let start = async { ThriftServer::start(listener, subject, limits) };
        let thrift = runtime.block_on(start).unwrap();
        Self {
            thrift: Some(thrift),
            server: Some(server),
            engine: Some(engine),
            runtime,
        }
    }

    /// With the program running, from its JSON as from a command line.
    pub fn ready() -> Self {
        let rig = Self::start(Limits::default(), true);
        let config = ForwardingPipelineConfig {
            p4_device_config: json().into_bytes(),
            ..Default::default()
        };
        rig.server.as_ref().unwrap().switch().load(config).unwrap();
        rig
    }

    pub fn address(&self) -> SocketAddr {
        self.thrift.as_ref().unwrap().address()
    }

    pub fn client(&self) -> Client {
        Client::open(self.address())
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        drop(self.thrift.take());
        if let Some(server) = self.server.take() {
            self.runtime.block_on(server.stop());
        }
        if let Some(engine) = self.engine.take() {
            engine.stop();
        }
    }
}

/// How a call failed.
#[derive(Debug, PartialEq)]
pub enum Failure {
    Code(i32),
    Application(String),
}

pub struct Client {
    input: TBinaryInputProtocol<ReadHalf<TTcpChannel>>,
    output: TBinaryOutputProtocol<WriteHalf<TTcpChannel>>,
    /// Service and name of every method that was called.
    pub played: BTreeSet<(String, String)>,
}

impl Client {
    pub fn open(address: SocketAddr) -> Self {
        let mut channel = TTcpChannel::new();
        channel.open(address.to_string()).unwrap();
        let (read, write) = channel.split().unwrap();
        Self {
            input: TBinaryInputProtocol::new(read, true),
            output: TBinaryOutputProtocol::new(write, true),
            played: BTreeSet::new(),
        }
    }

    /// Calls a method with arguments by number.
    pub fn call(
        &mut self,
        service: &str,
        name: &str,
        args: impl IntoIterator<Item = Value>,
    ) -> Result<Option<Value>, Failure> {
        self.played.insert((service.to_owned(), name.to_owned()));
        let head = TMessageIdentifier::new(format!("{service}:{name}"), TMessageType::Call, 7);
        self.output.write_message_begin(&head).unwrap();
        let args = Fields::of((1..).zip(args));
        write_fields(&mut self.output, &args).unwrap();
        self.output.write_message_end().unwrap();
        self.output.flush().unwrap();
        let head = self.input.read_message_begin().unwrap();
        assert_eq!((head.name.as_str(), head.sequence_number), (name, 7));
        let fields = Reader::new(&mut self.input).fields().unwrap();
        self.input.read_message_end().unwrap();
        if head.message_type == TMessageType::Exception {
            return Err(Failure::Application(fields.text(1).unwrap()));
        }
        match fields.given_fields(1) {
            Ok(Some(exception)) => Err(Failure::Code(exception.i32(1).unwrap())),
            _ => Ok(fields.value(0).cloned()),
        }
    }

    /// A method of `Standard`, in context 0.
    pub fn standard(
        &mut self,
        name: &str,
        args: impl IntoIterator<Item = Value>,
    ) -> Result<Option<Value>, Failure> {
        self.call("standard", name, [number(0)].into_iter().chain(args))
    }

    pub fn multicast(
        &mut self,
        name: &str,
        args: impl IntoIterator<Item = Value>,
    ) -> Result<Option<Value>, Failure> {
        self.call("simple_pre_lag", name, [number(0)].into_iter().chain(args))
    }
}

pub fn number(number: i32) -> Value {
    Value::I32(number)
}

pub fn text(text: &str) -> Value {
    Value::text(text)
}

pub fn bytes(bytes: &[u8]) -> Value {
    Value::Bytes(bytes.to_vec())
}

/// Action data.
pub fn data(values: &[&[u8]]) -> Value {
    Value::List(TType::String, values.iter().map(|v| bytes(v)).collect())
}

pub fn exact(key: &[u8]) -> Value {
    let key = Value::structure([(1, bytes(key))]);
    Value::structure([(1, number(0)), (2, key)])
}

pub fn lpm(key: &[u8], length: i32) -> Value {
    let key = Value::structure([(1, bytes(key)), (2, number(length))]);
    Value::structure([(1, number(1)), (3, key)])
}

pub fn ternary(key: &[u8], mask: &[u8]) -> Value {
    let key = Value::structure([(1, bytes(key)), (2, bytes(mask))]);
    Value::structure([(1, number(2)), (4, key)])
}

pub fn range(low: &[u8], high: &[u8]) -> Value {
    let key = Value::structure([(1, bytes(low)), (2, bytes(high))]);
    Value::structure([(1, number(4)), (6, key)])
}

pub fn key(fields: impl IntoIterator<Item = Value>) -> Value {
    Value::structures(fields)
}

pub fn options(priority: Option<i32>) -> Value {
    Value::structure(priority.map(|p| (1, number(p))))
}

pub fn rates(rates: &[(f64, i32)]) -> Value {
    let rate = |(rate, burst): &(f64, i32)| {
        Value::structure([(1, Value::Double(*rate)), (2, number(*burst))])
    };
    Value::structures(rates.iter().map(rate))
}

pub fn counts(bytes: i64, packets: i64) -> Value {
    Value::structure([(1, Value::I64(bytes)), (2, Value::I64(packets))])
}

pub fn int(value: Option<Value>) -> i32 {
    match value {
        Some(Value::I32(number)) => number,
        other => panic!("a number is expected, not {other:?}"),
    }
}

pub fn fields(value: Option<Value>) -> Fields {
    match value {
        Some(Value::Struct(fields)) => fields,
        other => panic!("a structure is expected, not {other:?}"),
    }
}
