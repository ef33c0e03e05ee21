//! P4Info as P4Runtime's message, from what the front end says of a program.

use p4front::p4info as plain;
use p4runtime::p4::config::v1::{
    self as proto, match_field, p4_data_type_spec, structured_annotation,
};

/// The message of a program's P4Info; in text format it is what p4c writes.
#[must_use]
pub fn message(info: &plain::P4Info) -> proto::P4Info {
    proto::P4Info {
        pkg_info: Some(package(&info.pkg_info)),
        tables: info.tables.iter().map(table).collect(),
        actions: info.actions.iter().map(action).collect(),
        action_profiles: info.action_profiles.iter().map(action_profile).collect(),
        counters: info.counters.iter().map(counter).collect(),
        direct_counters: info.direct_counters.iter().map(direct_counter).collect(),
        meters: info.meters.iter().map(meter).collect(),
        direct_meters: info.direct_meters.iter().map(direct_meter).collect(),
        controller_packet_metadata: info.controller_packet_metadata.iter().map(header).collect(),
        value_sets: info.value_sets.iter().map(value_set).collect(),
        registers: info.registers.iter().map(register).collect(),
        digests: info.digests.iter().map(digest).collect(),
        externs: Vec::new(),
        type_info: info.type_info.as_ref().map(type_info),
    }
}

fn package(info: &plain::PkgInfo) -> proto::PkgInfo {
    let field = |key: &str| info.fields.get(key).cloned().unwrap_or_default();
    let platform = |key: &str| info.platform_properties.get(key).map_or(0, |&n| int32(n));
    let properties = proto::PlatformProperties {
        multicast_group_table_size: platform("multicast_group_table_size"),
        multicast_group_table_total_replicas: platform("multicast_group_table_total_replicas"),
        multicast_group_table_max_replicas_per_entry: platform(
            "multicast_group_table_max_replicas_per_entry",
        ),
    };
    proto::PkgInfo {
        name: field("name"),
        version: field("version"),
        annotations: info.annotations.clone(),
        arch: info.arch.clone(),
        organization: field("organization"),
        contact: field("contact"),
        url: field("url"),
        structured_annotations: structured(&info.structured_annotations),
        platform_properties: (!info.platform_properties.is_empty()).then_some(properties),
        ..Default::default()
    }
}

fn preamble(preamble: &plain::Preamble) -> Option<proto::Preamble> {
    Some(proto::Preamble {
        id: preamble.id,
        name: preamble.name.clone(),
        alias: preamble.alias.clone(),
        annotations: preamble.annotations.clone(),
        doc: documentation(preamble.doc.as_ref()),
        structured_annotations: structured(&preamble.structured_annotations),
        ..Default::default()
    })
}

fn documentation(doc: Option<&plain::Documentation>) -> Option<proto::Documentation> {
    doc.map(|doc| proto::Documentation {
        brief: doc.brief.clone(),
        description: doc.description.clone(),
    })
}

fn structured(annotations: &[plain::StructuredAnnotation]) -> Vec<proto::StructuredAnnotation> {
    annotations.iter().map(structured_one).collect()
}

fn structured_one(annotation: &plain::StructuredAnnotation) -> proto::StructuredAnnotation {
    use structured_annotation::Body;
    let expression = |value: &plain::AnnotationLiteral| proto::Expression {
        value: Some(match value {
            plain::AnnotationLiteral::Str(text) => {
                proto::expression::Value::StringValue(text.clone())
            }
            plain::AnnotationLiteral::Int(number) => proto::expression::Value::Int64Value(*number),
            plain::AnnotationLiteral::Bool(truth) => proto::expression::Value::BoolValue(*truth),
        }),
    };
    let values = &annotation.values;
    let body = if annotation.key_values {
        let pair = |(key, value): &(Option<String>, plain::AnnotationLiteral)| {
            let (key, value) = (key.clone().unwrap_or_default(), Some(expression(value)));
            proto::KeyValuePair { key, value }
        };
        Some(Body::KvPairList(proto::KeyValuePairList {
            kv_pairs: values.iter().map(pair).collect(),
        }))
    } else if values.is_empty() {
        None
    } else {
        Some(Body::ExpressionList(proto::ExpressionList {
            expressions: values.iter().map(|(_, value)| expression(value)).collect(),
        }))
    };
    proto::StructuredAnnotation {
        name: annotation.name.clone(),
        body,
        source_location: None,
    }
}

fn named(name: &str) -> proto::P4NamedType {
    proto::P4NamedType {
        name: name.to_owned(),
    }
}

fn type_name(name: &Option<String>) -> Option<proto::P4NamedType> {
    name.as_deref().map(named)
}

