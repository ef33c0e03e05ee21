//! A client's program sees built-in files only, however it spells its includes: no byte of a file
//! of the switch's machine is in an answer or in the log.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use p4front::source::SourceMap;
use p4front::{Files, Options};
use p4runtime::p4::v1;
use p4runtime::p4::v1::set_forwarding_pipeline_config_request::Action as Set;
use tonic::{Code, Status};

use crate::support::{Client, PROGRAM, Rig, config_of, info_of};

/// What the planted files hold: no token of P4 may begin so, and findings quote such lines.
const SECRET: &str = "zebra_4711_crossing";

/// Spellings that lead `cpp` to the file `FILE`.
const FOLLOWED: &[&str] = &[
    "#include \"FILE\"",
    "#include <FILE>",
    "#include \"FILE\" // core.p4",
    "#include \"FILE\" /* v1model.p4 */ core.p4",
    "/**/ #include \"FILE\"",
    "/* core.p4\n */ #include \"FILE\"",
    " \t#\t include\t\"FILE\"",
    "#/**/include/**/\"FILE\"",
    "#\\\ninclude \"FILE\"",
    "#include\\\n\"FILE\"",
    "#inc\\\nlude \"FILE\"",
    "#inc\\ \t\r\nlude \"FI\\\nLE\"",
    "\\\n#\\\n\\\ni\\\nn\\\nc\\\nlude <FILE>",
    "/\\\n* core.p4 *\\\n/ #include \"FILE\"",
    "\u{feff}#include \"FILE\"",
    "\x0b\x0c#include \"FILE\"",
    "#define F \"FILE\"\n#include F",
    "#define F <FILE>\n#include F",
    "#define G F\n#define F() \"FILE\"\n#include G()",
    "#define NOTHING\n#include NOTHING \"FILE\"",
    "#if 0\n#elif 1\n#include \"FILE\"\n#endif",
    "#ifndef core_p4\n#include \"FILE\"\n#endif",
    "#include <core.p4>\n#include \"FILE\"",
    "#include \"./FILE\"",
    "#include \"core.p4/../FILE\"",
];

/// Spellings that other preprocessors know, or that only name the file.
const NAMED: &[&str] = &[
    // `__FILE__` is what the text is called here, whatever a line marker says.
    "#line 7 \"FILE\"\n#include __FILE__",
    "# 7 \"FILE\"\n#include __FILE__",
    "#include_next \"FILE\"",
    "#import \"FILE\"",
    "#embed \"FILE\"",
    "#pragma include \"FILE\"",
    "#pragma GCC dependency \"FILE\"",
    "#assert include(FILE)",
    "@pragma include \"FILE\"",
    "%:include \"FILE\"",
    "\x3f?=include \"FILE\"",
    "#define inc include\n#inc \"FILE\"",
    "#define HASH #\nHASH include \"FILE\"",
    "#define S(x) #x\n#include S(FILE)",
    "#define S(x) <x>\n#include S(FILE)",
    "#if __has_include(\"FILE\")\n#error there\n#endif",
    "#line 1 \"FILE\"\nparser {",
    "# 1 \"FILE\" 1 3\nparser {",
    "#include \"FILE",
    "#include <FILE",
    "#include 'FILE'",
    "#include FILE",
    "#error \"FILE\"",
    "const string s = \"FILE\"; bit<",
];

/// Looks for the secret in everything that is logged.
#[derive(Clone, Copy)]
struct Log;

static LOGGED: AtomicUsize = AtomicUsize::new(0);
static SEEN: AtomicBool = AtomicBool::new(false);

