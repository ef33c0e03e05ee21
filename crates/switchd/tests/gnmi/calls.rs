//! Capabilities and Get.

use gnmi::extensions::Extension;
use gnmi::proto::g_nmi_client::GNmiClient;
use gnmi::proto::get_request::DataType;
use gnmi::proto::{CapabilityRequest, Encoding, GetRequest, ModelData, Path};
use linuxnet::veth::End;
use linuxnet::{Namespace, Veth};
use serde_json::{Value as Json, json};
use switchd::server::Tls;
use tonic::Code;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Identity};

use crate::support::{Rig, WAIT, config, get, path, shown, text, udp_end, values};

#[tokio::test(flavor = "multi_thread")]
async fn capabilities_name_models_encodings_and_version() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    let answer = client.capabilities(CapabilityRequest::default()).await;
    let answer = answer.unwrap().into_inner();
    let models: Vec<_> = answer.supported_models.iter().map(|m| &*m.name).collect();
    assert_eq!(
        models,
        [
            "openconfig-interfaces",
            "openconfig-if-ethernet",
            "openconfig-p4rt"
        ]
    );
    for model in &answer.supported_models {
        assert!(!model.organization.is_empty() && !model.version.is_empty());
    }
    let encodings = [Encoding::Json, Encoding::JsonIetf, Encoding::Proto].map(i32::from);
    assert_eq!(answer.supported_encodings, encodings);
    assert_eq!(answer.g_nmi_version, "0.10.0");
}

#[tokio::test(flavor = "multi_thread")]
async fn leaves_have_the_values_of_the_ports() {
    let rig = Rig::start().await;
    rig.carry(b"a frame of 21 bytes..");
    rig.carry(b"and seven");
    let mut client = rig.client().await;
    let answer = client.get(get(&["/interfaces"], Encoding::Proto)).await;
    let answer = answer.unwrap().into_inner();
    assert_eq!(answer.notification.len(), 1);
    let values = values(&answer.notification);
    let at =
        |port: u16, leaf: &str| values.get(&format!("/interfaces/interface[name={port}]/{leaf}"));
    for (leaf, one, two) in [
        ("name", "1", "2"),
        ("config/name", "1", "2"),
        ("config/enabled", "true", "true"),
        ("config/id", "1", "2"),
        ("state/name", "1", "2"),
        ("state/ifindex", "1", "2"),
        ("state/id", "1", "2"),
        ("state/enabled", "true", "true"),
        ("state/admin-status", "UP", "UP"),
        ("state/oper-status", "UP", "UP"),
        ("state/cpu", "false", "false"),
        ("state/counters/in-pkts", "2", "0"),
        ("state/counters/in-octets", "30", "0"),
        ("state/counters/in-discards", "0", "0"),
        ("state/counters/in-errors", "0", "0"),
        ("state/counters/out-pkts", "0", "2"),
        ("state/counters/out-octets", "0", "30"),
        ("state/counters/out-errors", "0", "0"),
        ("state/counters/interface-transitions", "0", "0"),
    ] {
        assert_eq!(at(1, leaf).map(String::as_str), Some(one), "{leaf}");
        assert_eq!(at(2, leaf).map(String::as_str), Some(two), "{leaf}");
    }
    // A UDP socket has none of these, and nothing has changed yet.
    for leaf in [
        "state/mtu",
        "state/type",
        "ethernet/state/mac-address",
        "state/last-change",
    ] {
        assert_eq!(at(1, leaf), None, "{leaf}");
    }
    // The CPU port is no interface.
    assert!(!values.keys().any(|path| path.contains("255")));
}