fn table(table: &plain::Table) -> proto::Table {
    use proto::table::IdleTimeoutBehavior;
    let argument = |argument: &plain::ActionArgument| proto::table_action_call::Argument {
        param_id: argument.param_id,
        value: argument.value.clone(),
    };
    let call = |default: &plain::DefaultAction| proto::TableActionCall {
        action_id: default.action_id,
        arguments: default.arguments.iter().map(argument).collect(),
    };
    let timeout = if table.idle_timeout {
        IdleTimeoutBehavior::NotifyControl
    } else {
        IdleTimeoutBehavior::NoTimeout
    };
    proto::Table {
        preamble: preamble(&table.preamble),
        match_fields: table.match_fields.iter().map(match_field).collect(),
        action_refs: table.action_refs.iter().map(action_ref).collect(),
        const_default_action_id: table.const_default_action_id.unwrap_or_default(),
        initial_default_action: table.initial_default_action.as_ref().map(call),
        implementation_id: table.implementation_id.unwrap_or_default(),
        direct_resource_ids: table.direct_resource_ids.clone(),
        size: table.size,
        idle_timeout_behavior: timeout.into(),
        is_const_table: table.is_const_table,
        has_initial_entries: table.has_initial_entries,
        other_properties: None,
    }
}

fn match_field(field: &plain::MatchField) -> proto::MatchField {
    use match_field::{Match, MatchType};
    let known = |kind: MatchType| Match::MatchType(kind.into());
    proto::MatchField {
        id: field.id,
        name: field.name.clone(),
        annotations: field.annotations.clone(),
        bitwidth: width(field.bitwidth),
        r#match: Some(match &field.match_type {
            plain::MatchType::Exact => known(MatchType::Exact),
            plain::MatchType::Lpm => known(MatchType::Lpm),
            plain::MatchType::Ternary => known(MatchType::Ternary),
            plain::MatchType::Range => known(MatchType::Range),
            plain::MatchType::Optional => known(MatchType::Optional),
            plain::MatchType::Other(name) => Match::OtherMatchType(name.clone()),
        }),
        doc: documentation(field.doc.as_ref()),
        type_name: type_name(&field.type_name),
        structured_annotations: structured(&field.structured_annotations),
        ..Default::default()
    }
}

fn action_ref(action: &plain::ActionRef) -> proto::ActionRef {
    use proto::action_ref::Scope;
    let scope = match action.scope {
        plain::Scope::TableAndDefault => Scope::TableAndDefault,
        plain::Scope::TableOnly => Scope::TableOnly,
        plain::Scope::DefaultOnly => Scope::DefaultOnly,
    };
    proto::ActionRef {
        id: action.id,
        scope: scope.into(),
        annotations: action.annotations.clone(),
        structured_annotations: structured(&action.structured_annotations),
        ..Default::default()
    }
}

fn action(action: &plain::Action) -> proto::Action {
    let param = |param: &plain::ActionParam| proto::action::Param {
        id: param.id,
        name: param.name.clone(),
        annotations: param.annotations.clone(),
        bitwidth: width(param.bitwidth),
        doc: documentation(param.doc.as_ref()),
        type_name: type_name(&param.type_name),
        structured_annotations: structured(&param.structured_annotations),
        ..Default::default()
    };
    proto::Action {
        preamble: preamble(&action.preamble),
        params: action.params.iter().map(param).collect(),
    }
}

fn action_profile(profile: &plain::ActionProfile) -> proto::ActionProfile {
    use proto::action_profile::{SelectorSizeSemantics, SumOfMembers, SumOfWeights};
    let semantics = profile.size_semantics.map(|semantics| match semantics {
        plain::SizeSemantics::SumOfWeights => SelectorSizeSemantics::SumOfWeights(SumOfWeights {}),
        plain::SizeSemantics::SumOfMembers(weight) => {
            let max_member_weight = weight.unwrap_or_default();
            SelectorSizeSemantics::SumOfMembers(SumOfMembers { max_member_weight })
        }
    });
    proto::ActionProfile {
        preamble: preamble(&profile.preamble),
        table_ids: profile.table_ids.clone(),
        with_selector: profile.with_selector,
        size: profile.size,
        max_group_size: profile.max_group_size.unwrap_or_default(),
        weights_disallowed: false,
        selector_size_semantics: semantics,
    }
}

fn counter_spec(unit: plain::Unit) -> Option<proto::CounterSpec> {
    use proto::counter_spec::Unit;
    let unit = match unit {
        plain::Unit::Packets => Unit::Packets,
        plain::Unit::Bytes => Unit::Bytes,
        plain::Unit::Both => Unit::Both,
    };
    Some(proto::CounterSpec { unit: unit.into() })
}

