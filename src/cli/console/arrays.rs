//! `counter_*`, `register_*`, `meter_*`.

use std::fmt::Write as _;

use num_bigint::BigUint;
use p4runtime::p4::config::v1::Preamble;
use p4runtime::p4::v1::{self, entity::Entity, p4_data, update};

use super::{Outcome, Session, help, number};

/// Meters of simple_switch_CLI count per microsecond, P4Runtime's per second.
const PER_SECOND: f64 = 1_000_000.0;

/// The id of the object of this name or alias.
fn id_of<'a>(
    kind: &str,
    name: &str,
    objects: impl Iterator<Item = Option<&'a Preamble>> + Clone,
) -> Outcome<u32> {
    let objects = objects.flatten();
    let found = objects.clone().find(|p| p.name == name || p.alias == name);
    match found {
        Some(preamble) => Ok(preamble.id),
        None => {
            let known: Vec<&str> = objects.map(|p| p.name.as_str()).collect();
            let known = if known.is_empty() {
                "none".to_owned()
            } else {
                known.join(", ")
            };
            Err(format!("the program has no {kind} named '{name}'; it has {known}").into())
        }
    }
}

fn index_of(text: &str) -> Outcome<Option<v1::Index>> {
    Ok(Some(v1::Index {
        index: number(text)?,
    }))
}

impl Session {
    pub(super) fn arrays(&mut self, command: &str, words: &[&str]) -> Outcome {
        match (command, words) {
            ("counter_read", [counter, at]) => self.counter_read(counter, at),
            ("counter_write", [counter, at, packets, bytes]) => {
                let data = v1::CounterData {
                    packet_count: number(packets)?,
                    byte_count: number(bytes)?,
                };
                self.counter_write(counter, index_of(at)?, data)
            }
            ("counter_reset", [counter]) => {
                self.counter_write(counter, None, v1::CounterData::default())
            }
            ("register_read", [register]) => self.register_read(register, None),
            ("register_read", [register, at]) => self.register_read(register, index_of(at)?),
            ("register_write", [register, at, value]) => {
                self.register_write(register, index_of(at)?, value)
            }
            ("register_reset", [register]) => self.register_write(register, None, "0"),
            ("meter_set_rates", [meter, at, rates @ ..]) => {
                self.meter_set(meter, index_of(at)?, rates)
            }
            ("meter_array_set_rates", [meter, rates @ ..]) => self.meter_set(meter, None, rates),
            ("meter_get_rates", [meter, at]) => self.meter_get(meter, index_of(at)?),
            _ => Err(help::unknown_or_usage(command).into()),
        }
    }

    fn counter_id(&self, name: &str) -> Outcome<u32> {
        let counters = self.info()?.info().counters.iter();
        id_of("counter", name, counters.map(|c| c.preamble.as_ref()))
    }

    fn counter_read(&mut self, counter: &str, at: &str) -> Outcome {
        let direct = self.info()?.info().direct_counters.iter().find(|c| {
            let preamble = c.preamble.as_ref();
            preamble.is_some_and(|p| p.name == counter || p.alias == counter)
        });
        let data = match direct.map(|c| c.direct_table_id) {
            Some(table_id) => {
                let table = self
                    .info()?
                    .table_by_id(table_id)
                    .map_err(|e| e.to_string())?;
                let (name, wanted) = (table.name().to_owned(), at);
                let table_entry = Some(Box::new(self.at_handle(&name, wanted)?));
                let entry = v1::DirectCounterEntry {
                    table_entry,
                    data: None,
                };
                let found = self.fetch(Entity::DirectCounterEntry(entry))?;
                found.into_iter().find_map(|entity| match entity {
                    Entity::DirectCounterEntry(entry) => entry.data,
                    _ => None,
                })
            }
            None => {
                let counter_id = self.counter_id(counter)?;
                let entry = v1::CounterEntry {
                    counter_id,
                    index: index_of(at)?,
                    data: None,
                };
                let found = self.fetch(Entity::CounterEntry(entry))?;
                found.into_iter().find_map(|entity| match entity {
                    Entity::CounterEntry(entry) => entry.data,
                    _ => None,
                })
            }
        };
        let data = data.ok_or_else(|| format!("{counter} has no cell {at}"))?;
        Ok(format!(
            "{counter}[{at}]= ({} bytes, {} packets)",
            data.byte_count, data.packet_count
        ))
    }

    fn counter_write(
        &mut self,
        counter: &str,
        index: Option<v1::Index>,
        data: v1::CounterData,
    ) -> Outcome {
        let entry = v1::CounterEntry {
            counter_id: self.counter_id(counter)?,
            index,
            data: Some(data),
        };
        self.change(update::Type::Modify, Entity::CounterEntry(entry))?;
        Ok("Done".to_owned())
    }

