//! P4Info of the package as a whole.

use p4runtime::p4::config::v1::PkgInfo;
use p4runtime::p4::config::v1::expression::Value;
use p4runtime::p4::config::v1::structured_annotation::Body;

use super::build::Builder;
use super::constant;
use super::int32;
use super::notes::{Notes, notes};
use crate::annotations;
use crate::ast::{self, AnnotationBody};

/// Annotations of `main` whose values are fields of the message.
const FIELDS: [&str; 2] = ["pkginfo", "platform_property"];

impl Builder<'_, '_> {
    pub(super) fn pkg_info(&mut self, program: &ast::Program) {
        let is_main = |d: &&ast::Decl| d.name().is_some_and(|n| &*n.name == "main");
        let main = program.decls.iter().find(is_main);
        let pkg = main.map(|main| self.package(&main.annotations));
        self.info.pkg_info = Some(pkg.unwrap_or_default());
    }

    fn package(&self, list: &[ast::Annotation]) -> PkgInfo {
        let package = &self.ir.main.type_name;
        let Notes {
            plain, structured, ..
        } = notes(list, &FIELDS);
        let mut pkg = PkgInfo {
            arch: match self.ir.architecture {
                Some(known) if known.package() == package => known.name().to_owned(),
                _ => package.clone(),
            },
            annotations: plain,
            ..PkgInfo::default()
        };
        for annotation in structured {
            if !FIELDS.contains(&annotation.name.as_str()) {
                pkg.structured_annotations.push(annotation);
            } else if let Some(Body::KvPairList(list)) = annotation.body {
                for pair in list.kv_pairs {
                    set(&mut pkg, &pair.key, pair.value.and_then(|e| e.value));
                }
            }
        }
        for a in list {
            let unparsed = matches!(a.body, AnnotationBody::Unstructured(_));
            if unparsed && FIELDS.contains(&&*a.name.name) {
                for kv in annotations::key_values(a).unwrap_or_default() {
                    set(
                        &mut pkg,
                        &kv.name.to_string(),
                        Some(constant::value(&kv.value)),
                    );
                }
            }
        }
        pkg
    }
}

/// A value of `@pkginfo` or `@platform_property`; keys that the message does not have are left out.
fn set(pkg: &mut PkgInfo, key: &str, value: Option<Value>) {
    match value {
        Some(Value::StringValue(text)) => {
            let field = match key {
                "name" => &mut pkg.name,
                "version" => &mut pkg.version,
                "arch" => &mut pkg.arch,
                "organization" => &mut pkg.organization,
                "contact" => &mut pkg.contact,
                "url" => &mut pkg.url,
                _ => return,
            };
            *field = text;
        }
        Some(Value::Int64Value(number)) => {
            let properties = pkg.platform_properties.get_or_insert_default();
            let field = match key {
                "multicast_group_table_size" => &mut properties.multicast_group_table_size,
                "multicast_group_table_total_replicas" => {
                    &mut properties.multicast_group_table_total_replicas
                }
                "multicast_group_table_max_replicas_per_entry" => {
                    &mut properties.multicast_group_table_max_replicas_per_entry
                }
                _ => return,
            };
            *field = int32(number);
        }
        Some(Value::BoolValue(_)) | None => {}
    }
}