#[tokio::test(flavor = "multi_thread")]
async fn paths_mean_nodes_and_all_below_them() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    let status = |port| format!("/interfaces/interface[name={port}]/state/oper-status");
    let both = [status(1), status(2)];
    for (text, expected) in [
        ("/interfaces/interface[name=*]/state/oper-status", &both[..]),
        ("/interfaces/interface/state/oper-status", &both),
        ("/interfaces/*/state/oper-status", &both),
        ("/*/*/*/oper-status", &both),
        ("/.../oper-status", &both),
        ("/.../.../oper-status", &both),
        ("/interfaces/.../oper-status", &both),
        ("/interfaces/interface[name=2]/.../oper-status", &both[1..]),
        ("/interfaces/*[name=2]/state/oper-status", &both[1..]),
        (
            "/openconfig-interfaces:interfaces/interface[name=1]/state/openconfig-interfaces:oper-status",
            &both[..1],
        ),
    ] {
        let answer = client.get(get(&[text], Encoding::Proto)).await.unwrap();
        let values = values(&answer.get_ref().notification);
        let found: Vec<_> = values.keys().cloned().collect();
        assert_eq!(found, expected, "{text}");
    }
    let all = async |client: &mut GNmiClient<Channel>, text: &str| {
        let answer = client.get(get(&[text], Encoding::Proto)).await.unwrap();
        values(&answer.get_ref().notification).len()
    };
    let root = all(&mut client, "/").await;
    assert!(root > 20);
    assert_eq!(all(&mut client, "/...").await, root);
    assert_eq!(
        all(&mut client, "/interfaces/interface[name=1]").await * 2,
        root
    );

    // One notification for each path; a prefix is put before each of them, and its target is
    // repeated.
    let request = GetRequest {
        prefix: Some(Path {
            target: "leaf1".to_owned(),
            origin: "openconfig".to_owned(),
            ..path("/interfaces/interface[name=2]")
        }),
        ..get(&["state/oper-status", "config/enabled"], Encoding::Proto)
    };
    let answer = client.get(request).await.unwrap().into_inner();
    let found: Vec<_> = answer
        .notification
        .iter()
        .map(|n| {
            let prefix = n.prefix.clone().unwrap();
            assert_eq!(
                (&*prefix.target, &*prefix.origin, prefix.elem.len()),
                ("leaf1", "openconfig", 0)
            );
            text(n.update[0].path.as_ref().unwrap())
        })
        .collect();
    assert_eq!(
        found,
        [
            status(2),
            "/interfaces/interface[name=2]/config/enabled".to_owned()
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn types_and_models_choose_leaves() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    for (kind, has, lacks) in [
        (DataType::Config, "config/enabled", "state/enabled"),
        (DataType::State, "state/enabled", "config/enabled"),
        (DataType::Operational, "state/oper-status", "state/enabled"),
    ] {
        let request = GetRequest {
            r#type: kind.into(),
            ..get(&["/interfaces/interface[name=1]"], Encoding::Proto)
        };
        let answer = client.get(request).await.unwrap().into_inner();
        let values = values(&answer.notification);
        let there = |leaf: &str| values.keys().any(|path| path.ends_with(leaf));
        assert!(there(has) && !there(lacks), "{kind:?}: {values:?}");
    }
    let models = |name: &str, version: &str| GetRequest {
        use_models: vec![ModelData {
            name: name.to_owned(),
            version: version.to_owned(),
            ..ModelData::default()
        }],
        ..get(&["/interfaces/interface[name=1]/state"], Encoding::Proto)
    };
    let answer = client.get(models("openconfig-p4rt", "")).await.unwrap();
    let found = values(&answer.get_ref().notification);
    assert_eq!(
        found.into_keys().collect::<Vec<_>>(),
        ["/interfaces/interface[name=1]/state/id"]
    );
    for (name, version) in [("openconfig-bgp", ""), ("openconfig-p4rt", "9.9.9")] {
        let refused = client.get(models(name, version)).await.unwrap_err();
        assert_eq!(refused.code(), Code::Unimplemented);
        assert!(refused.message().contains(name), "{refused}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn subtrees_are_json() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    let ask = async |client: &mut GNmiClient<Channel>, text: &str, encoding| {
        let answer = client
            .get(get(&[text], encoding))
            .await
            .unwrap()
            .into_inner();
        let updates = answer.notification.into_iter().flat_map(|n| n.update);
        let updates = updates.map(|update| {
            let value: Json = serde_json::from_str(&shown(&update.val.unwrap())).unwrap();
            (crate::support::text(&update.path.unwrap()), value)
        });
        updates.collect::<Vec<_>>()
    };
    let one = "/interfaces/interface[name=1]/config";
    let plain = ask(&mut client, one, Encoding::Json).await;
    assert_eq!(
        plain,
        [(
            one.to_owned(),
            json!({"name": "1", "enabled": true, "id": 1})
        )]
    );
    let ietf = ask(&mut client, one, Encoding::JsonIetf).await;
    let expected = json!({
        "openconfig-interfaces:name": "1",
        "openconfig-interfaces:enabled": true,
        "openconfig-p4rt:id": 1,
    });
    assert_eq!(ietf, [(one.to_owned(), expected)]);
    let both = ask(
        &mut client,
        "/interfaces/interface[name=*]/config",
        Encoding::Json,
    )
    .await;
    assert_eq!(both.len(), 2);
    for encoding in [Encoding::Json, Encoding::JsonIetf] {
        let leaf = ask(
            &mut client,
            "/interfaces/interface[name=1]/state/oper-status",
            encoding,
        )
        .await;
        assert_eq!(leaf[0].1, json!("UP"));
    }
    let counters = "/interfaces/interface[name=1]/state/counters/in-pkts";
    assert_eq!(
        ask(&mut client, counters, Encoding::Json).await[0].1,
        json!(0)
    );
    assert_eq!(
        ask(&mut client, counters, Encoding::JsonIetf).await[0].1,
        json!("0")
    );
    let whole = ask(&mut client, "/", Encoding::JsonIetf).await;
    assert_eq!(whole.len(), 1);
    let list = &whole[0].1["openconfig-interfaces:interfaces"]["interface"];
    assert_eq!(list.as_array().unwrap().len(), 2);
    assert_eq!(list[1]["name"], json!("2"));
    assert_eq!(list[1]["state"]["openconfig-p4rt:id"], json!(2));
    assert_eq!(list[1]["state"]["counters"]["out-pkts"], json!("0"));
    let interfaces = ask(&mut client, "/interfaces", Encoding::Json).await;
    assert_eq!(
        interfaces[0].1["interface"][0]["config"]["enabled"],
        json!(true)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_get_refuses_is_named() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    for (text, code, words) in [
        (
            "/components/component",
            Code::Unimplemented,
            "/components/component",
        ),
        (
            "/interfaces/interface[name=1]/state/description",
            Code::Unimplemented,
            "state/description",
        ),
        (
            "/interfaces/interface[name=9]/state/oper-status",
            Code::NotFound,
            "[name=9]",
        ),
        (
            "/interfaces/interface[name=1]/state/last-change",
            Code::NotFound,
            "last-change",
        ),
        (
            "/interfaces/interface[index=1]/state",
            Code::InvalidArgument,
            "no `index`",
        ),
        ("/interfaces[name=1]", Code::InvalidArgument, "no list"),
        (
            "/interfaces/interface[name=]/state",
            Code::InvalidArgument,
            "empty",
        ),
        ("/foo:interfaces", Code::InvalidArgument, "unknown module"),
        (
            "/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a",
            Code::InvalidArgument,
            "too many",
        ),
    ] {
        let refused = client.get(get(&[text], Encoding::Proto)).await.unwrap_err();
        assert_eq!(refused.code(), code, "{text}: {refused}");
        assert!(refused.message().contains(words), "{refused}");
    }
    // A wildcard that means nothing now is no error.
    let none = get(
        &["/interfaces/interface[name=*]/state/mtu"],
        Encoding::Proto,
    );
    let answer = client.get(none).await.unwrap().into_inner();
    assert_eq!(answer.notification[0].update, []);
    let one = || get(&["/interfaces"], Encoding::Proto);
    let origin = |origin: &str| GetRequest {
        path: vec![Path {
            origin: origin.to_owned(),
            ..path("/interfaces")
        }],
        ..one()
    };
    assert!(client.get(origin("openconfig")).await.is_ok());
    assert!(client.get(origin("openconfig-interfaces")).await.is_ok());
    #[allow(deprecated)]
    let old = Path {
        element: vec!["interfaces".to_owned()],
        ..Path::default()
    };
    let target = Path {
        target: "x".to_owned(),
        ..path("/interfaces")
    };
    for (request, code, words) in [
        (origin("cli"), Code::Unimplemented, "'cli'"),
        (
            GetRequest {
                prefix: Some(Path {
                    origin: "openconfig".to_owned(),
                    ..Path::default()
                }),
                ..origin("openconfig")
            },
            Code::InvalidArgument,
            "have an origin",
        ),
        (
            GetRequest {
                encoding: Encoding::Bytes.into(),
                ..one()
            },
            Code::Unimplemented,
            "BYTES",
        ),
        (
            GetRequest {
                encoding: 77,
                ..one()
            },
            Code::InvalidArgument,
            "77",
        ),
        (
            GetRequest {
                r#type: 77,
                ..one()
            },
            Code::InvalidArgument,
            "77",
        ),
        (
            GetRequest {
                path: vec![],
                ..one()
            },
            Code::InvalidArgument,
            "no path",
        ),
        (
            GetRequest {
                path: vec![old],
                ..one()
            },
            Code::InvalidArgument,
            "`element`",
        ),
        (
            GetRequest {
                path: vec![target],
                ..one()
            },
            Code::InvalidArgument,
            "target",
        ),
        (
            GetRequest {
                extension: vec![Extension::default()],
                ..one()
            },
            Code::Unimplemented,
            "extensions",
        ),
    ] {
        let refused = client.get(request).await.unwrap_err();
        assert_eq!(refused.code(), code, "{refused}");
        assert!(refused.message().contains(words), "{refused}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ports_that_come_and_go_are_seen() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    let names = async |client: &mut GNmiClient<Channel>| {
        let request = get(&["/interfaces/interface[name=*]/name"], Encoding::Proto);
        let answer = client.get(request).await.unwrap().into_inner();
        values(&answer.notification)
            .into_values()
            .collect::<Vec<_>>()
    };
    let (_end, three) = udp_end(3);
    rig.ports
        .lock()
        .unwrap()
        .add(three.parse().unwrap())
        .unwrap();
    assert_eq!(names(&mut client).await, ["1", "2", "3"]);
    rig.ports
        .lock()
        .unwrap()
        .remove(quantities::PortId::new(1))
        .unwrap();
    assert_eq!(names(&mut client).await, ["2", "3"]);
    // A port 0 has no id: the model begins with 1.
    let (_end, zero) = udp_end(0);
    rig.ports
        .lock()
        .unwrap()
        .add(zero.parse().unwrap())
        .unwrap();
    let request = get(
        &[
            "/interfaces/interface[name=*]/state/id",
            "/interfaces/interface[name=*]/state/ifindex",
        ],
        Encoding::Proto,
    );
    let answer = client.get(request).await.unwrap().into_inner();
    let counts: Vec<_> = answer.notification.iter().map(|n| n.update.len()).collect();
    assert_eq!(counts, [2, 3]);
}

#[test]
fn interfaces_have_what_the_kernel_knows() {
    if let Err(why) = linuxnet::permitted() {
        return println!("skipped: {why}");
    }
    let lab = Namespace::new().unwrap();
    lab.run(|| {
        let _pair = Veth::new(End::here("p1"), End::here("far")).unwrap();
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let rig = Rig::serve(config(), &["7@p1".to_owned()], Vec::new()).await;
            let mut client = rig.client().await;
            let request = get(&["/interfaces/interface[name=p1]"], Encoding::JsonIetf);
            let answer = client.get(request).await.unwrap().into_inner();
            let value = shown(answer.notification[0].update[0].val.as_ref().unwrap());
            let value: Json = serde_json::from_str(&value).unwrap();
            let state = &value["openconfig-interfaces:state"];
            assert_eq!(state["type"], json!("iana-if-type:ethernetCsmacd"));
            assert_eq!(state["mtu"], json!(1514));
            assert_eq!(state["openconfig-p4rt:id"], json!(7));
            assert_eq!(state["oper-status"], json!("UP"));
            let address = &value["openconfig-if-ethernet:ethernet"]["state"]["mac-address"];
            let link = linuxnet::rtnl::Rtnl::open().unwrap().link("p1").unwrap();
            let expected: Vec<_> = link.mac.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(*address, json!(expected.join(":")));
        });
    })
    .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_certificates_of_p4runtime_hold() {
    let key = |name: &str| rcgen::generate_simple_self_signed(vec![name.to_owned()]).unwrap();
    let (server, client) = (key("localhost"), key("client"));
    let mut config = config();
    config.tls = Some(Tls {
        certificate: server.cert.pem(),
        key: server.signing_key.serialize_pem(),
        client_ca: Some(client.cert.pem()),
    });
    let rig = Rig::start_as(config).await;
    let connect = async |own: Option<&rcgen::CertifiedKey<rcgen::KeyPair>>| {
        let mut tls = ClientTlsConfig::new()
            .domain_name("localhost")
            .ca_certificate(Certificate::from_pem(server.cert.pem()));
        if let Some(own) = own {
            tls = tls.identity(Identity::from_pem(
                own.cert.pem(),
                own.signing_key.serialize_pem(),
            ));
        }
        let endpoint = Channel::from_shared(format!("https://{}", rig.server.address())).unwrap();
        let channel = endpoint.tls_config(tls).unwrap().connect().await;
        let mut client = GNmiClient::new(channel.map_err(|e| e.to_string())?);
        let asked = client.capabilities(CapabilityRequest::default());
        let answer = tokio::time::timeout(WAIT, asked).await.unwrap();
        answer
            .map(|a| a.into_inner().g_nmi_version)
            .map_err(|e| e.to_string())
    };
    assert_eq!(connect(Some(&client)).await.as_deref(), Ok("0.10.0"));
    assert!(connect(None).await.is_err());
}
