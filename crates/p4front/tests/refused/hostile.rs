//! Damaged programs are refused or accepted, never a panic. Set `P4C_TESTDATA` to p4c's `testdata`
//! folder to damage p4c's v1model samples as well.

use std::path::PathBuf;

use p4front::source::SourceMap;
use p4front::{Options, compile};

const PROGRAM: &str = include_str!("hostile.p4");

/// A small generator, so that every run damages the same way.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n.max(1) as u64) as usize
    }
}

/// Cuts a text into words and single characters.
fn pieces(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let word = |c: char| c.is_alphanumeric() || c == '_';
    for c in text.chars() {
        match out.last_mut() {
            Some(last) if word(c) && last.chars().all(word) => last.push(c),
            _ => out.push(c.to_string()),
        }
    }
    out
}

/// Drops, doubles or exchanges a few pieces.
fn damage(pieces: &[String], random: &mut Random) -> String {
    let mut all = pieces.to_vec();
    for _ in 0..=random.below(3) {
        let (i, j) = (random.below(all.len()), random.below(all.len()));
        match random.below(4) {
            0 => drop(all.remove(i)),
            1 => all.insert(i, all[j].clone()),
            2 => all.swap(i, j),
            _ => all[i] = all[j].clone(),
        }
    }
    all.concat()
}

fn survive(text: &str, options: &Options) -> bool {
    let mut map = SourceMap::new();
    let main = map.add("t.p4", text).expect("small");
    compile(&mut map, main, options).is_ok()
}

#[test]
fn damaged_program() {
    let options = Options::default();
    assert!(survive(PROGRAM, &options), "the undamaged program is good");
    let pieces = pieces(PROGRAM);
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for _ in 0..400 {
        survive(&damage(&pieces, &mut random), &options);
    }
}

#[test]
fn damaged_samples_of_p4c() {
    let Some(testdata) = std::env::var_os("P4C_TESTDATA").map(PathBuf::from) else {
        return;
    };
    let mut files: Vec<_> = std::fs::read_dir(testdata.join("p4_16_samples"))
        .expect("P4C_TESTDATA has p4_16_samples")
        .filter_map(|e| Some(e.ok()?.path()))
        .filter(|p| p.to_string_lossy().ends_with("-bmv2.p4"))
        .collect();
    files.sort();
    let mut random = Random(42);
    for file in files {
        let text = String::from_utf8_lossy(&std::fs::read(&file).expect("readable")).into_owned();
        let pieces = pieces(&text);
        for _ in 0..20 {
            survive(&damage(&pieces, &mut random), &Options::default());
        }
    }
}

#[test]
fn endless_constructions_end() {
    let options = Options::default();
    let cases = [
        "control C() { C() a; C() b; apply { a.apply(); b.apply(); } }".to_owned(),
        "const bit<8> a = b; const bit<8> b = a;".to_owned(),
        "struct s { s x; } const bit<8> w = 1; bit<8> f(in bit<8> x) { return g(x); }".to_owned(),
        format!("const bit<8> a = {}1;", "1 + ".repeat(5_000)),
        format!(
            "const bit<8> a = {}1{};",
            "(".repeat(5_000),
            ")".repeat(5_000)
        ),
        "const int a = 1 << 4000000000; const int b = 1 << 60000; const int c = b * b * b;"
            .to_owned(),
        "struct s { bit<4294967295> x; } header h { bit<8> x; } struct t { h[4294967295] y; }"
            .to_owned(),
    ];
    for text in &cases {
        survive(text, &options);
    }
}