    fn register_id(&self, name: &str) -> Outcome<u32> {
        let registers = self.info()?.info().registers.iter();
        id_of("register", name, registers.map(|r| r.preamble.as_ref()))
    }

    fn register_read(&mut self, register: &str, index: Option<v1::Index>) -> Outcome {
        let entry = v1::RegisterEntry {
            register_id: self.register_id(register)?,
            index,
            data: None,
        };
        let mut cells = Vec::new();
        for entity in self.fetch(Entity::RegisterEntry(entry))? {
            if let Entity::RegisterEntry(entry) = entity {
                cells.push((
                    entry.index.map_or(0, |i| i.index),
                    data_text(entry.data.as_ref()),
                ));
            }
        }
        cells.sort();
        let mut text = String::new();
        if index.is_some() {
            for (at, value) in cells {
                let _ = writeln!(text, "{register}[{at}]= {value}");
            }
        } else {
            let values: Vec<String> = cells.into_iter().map(|(_, value)| value).collect();
            let _ = writeln!(text, "{register}= {}", values.join(", "));
        }
        Ok(text)
    }

    fn register_write(&mut self, register: &str, index: Option<v1::Index>, value: &str) -> Outcome {
        let digits = value
            .strip_prefix("0x")
            .map(|digits| (digits, 16))
            .unwrap_or((value, 10));
        let value = BigUint::parse_bytes(digits.0.as_bytes(), digits.1)
            .ok_or_else(|| format!("'{value}' is not a number"))?;
        let bytes = value.to_bytes_be();
        let entry = v1::RegisterEntry {
            register_id: self.register_id(register)?,
            index,
            data: Some(v1::P4Data {
                data: Some(p4_data::Data::Bitstring(bytes)),
            }),
        };
        self.change(update::Type::Modify, Entity::RegisterEntry(entry))?;
        Ok("Done".to_owned())
    }

    fn meter_id(&self, name: &str) -> Outcome<u32> {
        let meters = self.info()?.info().meters.iter();
        id_of("meter", name, meters.map(|m| m.preamble.as_ref()))
    }

    fn meter_set(&mut self, meter: &str, index: Option<v1::Index>, rates: &[&str]) -> Outcome {
        let [(cir, cburst), (pir, pburst)] = match rates {
            [committed, peak] => [rate(committed)?, rate(peak)?],
            _ => {
                return Err(
                    "two rates are needed: RATE:BURST RATE:BURST, rates per microsecond".into(),
                );
            }
        };
        let entry = v1::MeterEntry {
            meter_id: self.meter_id(meter)?,
            index,
            config: Some(v1::MeterConfig {
                cir,
                cburst,
                pir,
                pburst,
                eburst: 0,
            }),
            counter_data: None,
        };
        self.change(update::Type::Modify, Entity::MeterEntry(entry))?;
        Ok("Done".to_owned())
    }

    fn meter_get(&mut self, meter: &str, index: Option<v1::Index>) -> Outcome {
        let entry = v1::MeterEntry {
            meter_id: self.meter_id(meter)?,
            index,
            ..Default::default()
        };
        let found = self.fetch(Entity::MeterEntry(entry))?;
        let config = found.into_iter().find_map(|entity| match entity {
            Entity::MeterEntry(entry) => entry.config,
            _ => None,
        });
        Ok(match config {
            None => "no rates are set: always green".to_owned(),
            Some(c) => format!(
                "0: info rate = {}, burst size = {}\n1: info rate = {}, burst size = {}",
                c.cir as f64 / PER_SECOND,
                c.cburst,
                c.pir as f64 / PER_SECOND,
                c.pburst
            ),
        })
    }
}

/// `RATE:BURST`, the rate per microsecond; per second in the answer.
fn rate(text: &str) -> Outcome<(i64, i64)> {
    let (rate, burst) = text
        .split_once(':')
        .ok_or_else(|| format!("'{text}' is not RATE:BURST"))?;
    let rate: f64 = number(rate)?;
    let per_second = rate * PER_SECOND;
    if !per_second.is_finite() || per_second < 0.0 || per_second > i64::MAX as f64 {
        return Err(format!("'{text}': the rate is out of range").into());
    }
    Ok((per_second.round() as i64, number(burst)?))
}

fn data_text(data: Option<&v1::P4Data>) -> String {
    match data.and_then(|d| d.data.as_ref()) {
        Some(p4_data::Data::Bitstring(bytes)) => BigUint::from_bytes_be(bytes).to_string(),
        Some(p4_data::Data::Bool(value)) => u8::from(*value).to_string(),
        Some(other) => format!("{other:?}"),
        None => "?".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_per_microsecond() {
        assert_eq!(rate("0.0002:3").expect("rate"), (200, 3));
        assert!(rate("1").is_err() && rate("x:1").is_err() && rate("-1:1").is_err());
        assert!(rate("NaN:1").is_err());
    }
}
