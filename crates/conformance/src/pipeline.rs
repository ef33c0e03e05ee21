//! Points 25, 26 and 28: what may be loaded, what is told of it, and which version the server
//! speaks. What has killed servers comes last.

use p4runtime::p4::v1::get_forwarding_pipeline_config_request::ResponseType;
use p4runtime::p4::v1::set_forwarding_pipeline_config_request::Action;
use p4runtime::p4::v1::{self, entity::Entity as Kind, update};
use tonic::{Code, Status};

use super::Verdict;
use super::bench::{Outcome, TestBed};

const BEFORE: &str = "before any Set, Get answers an unset config and no error; everything else is FAILED_PRECONDITION (14, 15)";
const GET: &str = "Get answers what each response type names; the cookie comes back (15)";
const VERIFY: &str =
    "VERIFY looks at the device config too, and changes nothing; INVALID_ARGUMENT (14.1)";
const SAVE: &str = "VERIFY_AND_SAVE, then COMMIT; COMMIT of nothing is NOT_FOUND (14.1)";
const RECONCILE: &str =
    "RECONCILE_AND_COMMIT keeps forwarding state, or says INVALID_ARGUMENT (14.1)";
const VERSION: &str = "Capabilities names the full semantic version (17)";

async fn get(
    bench: &TestBed,
    kind: ResponseType,
) -> Result<Option<v1::ForwardingPipelineConfig>, Status> {
    let device = bench.endpoint.device_id;
    bench.connection.pipeline(device, kind).await
}

/// What can only be asked of a server without a program.
pub(super) async fn before_any(bench: &mut TestBed) {
    let version = bench.api_version().to_owned();
    let parts: Vec<&str> = version.split('.').collect();
    let full = parts.len() == 3 && parts.iter().take(2).all(|part| part.parse::<u32>().is_ok());
    bench.judge(28, "the version", full, version, VERSION);
    let config = get(bench, ResponseType::All).await;
    if config
        .as_ref()
        .is_ok_and(|config| config.as_ref().is_some_and(|c| c.p4info.is_some()))
    {
        let seen = "a program runs already: start the server anew to try this";
        bench.note(26, "Get before any Set", Verdict::Skip, seen, BEFORE);
        bench.note(9, "a Write before any Set", Verdict::Skip, seen, BEFORE);
        return;
    }
    let unset = matches!(&config, Ok(None));
    bench.judge(
        26,
        "Get before any Set",
        unset,
        Outcome::of_any(&config).to_string(),
        BEFORE,
    );
    if let Err(error) = bench.reclaim().await {
        return bench.note(
            9,
            "a Write before any Set",
            Verdict::Fail,
            error.to_string(),
            BEFORE,
        );
    }
    let entry = Kind::TableEntry(bench.exact(&[1], &[1], 1));
    let outcome = bench.put(update::Type::Insert, entry).await;
    bench.demand(
        9,
        "a Write before any Set",
        &outcome,
        &[Code::FailedPrecondition],
        BEFORE,
    );
    bench.primary = None;
}

/// The others.
pub(super) async fn check(bench: &mut TestBed) {
    answers(bench).await;
    verify(bench).await;
    save_and_commit(bench).await;
    reconcile(bench).await;
    broken(bench).await;
}

async fn answers(bench: &mut TestBed) {
    let ours = bench.config();
    let same_cookie = |c: &v1::ForwardingPipelineConfig| c.cookie == ours.cookie;
    let has =
        |c: &v1::ForwardingPipelineConfig| (c.p4info.is_some(), !c.p4_device_config.is_empty());
    for (check, kind, parts) in [
        ("ALL", ResponseType::All, (true, true)),
        ("COOKIE_ONLY", ResponseType::CookieOnly, (false, false)),
        (
            "P4INFO_AND_COOKIE",
            ResponseType::P4infoAndCookie,
            (true, false),
        ),
        (
            "DEVICE_CONFIG_AND_COOKIE",
            ResponseType::DeviceConfigAndCookie,
            (false, true),
        ),
    ] {
        let config = get(bench, kind).await;
        let right = matches!(&config, Ok(Some(c)) if same_cookie(c) && has(c) == parts);
        let seen = match &config {
            Ok(Some(c)) => format!(
                "P4Info {}, device config of {} bytes, cookie {}",
                if c.p4info.is_some() {
                    "there"
                } else {
                    "not there"
                },
                c.p4_device_config.len(),
                if same_cookie(c) { "as set" } else { "another" }
            ),
            Ok(None) => "no config".to_owned(),
            Err(_) => Outcome::of_any(&config).to_string(),
        };
        bench.judge(26, check, right, seen, GET);
    }
    let all = get(bench, ResponseType::All).await;
    let same = matches!(&all, Ok(Some(c)) if c.p4info == ours.p4info && c.p4_device_config == ours.p4_device_config);
    bench.judge(
        26,
        "what was set is what is answered",
        same,
        Outcome::of_any(&all).to_string(),
        GET,
    );
}

