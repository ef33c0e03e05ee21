//! Prints the P4Info of a program in the protobuf text format, to be laid beside that of another compiler.

#![allow(clippy::print_stdout)]

use p4front::p4info::*;
use p4front::source::SourceMap;
use p4front::{Options, compile};

struct Out(usize);

impl Out {
    fn line(&self, text: impl AsRef<str>) {
        println!("{:w$}{}", "", text.as_ref(), w = self.0 * 2);
    }
    fn block(&self, name: &str, f: impl FnOnce(&Out)) {
        self.line(format!("{name} {{"));
        f(&Out(self.0 + 1));
        self.line("}");
    }
    fn num(&self, name: &str, v: impl Into<i64>) {
        let v = v.into();
        if v != 0 {
            self.line(format!("{name}: {v}"));
        }
    }
    fn text(&self, name: &str, v: &str) {
        if !v.is_empty() {
            self.bytes(name, v.as_bytes());
        }
    }
    fn bytes(&self, name: &str, v: &[u8]) {
        let text: String = v
            .iter()
            .map(|b| match b {
                b'"' => "\\\"".into(),
                b'\\' => "\\\\".into(),
                b'\'' => "\\'".into(),
                b'\n' => "\\n".into(),
                b'\r' => "\\r".into(),
                b'\t' => "\\t".into(),
                32..=126 => char::from(*b).to_string(),
                _ => format!("\\{b:03o}"),
            })
            .collect();
        self.line(format!("{name}: \"{text}\""));
    }
    fn notes(
        &self,
        plain: &[String],
        structured: &[StructuredAnnotation],
        doc: Option<&Documentation>,
    ) {
        plain.iter().for_each(|a| self.text("annotations", a));
        if let Some(d) = doc {
            self.block("doc", |o| {
                o.text("brief", &d.brief);
                o.text("description", &d.description);
            });
        }
        for s in structured {
            self.block("structured_annotations", |o| {
                o.text("name", &s.name);
                let one = |o: &Out, v: &AnnotationLiteral| match v {
                    AnnotationLiteral::Str(s) => o.line(format!("string_value: \"{s}\"")),
                    AnnotationLiteral::Int(i) => o.line(format!("int64_value: {i}")),
                    AnnotationLiteral::Bool(b) => o.line(format!("bool_value: {b}")),
                };
                if s.key_values {
                    o.block("kv_pair_list", |o| {
                        for (key, value) in &s.values {
                            o.block("kv_pairs", |o| {
                                o.text("key", key.as_deref().unwrap_or(""));
                                o.block("value", |o| one(o, value));
                            });
                        }
                    });
                } else if !s.values.is_empty() {
                    o.block("expression_list", |o| {
                        s.values
                            .iter()
                            .for_each(|(_, v)| o.block("expressions", |o| one(o, v)));
                    });
                }
            });
        }
    }
    fn preamble(&self, p: &Preamble) {
        self.block("preamble", |o| {
            o.num("id", p.id);
            o.text("name", &p.name);
            o.text("alias", &p.alias);
            o.notes(&p.annotations, &p.structured_annotations, p.doc.as_ref());
        });
    }
    fn named(&self, field: &str, name: Option<&str>) {
        if let Some(name) = name {
            self.block(field, |o| o.text("name", name));
        }
    }
    fn field(&self, label: &str, f: &MatchField) {
        self.block(label, |o| {
            o.num("id", f.id);
            o.text("name", &f.name);
            o.notes(&f.annotations, &[], None);
            o.num("bitwidth", f.bitwidth);
            match &f.match_type {
                MatchType::Other(s) => o.text("other_match_type", s),
                known => o.line(format!(
                    "match_type: {}",
                    format!("{known:?}").to_uppercase()
                )),
            }
            o.notes(&[], &[], f.doc.as_ref());
            o.named("type_name", f.type_name.as_deref());
            o.notes(&[], &f.structured_annotations, None);
        });
    }
    fn spec(&self, label: &str, t: &TypeSpec) {
        self.block(label, |o| match t {
            TypeSpec::Bit(_) | TypeSpec::Int(_) | TypeSpec::Varbit(_) => {
                o.block("bitstring", |o| o.bits(t))
            }
            TypeSpec::Bool => o.line("bool {\n  }"),
            TypeSpec::Error => o.line("error {\n  }"),
            TypeSpec::Tuple(all) => {
                o.block("tuple", |o| all.iter().for_each(|t| o.spec("members", t)))
            }
            TypeSpec::Struct(n) => o.named("struct", Some(n)),
            TypeSpec::Header(n) => o.named("header", Some(n)),
            TypeSpec::HeaderUnion(n) => o.named("header_union", Some(n)),
            TypeSpec::HeaderStack(n, size) => o.block("header_stack", |o| {
                o.named("header", Some(n));
                o.num("size", *size);
            }),
            TypeSpec::HeaderUnionStack(n, size) => o.block("header_union_stack", |o| {
                o.named("header_union", Some(n));
                o.num("size", *size);
            }),
            TypeSpec::Enum(n) => o.named("enum", Some(n)),
            TypeSpec::SerializableEnum(n) => o.named("serializable_enum", Some(n)),
            TypeSpec::NewType(n) => o.named("new_type", Some(n)),
        });
    }
    fn bits(&self, t: &TypeSpec) {
        match t {
            TypeSpec::Bit(w) => self.block("bit", |o| o.num("bitwidth", *w)),
            TypeSpec::Int(w) => self.block("int", |o| o.num("bitwidth", *w)),
            TypeSpec::Varbit(w) => self.block("varbit", |o| o.num("max_bitwidth", *w)),
            _ => {}
        }
    }
}

