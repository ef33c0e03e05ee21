//! What each name of a file is, for its colour.

use lsp_types::{
    SemanticToken, SemanticTokenModifier, SemanticTokenType, SemanticTokens, SemanticTokensLegend,
};
use p4front::index::{Kind, Symbol};
use p4front::source::Span;

use super::View;
use crate::position::range;

const TYPES: [SemanticTokenType; 13] = [
    SemanticTokenType::TYPE,
    SemanticTokenType::STRUCT,
    SemanticTokenType::ENUM,
    SemanticTokenType::ENUM_MEMBER,
    SemanticTokenType::TYPE_PARAMETER,
    SemanticTokenType::CLASS,
    SemanticTokenType::FUNCTION,
    SemanticTokenType::METHOD,
    SemanticTokenType::PROPERTY,
    SemanticTokenType::PARAMETER,
    SemanticTokenType::VARIABLE,
    SemanticTokenType::EVENT,
    SemanticTokenType::MACRO,
];

const MODIFIERS: [SemanticTokenModifier; 3] = [
    SemanticTokenModifier::DECLARATION,
    SemanticTokenModifier::READONLY,
    SemanticTokenModifier::DEFAULT_LIBRARY,
];

pub(super) fn legend() -> SemanticTokensLegend {
    SemanticTokensLegend {
        token_types: TYPES.to_vec(),
        token_modifiers: MODIFIERS.to_vec(),
    }
}

fn of(kind: Kind) -> SemanticTokenType {
    match kind {
        Kind::Header | Kind::HeaderUnion | Kind::Struct => SemanticTokenType::STRUCT,
        Kind::Enum => SemanticTokenType::ENUM,
        Kind::EnumMember | Kind::ErrorMember | Kind::MatchKind => SemanticTokenType::ENUM_MEMBER,
        Kind::Typedef | Kind::NewType => SemanticTokenType::TYPE,
        Kind::TypeParam => SemanticTokenType::TYPE_PARAMETER,
        Kind::Extern
        | Kind::Constructor
        | Kind::ParserType
        | Kind::ControlType
        | Kind::Package
        | Kind::Parser
        | Kind::Control => SemanticTokenType::CLASS,
        Kind::Method => SemanticTokenType::METHOD,
        Kind::ExternFunction | Kind::Function | Kind::Action => SemanticTokenType::FUNCTION,
        Kind::State => SemanticTokenType::EVENT,
        Kind::Field => SemanticTokenType::PROPERTY,
        Kind::Param => SemanticTokenType::PARAMETER,
        Kind::Table | Kind::ValueSet | Kind::Instance | Kind::Constant | Kind::Variable => {
            SemanticTokenType::VARIABLE
        }
    }
}

pub(super) fn tokens(view: &View<'_>) -> SemanticTokens {
    let map = &view.reading.map;
    let names = view.analysis.index.names_in(view.reading, view.file);
    let mut all: Vec<(Span, SemanticTokenType, u32)> = names
        .map(|(span, symbol)| match symbol {
            Some(symbol) => (span, of(symbol.kind), modifiers(view, span, symbol)),
            None => (span, SemanticTokenType::METHOD, 1 << 2),
        })
        .collect();
    let macros = map.expansions().filter(|(span, _)| span.file == view.file);
    all.extend(macros.map(|(span, expansion)| {
        let length = u32::try_from(expansion.name.len()).unwrap_or(0);
        let name = Span::new(span.file, span.start, span.start + length);
        (name, SemanticTokenType::MACRO, 0)
    }));
    all.sort_by_key(|(span, ..)| *span);
    let mut last = lsp_types::Position::default();
    let mut data = Vec::with_capacity(all.len());
    for (span, ty, modifiers) in all {
        let range = range(map, span);
        let (start, end) = (range.start, range.end);
        let again = (start.line, start.character) < (last.line, last.character);
        if again || start.line != end.line || end.character <= start.character {
            continue;
        }
        let delta_line = start.line - last.line;
        let delta_start = match delta_line {
            0 => start.character - last.character,
            _ => start.character,
        };
        let position = TYPES.iter().position(|t| *t == ty);
        data.push(SemanticToken {
            delta_line,
            delta_start,
            length: end.character - start.character,
            token_type: position.and_then(|i| u32::try_from(i).ok()).unwrap_or(0),
            token_modifiers_bitset: modifiers,
        });
        last = start;
    }
    SemanticTokens {
        result_id: None,
        data,
    }
}

fn modifiers(view: &View<'_>, span: Span, symbol: &Symbol) -> u32 {
    let file = view.reading.map.file(symbol.span.file);
    let constant = matches!(
        symbol.kind,
        Kind::Constant | Kind::EnumMember | Kind::ErrorMember | Kind::MatchKind
    );
    u32::from(span == symbol.span)
        | u32::from(constant) << 1
        | u32::from(file.is_some_and(|f| f.builtin)) << 2
}
