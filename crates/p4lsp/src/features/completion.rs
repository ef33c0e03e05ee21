//! What may be written next, and what a call takes.

use lsp_types::{
    CompletionItem, CompletionParams, Documentation, MarkupContent, MarkupKind,
    ParameterInformation, ParameterLabel, SignatureHelp, SignatureHelpParams, SignatureInformation,
};
use p4front::index::{Offer, Reading, Signature};
use p4front::source::FileId;

use super::kinds;
use crate::position::offset_in;

pub(super) fn complete(
    reading: &Reading,
    file: FileId,
    asked: &CompletionParams,
) -> Vec<CompletionItem> {
    let at = asked.text_document_position.position;
    let offers = reading.offers(file, offset_in(&reading.map, file, at));
    offers.into_iter().map(item).collect()
}

fn item(offer: Offer) -> CompletionItem {
    CompletionItem {
        kind: Some(kinds::completion(offer.kind)),
        detail: (!offer.detail.is_empty()).then_some(offer.detail),
        documentation: documentation(offer.documentation),
        sort_text: Some(format!("{:04} {}", offer.rank, offer.name)),
        label: offer.name,
        ..CompletionItem::default()
    }
}

fn documentation(text: String) -> Option<Documentation> {
    let kind = MarkupKind::PlainText;
    (!text.is_empty()).then_some(Documentation::MarkupContent(MarkupContent {
        kind,
        value: text,
    }))
}

pub(super) fn signatures(
    reading: &Reading,
    file: FileId,
    asked: &SignatureHelpParams,
) -> Option<SignatureHelp> {
    let at = asked.text_document_position_params.position;
    let call = reading.call_at(file, offset_in(&reading.map, file, at))?;
    let fits = |s: &Signature| call.argument < s.params.len().max(1);
    let active = call.signatures.iter().position(fits).unwrap_or(0);
    Some(SignatureHelp {
        active_signature: u32::try_from(active).ok(),
        active_parameter: u32::try_from(call.argument).ok(),
        signatures: call.signatures.into_iter().map(information).collect(),
    })
}

fn information(signature: Signature) -> SignatureInformation {
    let params = signature.params.into_iter();
    let params = params.map(|label| ParameterInformation {
        label: ParameterLabel::Simple(label),
        documentation: None,
    });
    SignatureInformation {
        label: signature.label,
        documentation: documentation(signature.documentation),
        parameters: Some(params.collect()),
        active_parameter: None,
    }
}