fn unit(o: &Out, u: Unit) {
    o.block("spec", |o| {
        o.line(format!("unit: {}", format!("{u:?}").to_uppercase()))
    });
}

fn main() {
    let mut options = Options::on_disk();
    let mut path = String::new();
    for arg in std::env::args().skip(1) {
        match arg.strip_prefix("-I") {
            Some(dir) => options.include_paths.push(dir.into()),
            None => path = arg,
        }
    }
    let mut map = SourceMap::new();
    let Ok(main) = map.load(std::path::Path::new(&path)) else {
        println!("cannot read {path}");
        return;
    };
    match compile(&mut map, main, &options) {
        Ok(compiled) => print(&compiled.p4info),
        Err(diags) => print!("{}", diags.render(&map)),
    }
}

fn print(p: &P4Info) {
    let o = Out(0);
    o.block("pkg_info", |o| {
        for key in ["name", "version"] {
            o.text(key, p.pkg_info.fields.get(key).map_or("", |s| s));
        }
        o.notes(&p.pkg_info.annotations, &[], None);
        o.text("arch", &p.pkg_info.arch);
        for key in ["organization", "contact", "url"] {
            o.text(key, p.pkg_info.fields.get(key).map_or("", |s| s));
        }
        o.notes(&[], &p.pkg_info.structured_annotations, None);
    });
    p.tables.iter().for_each(|t| table(&o, t));
    for a in &p.actions {
        o.block("actions", |o| {
            o.preamble(&a.preamble);
            for f in &a.params {
                o.block("params", |o| {
                    o.num("id", f.id);
                    o.text("name", &f.name);
                    o.notes(&f.annotations, &[], None);
                    o.num("bitwidth", f.bitwidth);
                    o.notes(&[], &[], f.doc.as_ref());
                    o.named("type_name", f.type_name.as_deref());
                    o.notes(&[], &f.structured_annotations, None);
                });
            }
        });
    }
    for a in &p.action_profiles {
        o.block("action_profiles", |o| {
            o.preamble(&a.preamble);
            a.table_ids.iter().for_each(|t| o.num("table_ids", *t));
            if a.with_selector {
                o.line("with_selector: true");
            }
            o.num("size", a.size);
            o.num("max_group_size", a.max_group_size.unwrap_or(0));
            match a.size_semantics {
                Some(SizeSemantics::SumOfWeights) => o.block("sum_of_weights", |_| {}),
                Some(SizeSemantics::SumOfMembers(w)) => {
                    o.block("sum_of_members", |o| {
                        o.num("max_member_weight", w.unwrap_or(0))
                    });
                }
                None => {}
            }
        });
    }
    for c in &p.counters {
        o.block("counters", |o| {
            o.preamble(&c.preamble);
            unit(o, c.unit);
            o.num("size", c.size);
            o.named("index_type_name", c.index_type_name.as_deref());
        });
    }
    for c in &p.direct_counters {
        o.block("direct_counters", |o| {
            o.preamble(&c.preamble);
            unit(o, c.unit);
            o.num("direct_table_id", c.direct_table_id);
        });
    }
    for m in &p.meters {
        o.block("meters", |o| {
            o.preamble(&m.preamble);
            unit(o, m.unit);
            o.num("size", m.size);
            o.named("index_type_name", m.index_type_name.as_deref());
        });
    }
    for m in &p.direct_meters {
        o.block("direct_meters", |o| {
            o.preamble(&m.preamble);
            unit(o, m.unit);
            o.num("direct_table_id", m.direct_table_id);
        });
    }
    for c in &p.controller_packet_metadata {
        o.block("controller_packet_metadata", |o| {
            o.preamble(&c.preamble);
            for f in &c.metadata {
                o.block("metadata", |o| {
                    o.num("id", f.id);
                    o.text("name", &f.name);
                    o.notes(&f.annotations, &[], None);
                    o.num("bitwidth", f.bitwidth);
                    o.named("type_name", f.type_name.as_deref());
                });
            }
        });
    }
    for v in &p.value_sets {
        o.block("value_sets", |o| {
            o.preamble(&v.preamble);
            v.fields.iter().for_each(|f| o.field("match", f));
            o.num("size", v.size);
        });
    }
    for r in &p.registers {
        o.block("registers", |o| {
            o.preamble(&r.preamble);
            o.spec("type_spec", &r.type_spec);
            o.num("size", r.size);
            o.named("index_type_name", r.index_type_name.as_deref());
        });
    }
    for d in &p.digests {
        o.block("digests", |o| {
            o.preamble(&d.preamble);
            o.spec("type_spec", &d.type_spec);
        });
    }
    if let Some(info) = &p.type_info {
        types(&o, info);
    }
}