impl io::Write for Log {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        LOGGED.fetch_add(1, Ordering::SeqCst);
        if has(line, SECRET) {
            SEEN.store(true, Ordering::SeqCst);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn has(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|w| w == text.as_bytes())
}

fn parts(status: &Status) -> Vec<Vec<u8>> {
    let mut parts = vec![
        format!("{status:?}").into_bytes(),
        status.message().as_bytes().to_vec(),
        status.details().to_vec(),
    ];
    for entry in status.metadata().iter() {
        parts.push(format!("{entry:?}").into_bytes());
    }
    parts
}

/// Files with the secret, and how a program can name them: whole paths, one upwards from here,
/// names that look built in.
fn plant(folder: &Path) -> Vec<String> {
    let here = std::env::current_dir().unwrap();
    let mut names = Vec::new();
    for name in ["secret", "core.p4", "v1model.p4.txt"] {
        let file = folder.join(name);
        std::fs::write(&file, format!("{SECRET} {{ }}\n")).unwrap();
        names.push(file.to_string_lossy().into_owned());
        let up: PathBuf = here.components().skip(1).map(|_| "..").collect();
        let upwards = up.join(file.strip_prefix("/").unwrap());
        names.push(upwards.to_string_lossy().into_owned());
    }
    names
}

fn program(spelling: &str, file: &str) -> String {
    let (start, end) = file.split_at(file.len() / 2);
    let broken = format!("{start}\\\n{end}");
    let include = spelling.replace("FILE", file).replace("FI\\\nLE", &broken);
    format!("{include}\n{PROGRAM}")
}

async fn push(client: &mut Client, action: Set, program: &str) -> Result<(), Status> {
    let config = v1::ForwardingPipelineConfig {
        p4info: Some(info_of(PROGRAM)),
        p4_device_config: program.as_bytes().to_vec(),
        cookie: None,
    };
    client.set(action, Some(config)).await
}

/// The way from the command line: it must find the secret, or this test would prove nothing.
fn finds_the_secret(text: &str) -> bool {
    let mut map = SourceMap::new();
    let main = map.add("a.p4", text).unwrap();
    let options = Options {
        include_paths: vec![PathBuf::from("/")],
        files: Files::Disk,
        ..Options::default()
    };
    let found = p4front::compile(&mut map, main, &options);
    found.is_err_and(|found| found.render(&map).contains(SECRET))
}

#[tokio::test(flavor = "multi_thread")]
async fn no_spelling_of_an_include_reaches_a_file() {
    use tracing_subscriber::filter::{LevelFilter, Targets};
    use tracing_subscriber::prelude::*;
    // All that the switch says, but not every frame of the transport.
    let wanted = Targets::new()
        .with_default(LevelFilter::DEBUG)
        .with_targets(["h2", "hyper", "tower"].map(|quiet| (quiet, LevelFilter::INFO)))
        .with_target("switchd", LevelFilter::TRACE);
    let log = tracing_subscriber::fmt::layer().with_writer(|| Log);
    let all = tracing_subscriber::registry().with(log.with_filter(wanted));
    assert!(all.try_init().is_ok(), "no other test logs");
    tracing::info!("the log is looked at");
    assert!(LOGGED.load(Ordering::SeqCst) > 0);
    let folder = tempfile::tempdir().unwrap();
    let files = plant(folder.path());
    let rig = Rig::start().await;
    let mut client = rig.client(Some(1), "").await;
    for spelling in FOLLOWED.iter().chain(NAMED) {
        let followed = FOLLOWED.contains(spelling);
        for file in &files {
            let text = program(spelling, file);
            let absolute = file.starts_with('/') && !spelling.contains("/FILE");
            assert!(
                !followed || !absolute || finds_the_secret(&text),
                "{spelling:?} does not even reach {file} from the command line"
            );
            let answer = push(&mut client, Set::Verify, &text).await;
            if let Err(status) = &answer {
                let leaks = parts(status).iter().any(|part| has(part, SECRET));
                assert!(!leaks, "{spelling:?} {file}: {status:?}");
            }
            if followed {
                let status = answer.expect_err(spelling);
                assert_eq!(
                    status.code(),
                    Code::InvalidArgument,
                    "{spelling:?}: {status}"
                );
                assert!(
                    status.message().contains("cannot find"),
                    "{spelling:?}: {status}"
                );
            }
        }
    }
    assert!(!SEEN.load(Ordering::SeqCst), "the secret is in the log");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_kernel_offers_as_files_is_out_of_reach_too() {
    let rig = Rig::start().await;
    let mut client = rig.client(Some(1), "").await;
    // Of the switch's own process: what stands there is what this test sees of itself.
    let own = std::env::var("PATH").unwrap();
    for file in [
        "/proc/self/environ",
        "/proc/self/cmdline",
        "/etc/passwd",
        "/dev/stdin",
    ] {
        for spelling in FOLLOWED {
            let text = program(spelling, file);
            let status = push(&mut client, Set::Verify, &text).await.expect_err(file);
            for secret in [own.as_str(), "root:", "CARGO_"] {
                let leaks = parts(&status).iter().any(|part| has(part, secret));
                assert!(!leaks, "{spelling:?} {file}: {status:?}");
            }
        }
    }
    // Whatever is saved or committed is built the same way.
    for action in [
        Set::VerifyAndSave,
        Set::VerifyAndCommit,
        Set::ReconcileAndCommit,
    ] {
        let text = program("#include \"/etc/passwd\" // core.p4", "");
        let status = push(&mut client, action, &text).await.unwrap_err();
        assert!(!format!("{status:?}").contains("root:"), "{status:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_built_in_can_be_included() {
    let rig = Rig::start().await;
    let mut client = rig.client(Some(1), "").await;
    let body = PROGRAM
        .replace("#include <core.p4>", "")
        .replace("#include <v1model.p4>", "");
    assert!(!body.contains("#include"));
    for spelling in [
        "#include <core.p4>\n#include <v1model.p4>",
        "#include \"core.p4\"\n#include \"v1model.p4\"",
        "\u{feff}#include <v1model.p4>",
        "#define ARCHITECTURE <v1model.p4>\n#inc\\\nlude ARCHITECTURE",
    ] {
        let text = format!("{spelling}\n{body}");
        push(&mut client, Set::VerifyAndCommit, &text)
            .await
            .unwrap();
    }
    let config = config_of(PROGRAM);
    client
        .set(Set::VerifyAndCommit, Some(config))
        .await
        .unwrap();
}
