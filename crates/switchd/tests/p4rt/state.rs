//! State on disk: what comes back after a stop, a kill, a torn or a damaged file; and that it is
//! one switch's alone.

use std::fs::{self, Permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use p4runtime::p4::v1;
use p4runtime::p4::v1::entity::Entity;
use p4runtime::p4::v1::update::Type;
use p4runtime::p4::v1::write_request::Atomicity;
use quantities::PortId;
use switchd::engine::io::MemoryIo;
use switchd::engine::{Engine, EngineConfig};
use switchd::persist::{Store, StoreError};
use switchd::server::{Server, ServerConfig, ServerError};

use crate::support::{Client, Rig, WAIT, delete, exact, insert, lpm, update};

pub fn kept(dir: &Path) -> ServerConfig {
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

/// An engine that runs nothing, to restore with.
fn idle() -> Engine {
    let (io, _wires) = MemoryIo::new();
    Engine::start(&EngineConfig::default(), io).unwrap().0
}

/// Entries that a folder's state has.
fn restore(folder: &Path, engine: &Engine) -> Result<usize, StoreError> {
    let restored = Store::open(folder)?.restore(engine.handle())?;
    let pipeline = restored.unwrap();
    let schema = &pipeline.contents.schema;
    let table = schema
        .tables
        .values()
        .find(|t| t.name.ends_with("exact_one"));
    let table = pipeline
        .contents
        .state()
        .table(table.unwrap().table)
        .unwrap();
    Ok(table.iter().count())
}

/// A state file with five entries by each of four batches, and the length of its snapshot.
async fn image() -> (Vec<u8>, usize) {
    let dir = tempfile::tempdir().unwrap();
    let rig = Rig::start_as(kept(dir.path())).await;
    let mut client = rig.ready().await;
    let file = dir.path().join("state");
    let snapshot = fs::metadata(&file).unwrap().len() as usize;
    for batch in 0..4u8 {
        let entry =
            |to: u8| insert(rig.entry("exact_one", vec![exact(1, &[batch, to])], 0, "drop", &[]));
        client.write((0..5).map(entry).collect()).await.unwrap();
    }
    (fs::read(&file).unwrap(), snapshot)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_file_is_refused_and_left_as_it_is() {
    let (image, snapshot) = image().await;
    let (folder, engine) = (tempfile::tempdir().unwrap(), idle());
    let file = folder.path().join("state");
    let last = image.len() - (image.len() - snapshot) / 4;
    let places = (0..snapshot)
        .step_by(211)
        .chain((snapshot..image.len()).step_by(7));
    for place in places {
        let mut damaged = image.clone();
        damaged[place] ^= 1 << (place % 8);
        fs::write(&file, &damaged).unwrap();
        match restore(folder.path(), &engine) {
            Ok(entries) => assert!(entries == 15 && place >= last, "{entries} at {place}"),
            Err(StoreError::Damaged { place: told, .. }) => {
                assert!(told <= place as u64, "{told} for {place}");
                assert_eq!(fs::read(&file).unwrap(), damaged, "the file is kept");
            }
            Err(other) => panic!("{other} at {place}"),
        }
    }
    // What the message says to do helps: the first batch was written before the damage.
    let mut damaged = image.clone();
    damaged[snapshot + (image.len() - snapshot) / 4 + 20] ^= 1;
    fs::write(&file, &damaged).unwrap();
    let error = restore(folder.path(), &engine).unwrap_err();
    let text = error.to_string();
    let StoreError::Damaged { place, .. } = error else {
        panic!("{text}")
    };
    assert!(text.contains(&format!("truncate -s {place} ")), "{text}");
    fs::write(&file, &image[..place as usize]).unwrap();
    assert_eq!(restore(folder.path(), &engine).unwrap(), 5);
    fs::write(&file, &image[..snapshot - 1]).unwrap();
    let text = restore(folder.path(), &engine).unwrap_err().to_string();
    assert!(!text.contains("truncate"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_the_layout_before_is_read_if_it_is_whole() {
    let (image, _) = image().await;
    // Its headers had no checksum of their own.
    let mut old = b"SWSTATE1".to_vec();
    let mut rest = &image[8..];
    while !rest.is_empty() {
        let length = u32::from_le_bytes(rest[..4].try_into().unwrap()) as usize;
        old.extend_from_slice(&rest[..8]);
        old.extend_from_slice(&rest[12..12 + length]);
        rest = &rest[12 + length..];
    }
    let (folder, engine) = (tempfile::tempdir().unwrap(), idle());
    let file = folder.path().join("state");
    fs::write(&file, &old[..old.len() - 1]).unwrap();
    assert!(matches!(
        restore(folder.path(), &engine),
        Err(StoreError::Damaged { .. })
    ));
    fs::write(&file, &old).unwrap();
    assert_eq!(restore(folder.path(), &engine).unwrap(), 20);
    assert!(fs::read(&file).unwrap().starts_with(b"SWSTATE2"));
    assert_eq!(restore(folder.path(), &engine).unwrap(), 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_switch_a_folder_and_nobody_else_reads_it() {
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let above = tempfile::tempdir().unwrap();
    let folder = above.path().join("made");
    let rig = Rig::start_as(kept(&folder)).await;
    let _client = rig.ready().await;
    let refused = Store::open(&folder).err().unwrap();
    let text = refused.to_string();
    assert!(
        matches!(refused, StoreError::Locked { .. })
            && text.contains(&folder.display().to_string())
            && text.contains(&std::process::id().to_string()),
        "{text}"
    );
    assert_eq!(mode(&folder), 0o700);
    for file in ["state", "lock"] {
        assert_eq!(mode(&folder.join(file)), 0o600, "{file}");
    }
    // A stop gives the folder back; what others could read before they cannot any more.
    let Rig { server, engine, .. } = rig;
    server.stop().await;
    fs::set_permissions(folder.join("state"), Permissions::from_mode(0o644)).unwrap();
    fs::set_permissions(folder.join("lock"), Permissions::from_mode(0o644)).unwrap();
    restore(&folder, &engine).unwrap();
    for file in ["state", "lock"] {
        assert_eq!(mode(&folder.join(file)), 0o600, "{file}");
    }
}
