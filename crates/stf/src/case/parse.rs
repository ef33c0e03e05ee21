//! From lines to statements.

use num_traits::ToPrimitive as _;

use super::lex::{Token, lex};
use super::{
    ActionText, Case, CellName, Comparison, CounterPart, EntryText, GroupMemberText, Match, Number,
    ParseError, Pattern, Rate, Statement,
};

/// Reads a case file. The first error ends it.
pub fn parse(text: &str) -> Result<Case, ParseError> {
    let mut case = Case::default();
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let (keyword, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let keyword = keyword.to_ascii_lowercase();
        let statement = match keyword.as_str() {
            "packet" => packet(rest, number)?,
            "expect" => expect(rest, number)?,
            _ => {
                let mut words = Words {
                    tokens: lex(rest, number)?,
                    next: 0,
                    line: number,
                };
                let statement = words.statement(&keyword)?;
                words.end()?;
                statement
            }
        };
        case.statements.push((number, statement));
    }
    Ok(case)
}

fn error<T>(line: usize, message: impl Into<String>) -> Result<T, ParseError> {
    Err(ParseError {
        line,
        message: message.into(),
    })
}

/// The port and the digits behind it.
fn port_and_digits(rest: &str, line: usize) -> Result<(u16, String), ParseError> {
    let (port, digits) = rest
        .trim()
        .split_once(char::is_whitespace)
        .unwrap_or((rest.trim(), ""));
    let Ok(port) = port.parse() else {
        return error(line, format!("`{port}` is not a port number"));
    };
    let digits = digits
        .chars()
        .filter(|c| !c.is_whitespace())
        .collect::<String>();
    Ok((port, digits.to_ascii_uppercase()))
}

fn packet(rest: &str, line: usize) -> Result<Statement, ParseError> {
    let (port, digits) = port_and_digits(rest, line)?;
    if !digits.is_ascii() || digits.len() % 2 != 0 {
        return error(
            line,
            "a packet is a whole number of bytes, two hexadecimal digits each",
        );
    }
    let byte = |i: usize| u8::from_str_radix(&digits[i..i + 2], 16);
    match (0..digits.len()).step_by(2).map(byte).collect() {
        Ok(bytes) => Ok(Statement::Packet { port, bytes }),
        Err(_) => error(line, "packet data are hexadecimal digits"),
    }
}

fn expect(rest: &str, line: usize) -> Result<Statement, ParseError> {
    let (port, digits) = port_and_digits(rest, line)?;
    if digits.is_empty() {
        return Ok(Statement::Expect {
            port,
            pattern: None,
        });
    }
    let (digits, exact_length) = match digits.strip_suffix('$') {
        Some(digits) => (digits.to_owned(), true),
        None => (digits, false),
    };
    if !digits.chars().all(|c| c.is_ascii_hexdigit() || c == '*') {
        return error(
            line,
            "expected data are hexadecimal digits, `*`, and `$` at the end",
        );
    }
    Ok(Statement::Expect {
        port,
        pattern: Some(Pattern {
            digits,
            exact_length,
        }),
    })
}

/// The rest of a statement, read from left to right.
struct Words {
    tokens: Vec<Token>,
    next: usize,
    line: usize,
}

impl Words {
    fn fail<T>(&self, message: impl Into<String>) -> Result<T, ParseError> {
        error(self.line, message)
    }

    fn peek(&self, ahead: usize) -> Option<&Token> {
        self.tokens.get(self.next + ahead)
    }

    fn end(&self) -> Result<(), ParseError> {
        match self.peek(0) {
            None => Ok(()),
            Some(token) => self.fail(format!("{token:?} follows the end of the statement")),
        }
    }

    fn word(&mut self, what: &str) -> Result<String, ParseError> {
        match self.peek(0) {
            Some(Token::Word(word)) => {
                let word = word.clone();
                self.next += 1;
                Ok(word)
            }
            other => self.fail(format!("{what} expected, {other:?} found")),
        }
    }