async fn verify(bench: &mut TestBed) {
    let entry = Kind::TableEntry(bench.exact(&[0x25], &[1], 1));
    let _ = bench.put(update::Type::Insert, entry).await;
    let outcome = Outcome::of(
        bench
            .set_pipeline(Action::Verify, Some(bench.config()))
            .await,
    );
    bench.demand(
        25,
        "VERIFY of the program that runs",
        &outcome,
        &[Code::Ok],
        VERIFY,
    );
    let kept = bench
        .entries(bench.exact(&[0x25], &[1], 1))
        .await
        .unwrap_or_default();
    bench.judge(
        25,
        "VERIFY changes nothing",
        kept.len() == 1,
        format!("{} entries", kept.len()),
        VERIFY,
    );
    let nonsense = v1::ForwardingPipelineConfig {
        p4_device_config: b"not a program".to_vec().into(),
        ..bench.config()
    };
    let outcome = Outcome::of(bench.set_pipeline(Action::Verify, Some(nonsense)).await);
    bench.demand(
        25,
        "VERIFY of a broken device config",
        &outcome,
        &[Code::InvalidArgument],
        VERIFY,
    );
    let mut info = bench.info().clone();
    for table in &mut info.tables {
        if let Some(field) = table.match_fields.first_mut() {
            field.bitwidth += 1;
        }
    }
    let unfit = v1::ForwardingPipelineConfig {
        p4info: Some(info),
        ..bench.config()
    };
    let outcome = Outcome::of(bench.set_pipeline(Action::Verify, Some(unfit)).await);
    bench.demand(
        25,
        "VERIFY of P4Info that does not fit",
        &outcome,
        &[Code::InvalidArgument],
        VERIFY,
    );
    let without = v1::ForwardingPipelineConfig {
        p4info: None,
        ..bench.config()
    };
    let outcome = Outcome::of(bench.set_pipeline(Action::Verify, Some(without)).await);
    bench.demand(
        25,
        "VERIFY without P4Info",
        &outcome,
        &[Code::InvalidArgument],
        VERIFY,
    );
    let outcome = Outcome::of(
        bench
            .set_pipeline(Action::Unspecified, Some(bench.config()))
            .await,
    );
    bench.demand(
        25,
        "Set without an action",
        &outcome,
        &[Code::InvalidArgument],
        VERIFY,
    );
}

async fn save_and_commit(bench: &mut TestBed) {
    let outcome = Outcome::of(bench.set_pipeline(Action::Commit, None).await);
    bench.demand(25, "COMMIT of nothing", &outcome, &[Code::NotFound], SAVE);
    bench.look().await;
    let outcome = Outcome::of(
        bench
            .set_pipeline(Action::VerifyAndSave, Some(bench.config()))
            .await,
    );
    bench.demand(25, "VERIFY_AND_SAVE", &outcome, &[Code::Ok], SAVE);
    let outcome = Outcome::of(bench.set_pipeline(Action::Commit, None).await);
    bench.demand(25, "COMMIT", &outcome, &[Code::Ok], SAVE);
    let filter = v1::TableEntry {
        table_id: bench.table("exact_match"),
        ..Default::default()
    };
    let left = bench.entries(filter).await;
    let empty = left.as_ref().is_ok_and(Vec::is_empty);
    bench.judge(
        25,
        "after it tables are empty",
        empty,
        format!("{} entries", left.map_or(0, |l| l.len())),
        SAVE,
    );
    bench.look().await;
}

async fn reconcile(bench: &mut TestBed) {
    let entry = Kind::TableEntry(bench.exact(&[0x26], &[1], 1));
    let _ = bench.put(update::Type::Insert, entry).await;
    let outcome = Outcome::of(
        bench
            .set_pipeline(Action::ReconcileAndCommit, Some(bench.config()))
            .await,
    );
    let check = "RECONCILE_AND_COMMIT of the program that runs";
    match outcome.code {
        Code::Ok => {
            let kept = bench
                .entries(bench.exact(&[0x26], &[1], 1))
                .await
                .unwrap_or_default();
            bench.judge(
                25,
                check,
                kept.len() == 1,
                format!("OK; {} of 1 entries kept", kept.len()),
                RECONCILE,
            );
        }
        Code::Unimplemented | Code::InvalidArgument => {
            bench.note(25, check, Verdict::Lacks, outcome.to_string(), RECONCILE);
        }
        _ => bench.demand(25, check, &outcome, &[Code::Ok], RECONCILE),
    }
    bench.look().await;
}

async fn broken(bench: &mut TestBed) {
    for (check, action) in [
        (
            "VERIFY_AND_SAVE of a broken device config",
            Action::VerifyAndSave,
        ),
        (
            "VERIFY_AND_COMMIT of a broken device config",
            Action::VerifyAndCommit,
        ),
    ] {
        let nonsense = v1::ForwardingPipelineConfig {
            p4_device_config: b"not a program".to_vec().into(),
            ..bench.config()
        };
        let outcome = Outcome::of(bench.set_pipeline(action, Some(nonsense)).await);
        bench.demand(25, check, &outcome, &[Code::InvalidArgument], VERIFY);
        bench.look().await;
        if bench.is_dead() {
            return;
        }
    }
    let kept = get(bench, ResponseType::All).await;
    let same =
        matches!(&kept, Ok(Some(c)) if c.p4_device_config == bench.config().p4_device_config);
    bench.judge(
        25,
        "the program still runs after them",
        same,
        Outcome::of_any(&kept).to_string(),
        VERIFY,
    );
}