fn table(o: &Out, t: &Table) {
    o.block("tables", |o| {
        o.preamble(&t.preamble);
        t.match_fields
            .iter()
            .for_each(|f| o.field("match_fields", f));
        for a in &t.action_refs {
            o.block("action_refs", |o| {
                o.num("id", a.id);
                o.notes(&a.annotations, &[], None);
                match a.scope {
                    Scope::TableAndDefault => {}
                    Scope::TableOnly => o.line("scope: TABLE_ONLY"),
                    Scope::DefaultOnly => o.line("scope: DEFAULT_ONLY"),
                }
                o.notes(&[], &a.structured_annotations, None);
            });
        }
        o.num(
            "const_default_action_id",
            t.const_default_action_id.unwrap_or(0),
        );
        if let Some(default) = &t.initial_default_action {
            o.block("initial_default_action", |o| {
                o.num("action_id", default.action_id);
                for arg in &default.arguments {
                    o.block("arguments", |o| {
                        o.num("param_id", arg.param_id);
                        o.bytes("value", &arg.value);
                    });
                }
            });
        }
        o.num("implementation_id", t.implementation_id.unwrap_or(0));
        t.direct_resource_ids
            .iter()
            .for_each(|id| o.num("direct_resource_ids", *id));
        o.num("size", t.size);
        if t.idle_timeout {
            o.line("idle_timeout_behavior: NOTIFY_CONTROL");
        }
        if t.is_const_table {
            o.line("is_const_table: true");
        }
        if t.has_initial_entries {
            o.line("has_initial_entries: true");
        }
    });
}

fn types(o: &Out, info: &TypeInfo) {
    let entry = |o: &Out, label: &str, key: &str, f: &dyn Fn(&Out)| {
        o.block(label, |o| {
            o.text("key", key);
            o.block("value", f);
        });
    };
    o.block("type_info", |o| {
        for (name, members) in &info.structs {
            entry(o, "structs", name, &|o| {
                for (n, t) in members {
                    o.block("members", |o| {
                        o.text("name", n);
                        o.spec("type_spec", t);
                    });
                }
            });
        }
        for (name, members) in &info.headers {
            entry(o, "headers", name, &|o| {
                for (n, t) in members {
                    o.block("members", |o| {
                        o.text("name", n);
                        o.block("type_spec", |o| o.bits(t));
                    });
                }
            });
        }
        for (name, members) in &info.header_unions {
            entry(o, "header_unions", name, &|o| {
                for (n, t) in members {
                    o.block("members", |o| {
                        o.text("name", n);
                        o.named("header", Some(t));
                    });
                }
            });
        }
        for (name, members) in &info.enums {
            entry(o, "enums", name, &|o| {
                members.iter().for_each(|m| o.named("members", Some(m)))
            });
        }
        if !info.errors.is_empty() {
            o.block("error", |o| {
                info.errors.iter().for_each(|e| o.text("members", e))
            });
        }
        for (name, e) in &info.serializable_enums {
            entry(o, "serializable_enums", name, &|o| {
                o.block("underlying_type", |o| o.num("bitwidth", e.bitwidth));
                for (n, v) in &e.members {
                    o.block("members", |o| {
                        o.text("name", n);
                        o.bytes("value", v);
                    });
                }
            });
        }
        for (name, t) in &info.new_types {
            entry(o, "new_types", name, &|o| {
                match &t.kind {
                    NewTypeKind::Original(spec) => o.spec("original_type", spec),
                    NewTypeKind::TranslatedBits { uri, bitwidth } => {
                        o.block("translated_type", |o| {
                            o.text("uri", uri);
                            o.num("sdn_bitwidth", *bitwidth);
                        })
                    }
                    NewTypeKind::TranslatedString { uri } => o.block("translated_type", |o| {
                        o.text("uri", uri);
                        o.block("sdn_string", |_| {});
                    }),
                }
                o.notes(&t.annotations, &t.structured_annotations, None);
            });
        }
    });
}