fn meter_spec(unit: plain::Unit) -> Option<proto::MeterSpec> {
    use proto::meter_spec::Unit;
    let unit = match unit {
        plain::Unit::Packets => Unit::Packets,
        plain::Unit::Bytes => Unit::Bytes,
        plain::Unit::Both => Unit::Unspecified,
    };
    Some(proto::MeterSpec {
        unit: unit.into(),
        ..Default::default()
    })
}

fn counter(counter: &plain::Counter) -> proto::Counter {
    proto::Counter {
        preamble: preamble(&counter.preamble),
        spec: counter_spec(counter.unit),
        size: counter.size,
        index_type_name: type_name(&counter.index_type_name),
    }
}

fn direct_counter(counter: &plain::DirectCounter) -> proto::DirectCounter {
    proto::DirectCounter {
        preamble: preamble(&counter.preamble),
        spec: counter_spec(counter.unit),
        direct_table_id: counter.direct_table_id,
    }
}

fn meter(meter: &plain::Meter) -> proto::Meter {
    proto::Meter {
        preamble: preamble(&meter.preamble),
        spec: meter_spec(meter.unit),
        size: meter.size,
        index_type_name: type_name(&meter.index_type_name),
    }
}

fn direct_meter(meter: &plain::DirectMeter) -> proto::DirectMeter {
    proto::DirectMeter {
        preamble: preamble(&meter.preamble),
        spec: meter_spec(meter.unit),
        direct_table_id: meter.direct_table_id,
    }
}

fn header(header: &plain::ControllerPacketMetadata) -> proto::ControllerPacketMetadata {
    let field = |field: &plain::PacketMetadata| proto::controller_packet_metadata::Metadata {
        id: field.id,
        name: field.name.clone(),
        annotations: field.annotations.clone(),
        bitwidth: width(field.bitwidth),
        type_name: type_name(&field.type_name),
        structured_annotations: structured(&field.structured_annotations),
        ..Default::default()
    };
    proto::ControllerPacketMetadata {
        preamble: preamble(&header.preamble),
        metadata: header.metadata.iter().map(field).collect(),
    }
}

fn value_set(set: &plain::ValueSet) -> proto::ValueSet {
    proto::ValueSet {
        preamble: preamble(&set.preamble),
        r#match: set.fields.iter().map(match_field).collect(),
        size: set.size,
    }
}

fn register(register: &plain::Register) -> proto::Register {
    proto::Register {
        preamble: preamble(&register.preamble),
        type_spec: Some(data_type(&register.type_spec)),
        size: int32(register.size),
        index_type_name: type_name(&register.index_type_name),
    }
}

fn digest(digest: &plain::Digest) -> proto::Digest {
    proto::Digest {
        preamble: preamble(&digest.preamble),
        type_spec: Some(data_type(&digest.type_spec)),
    }
}

fn data_type(spec: &plain::TypeSpec) -> proto::P4DataTypeSpec {
    use p4_data_type_spec::TypeSpec as Kind;
    use plain::TypeSpec;
    let kind = match spec {
        TypeSpec::Bit(_) | TypeSpec::Int(_) | TypeSpec::Varbit(_) => {
            Kind::Bitstring(bitstring(spec))
        }
        TypeSpec::Bool => Kind::Bool(proto::P4BoolType {}),
        TypeSpec::Error => Kind::Error(proto::P4ErrorType {}),
        TypeSpec::Tuple(members) => Kind::Tuple(proto::P4TupleTypeSpec {
            members: members.iter().map(data_type).collect(),
        }),
        TypeSpec::Struct(name) => Kind::Struct(named(name)),
        TypeSpec::Header(name) => Kind::Header(named(name)),
        TypeSpec::HeaderUnion(name) => Kind::HeaderUnion(named(name)),
        TypeSpec::HeaderStack(name, size) => Kind::HeaderStack(proto::P4HeaderStackTypeSpec {
            header: Some(named(name)),
            size: width(*size),
        }),
        TypeSpec::HeaderUnionStack(name, size) => {
            Kind::HeaderUnionStack(proto::P4HeaderUnionStackTypeSpec {
                header_union: Some(named(name)),
                size: width(*size),
            })
        }
        TypeSpec::Enum(name) => Kind::Enum(named(name)),
        TypeSpec::SerializableEnum(name) => Kind::SerializableEnum(named(name)),
        TypeSpec::NewType(name) => Kind::NewType(named(name)),
    };
    proto::P4DataTypeSpec {
        type_spec: Some(kind),
    }
}

/// A type whose values are byte strings; empty for others, which headers do not have.
fn bitstring(spec: &plain::TypeSpec) -> proto::P4BitstringLikeTypeSpec {
    use proto::p4_bitstring_like_type_spec::TypeSpec as Kind;
    let kind = match *spec {
        plain::TypeSpec::Bit(bits) => Some(Kind::Bit(bit(bits))),
        plain::TypeSpec::Int(bits) => Some(Kind::Int(proto::P4IntTypeSpec {
            bitwidth: width(bits),
        })),
        plain::TypeSpec::Varbit(bits) => Some(Kind::Varbit(proto::P4VarbitTypeSpec {
            max_bitwidth: width(bits),
        })),
        _ => None,
    };
    proto::P4BitstringLikeTypeSpec {
        type_spec: kind,
        ..Default::default()
    }
}