    /// Whether the next piece is this sign; if so it is taken.
    fn sign(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(0), Some(Token::Sign(s)) if *s == sign);
        self.next += usize::from(found);
        found
    }

    fn must(&mut self, sign: &str) -> Result<(), ParseError> {
        if self.sign(sign) {
            Ok(())
        } else {
            self.fail(format!("`{sign}` expected"))
        }
    }

    fn number(&mut self) -> Result<Number, ParseError> {
        let word = self.word("a number")?;
        match Number::parse(&word) {
            Some(number) => Ok(number),
            None => self.fail(format!("`{word}` is not a number")),
        }
    }

    fn integer<T: TryFrom<u64>>(&mut self) -> Result<T, ParseError> {
        let number = self.number()?;
        match number.value.to_u64().and_then(|v| T::try_from(v).ok()) {
            Some(value) if !number.has_stars => Ok(value),
            _ => self.fail(format!("{} is out of range", number.value)),
        }
    }

    fn integers<T: TryFrom<u64>>(&mut self) -> Result<Vec<T>, ParseError> {
        let mut list = Vec::new();
        while self.peek(0).is_some() {
            list.push(self.integer()?);
        }
        Ok(list)
    }

    fn statement(&mut self, keyword: &str) -> Result<Statement, ParseError> {
        let name = "a name";
        Ok(match keyword {
            "add" => self.add()?,
            "setdefault" => Statement::SetDefault {
                table: self.word("a table")?,
                action: self.action()?,
            },
            "remove" => match self.word("`all`")?.to_ascii_lowercase().as_str() {
                "all" => Statement::RemoveAll,
                other => return self.fail(format!("`remove {other}`: only `remove all` is known")),
            },
            "no_packet" => Statement::NoPacket,
            "wait" => {
                let milliseconds = if self.peek(0).is_some() {
                    self.integer()?
                } else {
                    0
                };
                Statement::Wait { milliseconds }
            }
            "check_counter" => self.check_counter()?,
            "check_register" => {
                let register = self.word(name)?;
                self.must("(")?;
                let index = self.integer()?;
                self.must(")")?;
                let comparison = self.comparison()?;
                Statement::CheckRegister {
                    register,
                    index,
                    comparison,
                    value: self.integer()?,
                }
            }
            "mc_mgrp_create" => Statement::MulticastGroup {
                group: self.integer()?,
            },
            "mc_node_create" => Statement::MulticastNode {
                rid: self.integer()?,
                ports: self.integers()?,
            },
            "mc_node_update" => Statement::MulticastNodeUpdate {
                node: self.integer()?,
                ports: self.integers()?,
            },
            "mc_node_associate" => Statement::MulticastAssociate {
                group: self.integer()?,
                node: self.integer()?,
            },
            "mirroring_add" => Statement::Mirror {
                session: self.integer()?,
                port: self.integer()?,
            },
            "mirroring_add_mc" => Statement::MirrorGroup {
                session: self.integer()?,
                group: self.integer()?,
            },
            "mirroring_delete" => Statement::MirrorDelete {
                session: self.integer()?,
            },
            "mirroring_get" => Statement::MirrorGet {
                session: self.integer()?,
            },
            "counter_read" => Statement::CounterRead {
                counter: self.word(name)?,
                index: self.integer()?,
            },
            "counter_write" => Statement::CounterWrite {
                counter: self.word(name)?,
                index: self.integer()?,
                packets: self.integer()?,
                bytes: self.integer()?,
            },
            "register_read" => Statement::RegisterRead {
                register: self.word(name)?,
                index: self.integer()?,
            },
            "register_write" => Statement::RegisterWrite {
                register: self.word(name)?,
                index: self.integer()?,
                value: self.number()?,
            },
            "register_reset" => Statement::RegisterReset {
                register: self.word(name)?,
            },
            "meter_get_rates" => Statement::MeterGetRates {
                meter: self.word(name)?,
                index: self.integer()?,
            },
            "meter_set_rates" => Statement::MeterSetRates {
                meter: self.word(name)?,
                index: Some(self.integer()?),
                rates: self.rates()?,
            },
            "meter_array_set_rates" => Statement::MeterSetRates {
                meter: self.word(name)?,
                index: None,
                rates: self.rates()?,
            },
            "member" => Statement::Member {
                profile: self.word(name)?,
                id: self.integer()?,
                action: self.action()?,
            },
            "group" => self.group()?,
            "port_up" | "port_down" => Statement::Port {
                port: self.integer()?,
                up: keyword == "port_up",
            },
            "value_set" => Statement::ValueSet {
                set: self.word(name)?,
                members: self.members()?,
            },
            "check_digest" => Statement::CheckDigest {
                digest: self.word(name)?,
                values: self.numbers()?,
            },
            "no_digest" => Statement::NoDigest,
            "check_queue" => Statement::CheckQueue {
                port: self.integer()?,
                queue: self.integer()?,
            },
            other => return self.fail(format!("`{other}` is not a statement")),
        })
    }

    fn numbers(&mut self) -> Result<Vec<Number>, ParseError> {
        let mut list = Vec::new();
        while self.peek(0).is_some() {
            list.push(self.number()?);
        }
        Ok(list)
    }

    /// Members of a value set: one match each, or as many as the set has fields, with commas.
    fn members(&mut self) -> Result<Vec<Vec<Match>>, ParseError> {
        let mut members = Vec::new();
        while self.peek(0).is_some() {
            let mut member = vec![self.key_match()?];
            while self.sign(",") {
                member.push(self.key_match()?);
            }
            members.push(member);
        }
        Ok(members)
    }

    fn add(&mut self) -> Result<Statement, ParseError> {
        let table = self.word("a table")?;
        // A word without a colon or parenthesis behind it is the priority.
        let plain = matches!(self.peek(0), Some(Token::Word(_)))
            && !matches!(self.peek(1), Some(Token::Sign(":" | "(")));
        let priority = if plain {
            Some(self.integer::<u32>()? as i32)
        } else {
            None
        };
        let mut key = Vec::new();
        while matches!(self.peek(1), Some(Token::Sign(":"))) {
            let field = self.word("a key")?;
            self.must(":")?;
            key.push((field, self.key_match()?));
        }
        let action = if self.sign("@") {
            let kind = self.word("`member` or `group`")?;
            self.must("(")?;
            let id = self.integer()?;
            self.must(")")?;
            match kind.as_str() {
                "member" => EntryText::Member(id),
                "group" => EntryText::Group(id),
                other => return self.fail(format!("`@{other}`: `@member` or `@group` expected")),
            }
        } else {
            EntryText::Action(self.action()?)
        };
        let id = if self.sign("=") {
            Some(self.word("a name for the entry")?)
        } else {
            None
        };
        Ok(Statement::Add {
            table,
            priority,
            key,
            action,
            id,
        })
    }

    fn key_match(&mut self) -> Result<Match, ParseError> {
        if matches!(self.peek(0), Some(Token::Word(word)) if word == "*") {
            self.next += 1;
            let zero = Number::plain(0);
            return Ok(Match::Mask(zero.clone(), zero));
        }
        let value = self.number()?;
        Ok(if self.sign("/") {
            Match::Prefix(value, self.integer()?)
        } else if self.sign("&&&") {
            Match::Mask(value, self.number()?)
        } else if self.sign("..") {
            Match::Range(value, self.number()?)
        } else {
            Match::Value(value)
        })
    }

    fn action(&mut self) -> Result<ActionText, ParseError> {
        let name = self.word("an action")?;
        let mut args = Vec::new();
        self.must("(")?;
        while !self.sign(")") {
            if !args.is_empty() {
                self.must(",")?;
            }
            let parameter = self.word("a parameter")?;
            self.must(":")?;
            args.push((parameter, self.number()?));
        }
        Ok(ActionText { name, args })
    }

    fn comparison(&mut self) -> Result<Comparison, ParseError> {
        let all = [
            ("==", Comparison::Eq),
            ("!=", Comparison::Ne),
            ("<=", Comparison::Le),
            (">=", Comparison::Ge),
            ("<", Comparison::Lt),
            (">", Comparison::Gt),
        ];
        for (sign, comparison) in all {
            if self.sign(sign) {
                return Ok(comparison);
            }
        }
        self.fail("a comparison expected")
    }

    fn check_counter(&mut self) -> Result<Statement, ParseError> {
        let counter = self.word("a counter")?;
        self.must("(")?;
        let cell = self.word("an index or the name of an entry")?;
        self.must(")")?;
        let index = Number::parse(&cell).and_then(|n| n.value.to_usize());
        let cell = match index {
            Some(index) => CellName::Index(index),
            None => CellName::Entry(cell.trim_start_matches('$').to_owned()),
        };
        let check = match self.peek(0) {
            None => None,
            Some(_) => {
                let part = match self
                    .word("`packets` or `bytes`")?
                    .to_ascii_lowercase()
                    .as_str()
                {
                    "packets" => CounterPart::Packets,
                    "bytes" => CounterPart::Bytes,
                    other => return self.fail(format!("`{other}`: `packets` or `bytes` expected")),
                };
                Some((part, self.comparison()?, self.integer()?))
            }
        };
        Ok(Statement::CheckCounter {
            counter,
            cell,
            check,
        })
    }

    /// Rates are per microsecond, with a decimal point.
    fn rates(&mut self) -> Result<Vec<Rate>, ParseError> {
        let mut rates = Vec::new();
        while self.peek(0).is_some() {
            let word = self.word("a rate")?;
            let per_second = match word.parse::<f64>() {
                Ok(rate) if rate >= 0.0 && rate.is_finite() => (rate * 1e6).round() as u64,
                _ => return self.fail(format!("`{word}` is not a rate")),
            };
            self.must(":")?;
            rates.push(Rate {
                per_second,
                burst: self.integer()?,
            });
        }
        Ok(rates)
    }

    fn group(&mut self) -> Result<Statement, ParseError> {
        let profile = self.word("an action profile")?;
        let id = self.integer()?;
        let mut members = Vec::new();
        while self.peek(0).is_some() {
            let member = self.integer()?;
            let weight = if self.sign(":") { self.integer()? } else { 1 };
            let watch_port = if self.sign("@") {
                Some(self.integer()?)
            } else {
                None
            };
            members.push(GroupMemberText {
                member,
                weight,
                watch_port,
            });
        }
        Ok(Statement::Group {
            profile,
            id,
            members,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Statement {
        parse(text).unwrap().statements.remove(0).1
    }

    fn n(word: &str) -> Number {
        Number::parse(word).unwrap()
    }

    #[test]
    fn a_key_may_be_named_by_a_slice() {
        let keys = |text: &str| match one(text) {
            Statement::Add { key, priority, .. } => (
                priority,
                key.into_iter().map(|(name, _)| name).collect::<Vec<_>>(),
            ),
            other => panic!("{other:?}"),
        };
        assert_eq!(
            keys("add t hdr.a.v[3:0]:0x5 a[1:2].x[7:4]:1..2 s[1].f:3 a()"),
            (
                None,
                vec![
                    "hdr.a.v[3:0]".into(),
                    "a[1:2].x[7:4]".into(),
                    "s[1].f".into()
                ]
            )
        );
        assert_eq!(
            keys("add t 7 v[3:0]:0x5 a()"),
            (Some(7), vec!["v[3:0]".into()])
        );
        // A bracket that is not closed takes no colon.
        assert_eq!(keys("add t a[1:5 b()"), (None, vec!["a[1".into()]));
    }

    #[test]
    fn entries_in_all_forms() {
        let action = |name: &str, args: &[(&str, &str)]| ActionText {
            name: name.into(),
            args: args.iter().map(|(k, v)| ((*k).to_owned(), n(v))).collect(),
        };
        assert_eq!(
            one("ADD test1 100 extra$0.h:0x25** a.b:7 act1(val:0x25, port:2) = A # why"),
            Statement::Add {
                table: "test1".into(),
                priority: Some(100),
                key: vec![
                    ("extra$0.h".into(), Match::Value(n("0x25**"))),
                    ("a.b".into(), Match::Value(n("7"))),
                ],
                action: EntryText::Action(action("act1", &[("val", "0x25"), ("port", "2")])),
                id: Some("A".into()),
            }
        );
        assert_eq!(
            one("add t k:0x0a00/8 m:0x1&&&0x3 r:5..9 o:* @group(4)"),
            Statement::Add {
                table: "t".into(),
                priority: None,
                key: vec![
                    ("k".into(), Match::Prefix(n("0x0a00"), 8)),
                    ("m".into(), Match::Mask(n("0x1"), n("0x3"))),
                    ("r".into(), Match::Range(n("5"), n("9"))),
                    ("o".into(), Match::Mask(n("0"), n("0"))),
                ],
                action: EntryText::Group(4),
                id: None,
            }
        );
    }

    #[test]
    fn packets_and_patterns() {
        assert_eq!(
            one("packet 3 0a 0B\t0c0D"),
            Statement::Packet {
                port: 3,
                bytes: vec![10, 11, 12, 13]
            }
        );
        let pattern = Pattern {
            digits: "0A**F".into(),
            exact_length: true,
        };
        assert_eq!(
            one("expect 1 0a ** f $"),
            Statement::Expect {
                port: 1,
                pattern: Some(pattern)
            }
        );
        assert_eq!(
            one("expect 5"),
            Statement::Expect {
                port: 5,
                pattern: None
            }
        );
    }

    #[test]
    fn rates_counters_groups() {
        assert_eq!(
            one("meter_set_rates c.m 2 0.000005:4 0.00002:5"),
            Statement::MeterSetRates {
                meter: "c.m".into(),
                index: Some(2),
                rates: vec![
                    Rate {
                        per_second: 5,
                        burst: 4
                    },
                    Rate {
                        per_second: 20,
                        burst: 5
                    }
                ],
            }
        );
        assert_eq!(
            one("check_counter cnt($A) bytes >= 64"),
            Statement::CheckCounter {
                counter: "cnt".into(),
                cell: CellName::Entry("A".into()),
                check: Some((CounterPart::Bytes, Comparison::Ge, 64)),
            }
        );
        let member = |member, weight, watch_port| GroupMemberText {
            member,
            weight,
            watch_port,
        };
        assert_eq!(
            one("group ecmp 7 1 2:3 4:1@9"),
            Statement::Group {
                profile: "ecmp".into(),
                id: 7,
                members: vec![
                    member(1, 1, None),
                    member(2, 3, None),
                    member(4, 1, Some(9))
                ],
            }
        );
    }

    #[test]
    fn errors_have_lines() {
        let message = |text: &str| parse(text).unwrap_err().to_string();
        assert_eq!(
            message("\n# c\nfly away"),
            "line 3: `fly` is not a statement"
        );
        assert_eq!(
            message("packet 1 0a0"),
            "line 1: a packet is a whole number of bytes, two hexadecimal digits each"
        );
        assert_eq!(message("add t k:zz a()"), "line 1: `zz` is not a number");
        assert_eq!(
            message("wait 1 2"),
            "line 1: Word(\"2\") follows the end of the statement"
        );
    }
}
