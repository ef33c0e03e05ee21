//! Whether a `switchwright lab` serves the page, and its engine answers.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::Value;

/// The longest that the server may take to start, or to answer.
const LONGEST: Duration = Duration::from_secs(60);

/// A command as it is shown.
pub(crate) fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}

/// A server that is ended with this.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts `lab`, which is `switchwright lab --json`, and fetches the page, one of its assets and an
/// answer of the engine. The server is ended.
///
/// # Errors
/// It did not start, or it does not serve these.
pub(crate) fn check(lab: &mut Command) -> Result<(), String> {
    let line = shown(lab);
    served(lab).map_err(|why| format!("`{line}`: {why}"))?;
    println!("xtask: `{line}` serves the page");
    Ok(())
}

fn served(lab: &mut Command) -> Result<(), String> {
    let child = lab.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
    let mut server = Server(child.map_err(|e| format!("it did not start: {e}"))?);
    let address = address(&mut server.0)?;
    let rest = address.strip_prefix("http://").unwrap_or(&address);
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let get = |name: &str| ask(host, &format!("GET /{path}{name}"), "");
    let page = get("")?;
    let asset = asset(&page).ok_or("the page names no script")?;
    if get(asset)?.is_empty() {
        return Err(format!("{asset} is empty"));
    }
    let answer = ask(host, &format!("POST /{path}call"), r#"{"call":"about"}"#)?;
    match answer.contains("\"version\"") {
        true => Ok(()),
        false => Err(format!("its engine answers: {answer}")),
    }
}

/// The address that the server prints when it is ready.
fn address(server: &mut Child) -> Result<String, String> {
    let (sender, lines) = mpsc::channel();
    if let Some(output) = server.stdout.take() {
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
    }
    let mut said = String::new();
    loop {
        let line = lines.recv_timeout(LONGEST);
        said += &line.map_err(|_| format!("it prints no address: {said}"))?;
        if let Ok(ready) = serde_json::from_str::<Value>(&said) {
            let address = ready["address"].as_str();
            return Ok(address.ok_or("its JSON has no address")?.to_owned());
        }
    }
}

/// The script that a page names.
fn asset(page: &str) -> Option<&str> {
    let (_, rest) = page.split_once("src=\"./")?;
    rest.split('"').next()
}

/// The body of an answer with status 200.
fn ask(host: &str, request: &str, body: &str) -> Result<String, String> {
    let failed = |e: std::io::Error| format!("{request}: {e}");
    let mut stream = TcpStream::connect(host).map_err(failed)?;
    stream.set_read_timeout(Some(LONGEST)).map_err(failed)?;
    let length = body.len();
    let head = format!(
        "{request} HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nContent-Type: application/json\r\n\
         Connection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(head.as_bytes()).map_err(failed)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).map_err(failed)?;
    let answer = String::from_utf8_lossy(&answer);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    match head.split(' ').nth(1) {
        Some("200") => Ok(body.to_owned()),
        _ => Err(format!(
            "{request}: {}",
            head.lines().next().unwrap_or("no answer")
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_of_a_page_is_found() {
        let page = r#"<script type="module" crossorigin src="./assets/index-1a.js"></script>"#;
        assert_eq!(asset(page), Some("assets/index-1a.js"));
        assert_eq!(asset("<title>none</title>"), None);
    }

    #[test]
    fn a_command_that_serves_nothing_is_an_error() {
        let why = check(Command::new("echo").arg("{}")).expect_err("it has no address");
        assert!(why.contains("no address"), "{why}");
        assert!(check(&mut Command::new("true")).is_err());
    }
}