fn bit(bits: u32) -> proto::P4BitTypeSpec {
    proto::P4BitTypeSpec {
        bitwidth: width(bits),
    }
}

fn type_info(info: &plain::TypeInfo) -> proto::P4TypeInfo {
    fn each<A, B>(
        types: &std::collections::BTreeMap<String, A>,
        spec: impl Fn(&A) -> B,
    ) -> std::collections::BTreeMap<String, B> {
        types
            .iter()
            .map(|(name, plain)| (name.clone(), spec(plain)))
            .collect()
    }
    let error = proto::P4ErrorTypeSpec {
        members: info.errors.clone(),
    };
    proto::P4TypeInfo {
        structs: each(&info.structs, |members| struct_type(members)),
        headers: each(&info.headers, |members| header_type(members)),
        header_unions: each(&info.header_unions, |members| union_type(members)),
        enums: each(&info.enums, |members| enum_type(members)),
        error: (!info.errors.is_empty()).then_some(error),
        serializable_enums: each(&info.serializable_enums, serializable_enum),
        new_types: each(&info.new_types, new_type),
    }
}

fn struct_type(members: &[(String, plain::TypeSpec)]) -> proto::P4StructTypeSpec {
    let member = |(name, spec): &(String, plain::TypeSpec)| proto::p4_struct_type_spec::Member {
        name: name.clone(),
        type_spec: Some(data_type(spec)),
    };
    proto::P4StructTypeSpec {
        members: members.iter().map(member).collect(),
        ..Default::default()
    }
}

fn header_type(members: &[(String, plain::TypeSpec)]) -> proto::P4HeaderTypeSpec {
    let member = |(name, spec): &(String, plain::TypeSpec)| proto::p4_header_type_spec::Member {
        name: name.clone(),
        type_spec: Some(bitstring(spec)),
    };
    proto::P4HeaderTypeSpec {
        members: members.iter().map(member).collect(),
        ..Default::default()
    }
}

fn union_type(members: &[(String, String)]) -> proto::P4HeaderUnionTypeSpec {
    let member = |(name, header): &(String, String)| proto::p4_header_union_type_spec::Member {
        name: name.clone(),
        header: Some(named(header)),
    };
    let members = members.iter().map(member).collect();
    proto::P4HeaderUnionTypeSpec {
        members,
        ..Default::default()
    }
}

fn enum_type(members: &[String]) -> proto::P4EnumTypeSpec {
    let member = |name: &String| proto::p4_enum_type_spec::Member {
        name: name.clone(),
        ..Default::default()
    };
    proto::P4EnumTypeSpec {
        members: members.iter().map(member).collect(),
        ..Default::default()
    }
}

fn serializable_enum(plain: &plain::SerializableEnum) -> proto::P4SerializableEnumTypeSpec {
    let member =
        |(name, value): &(String, Vec<u8>)| proto::p4_serializable_enum_type_spec::Member {
            name: name.clone(),
            value: value.clone(),
            ..Default::default()
        };
    proto::P4SerializableEnumTypeSpec {
        underlying_type: Some(bit(plain.bitwidth)),
        members: plain.members.iter().map(member).collect(),
        ..Default::default()
    }
}

fn new_type(plain: &plain::NewType) -> proto::P4NewTypeSpec {
    use proto::p4_new_type_spec::Representation;
    use proto::p4_new_type_translation::{SdnString, SdnType};
    let translated = |uri: &String, sdn_type| {
        let uri = uri.clone();
        let translation = proto::P4NewTypeTranslation {
            uri,
            sdn_type: Some(sdn_type),
        };
        Representation::TranslatedType(translation)
    };
    let representation = match &plain.kind {
        plain::NewTypeKind::Original(spec) => Representation::OriginalType(data_type(spec)),
        plain::NewTypeKind::TranslatedBits { uri, bitwidth } => {
            translated(uri, SdnType::SdnBitwidth(width(*bitwidth)))
        }
        plain::NewTypeKind::TranslatedString { uri } => {
            translated(uri, SdnType::SdnString(SdnString {}))
        }
    };
    proto::P4NewTypeSpec {
        representation: Some(representation),
        annotations: plain.annotations.clone(),
        structured_annotations: structured(&plain.structured_annotations),
        ..Default::default()
    }
}

/// Widths and sizes are bounded by the front end far below this.
fn width(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

fn int32(number: i64) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}
