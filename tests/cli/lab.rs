//! `switchwright lab` as whoever is not its page sees it: the token, the host's name, the origin;
//! and an engine that survives what it is asked.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A server with a page of one line; it is ended with this.
struct Lab {
    child: Child,
    _page: TempDir,
    /// `127.0.0.1:PORT`.
    host: String,
    token: String,
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn start() -> Lab {
    let page = TempDir::new().unwrap();
    let text = r#"<meta name="engine" content="wasm">"#;
    fs::write(page.path().join("index.html"), text).unwrap();
    fs::create_dir(page.path().join("assets")).unwrap();
    fs::write(page.path().join("assets/page.js"), "// a page").unwrap();
    let folder = page.path().to_owned();
    serve(page, |lab| lab.arg("--page").arg(folder)).unwrap()
}

/// Starts the server; the error is what it prints if it does not start.
fn serve(page: TempDir, change: impl FnOnce(&mut Command) -> &mut Command) -> Result<Lab, String> {
    let mut lab = Command::new(env!("CARGO_BIN_EXE_switchwright"));
    lab.args(["lab", "--json"]).stdin(Stdio::null());
    let mut child = change(&mut lab).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    while serde_json::from_str::<Value>(&said).is_err() {
        assert_ne!(output.read_line(&mut said).unwrap(), 0, "{said}");
    }
    let ready: Value = serde_json::from_str(&said).unwrap();
    let Some(address) = ready["address"].as_str() else {
        assert_eq!(child.wait().unwrap().code(), Some(2), "{said}");
        return Err(said);
    };
    let rest = address.strip_prefix("http://").unwrap();
    let (host, token) = rest.trim_end_matches('/').split_once('/').unwrap();
    Ok(Lab {
        host: host.to_owned(),
        token: token.to_owned(),
        child,
        _page: page,
    })
}

impl Lab {
    /// The status and the text that a request is answered with.
    fn ask(&self, head: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        let length = body.len();
        let request = format!("{head}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        // A server that refuses need not read all of it.
        let _ = stream.write_all(body.as_bytes());
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let status = answer.split(' ').nth(1).unwrap_or_default().parse();
        let text = answer.split_once("\r\n\r\n").map_or("", |(_, text)| text);
        (status.unwrap_or(0), text.to_owned())
    }

    /// The same of a request by the page itself.
    fn call(&self, request: &Value) -> (u16, String) {
        let head = format!(
            "POST /{}/call HTTP/1.1\r\nHost: {1}\r\nOrigin: http://{1}",
            self.token, self.host
        );
        self.ask(&head, &request.to_string())
    }
}

#[test]
fn nobody_but_the_page_itself_is_answered() {
    let lab = start();
    let (host, token) = (&lab.host, &lab.token);
    assert!(host.starts_with("127.0.0.1:") && token.len() == 32);
    let get = |path: &str, host: &str| lab.ask(&format!("GET {path} HTTP/1.1\r\nHost: {host}"), "");
    let page = get(&format!("/{token}/"), host);
    assert!(
        page.0 == 200 && page.1.contains(r#"content="local""#),
        "{page:?}"
    );
    assert_eq!(get(&format!("/{token}/assets/page.js"), host).0, 200);
    for path in [
        "/",
        "/call",
        &format!("/{}/", "0".repeat(32)),
        &format!("/{token}"),
        &format!("/{token}/../Cargo.toml"),
        &format!("/{token}/%2e%2e/Cargo.toml"),
    ] {
        assert_eq!(get(path, host).0, 404, "{path}");
    }
    assert_eq!(get(&format!("/{token}/"), "example.com").0, 403);
    let about = r#"{"call":"about"}"#;
    let port = host.rsplit(':').next().unwrap();
    for (status, more) in [
        (200, format!("Host: {host}\r\nOrigin: http://{host}")),
        (
            200,
            format!("Host: localhost:{port}\r\nOrigin: http://localhost:{port}"),
        ),
        (403, format!("Host: {host}\r\nOrigin: http://example.com")),
        (403, format!("Host: {host}\r\nOrigin: http://127.0.0.1:1")),
        (403, format!("Host: {host}\r\nOrigin: null")),
        (403, format!("Host: {host}")),
        (403, format!("Host: example.com\r\nOrigin: http://{host}")),
    ] {
        let head = format!("POST /{token}/call HTTP/1.1\r\n{more}");
        assert_eq!(lab.ask(&head, about).0, status, "{more}");
    }
}

#[test]
fn what_is_asked_neither_hangs_nor_crashes_it() {
    let lab = start();
    let fine = json!({ "call": "about" });
    assert_eq!(lab.call(&fine).0, 200);
    let large = json!({ "call": "compile", "text": " ".repeat(5 << 20) });
    // The answer may be lost with what is sent in vain.
    assert!(matches!(lab.call(&large).0, 413 | 0));
    let wide = "bit<8> f;".repeat(100_000);
    let deep = format!("{}1{}", "(".repeat(100_000), ")".repeat(100_000));
    for text in [
        format!("header h_t {{ {wide} }}"),
        format!("const bit<8> a = {deep};"),
        "#include \"/etc/passwd\"".to_owned(),
    ] {
        let (status, answer) = lab.call(&json!({ "call": "compile", "text": text }));
        assert!(status == 200 && !answer.contains("root:"), "{answer}");
    }
    let huge = json!({ "make": { "topology": { "fat-tree": { "k": 254 } } } });
    let (status, answer) = lab.call(&json!({ "call": "plan", "topology": huge }));
    assert!(status == 200 && answer.contains("limited to"), "{answer}");
    // An engine that is killed begins anew.
    let engines = Command::new("pgrep")
        .args(["-P", &lab.child.id().to_string()])
        .output();
    let engines = engines.map(|found| String::from_utf8_lossy(&found.stdout).into_owned());
    for engine in engines.unwrap_or_default().lines() {
        kill(
            Pid::from_raw(engine.trim().parse().unwrap()),
            Signal::SIGKILL,
        )
        .unwrap();
        assert!(matches!(lab.call(&fine).0, 200 | 503));
    }
    assert_eq!(lab.call(&fine).0, 200);
}

#[test]
fn an_interrupt_ends_it_and_its_engine() {
    let mut lab = start();
    assert_eq!(lab.call(&json!({ "call": "about" })).0, 200);
    kill(Pid::from_raw(lab.child.id() as i32), Signal::SIGINT).unwrap();
    assert!(lab.child.wait().unwrap().success());
    assert!(TcpStream::connect(&lab.host).is_err());
}

#[test]
fn the_program_has_the_page_where_npm_was_found() {
    let empty = TempDir::new().unwrap();
    let folder = empty.path().to_owned();
    let lab = match serve(empty, |lab| lab.current_dir(folder)) {
        Ok(lab) => lab,
        Err(said) => {
            let error = &serde_json::from_str::<Value>(&said).unwrap()["error"];
            let help = error["help"].as_str().unwrap();
            assert!(help.contains("SWITCHWRIGHT_PAGE=required"), "{said}");
            assert!(!help.contains('\n'), "{said}");
            println!("skipped the page of the program: {}", error["message"]);
            return;
        }
    };
    let get = |name: &str| {
        let head = format!("GET /{}/{name} HTTP/1.1\r\nHost: {}", lab.token, lab.host);
        lab.ask(&head, "")
    };
    let (status, page) = get("");
    assert!(
        status == 200 && page.contains(r#"content="local""#),
        "{page}"
    );
    let names = page.split('"').filter(|word| word.starts_with("./assets/"));
    let mut found = 0;
    for name in names {
        let (status, text) = get(name.trim_start_matches("./"));
        assert!(status == 200 && !text.is_empty(), "{name}");
        found += 1;
    }
    assert!(found >= 2, "{page}");
}
