// P4 in an editor: colours, our diagnostics as one types, and the lines that ran.
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { HighlightStyle, StreamLanguage, bracketMatching, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, setDiagnostics, type Diagnostic } from "@codemirror/lint";
import { EditorState, RangeSetBuilder, StateEffect, StateField, type Extension } from "@codemirror/state";
import { Decoration, EditorView, keymap, lineNumbers, type DecorationSet } from "@codemirror/view";
import { tags } from "@lezer/highlight";

import type { Finding } from "./types.ts";

const WORDS = new Set(
  "action actions apply bit bool const control default default_action else entries enum error exit extern false header header_union if in inout int key match_kind out package parser return select size state string struct switch table transition true tuple type typedef valueset varbit void".split(" "),
);

const p4 = StreamLanguage.define<{ comment: boolean }>({
  name: "p4",
  startState: () => ({ comment: false }),
  token(stream, state) {
    if (state.comment) {
      if (stream.skipTo("*/")) {
        stream.match("*/");
        state.comment = false;
      } else stream.skipToEnd();
      return "comment";
    }
    if (stream.eatSpace()) return null;
    if (stream.match("//")) {
      stream.skipToEnd();
      return "comment";
    }
    if (stream.match("/*")) {
      state.comment = true;
      return "comment";
    }
    if (stream.sol() && stream.match(/^#\s*\w+.*/)) return "meta";
    if (stream.match(/^"(?:[^"\\]|\\.)*"/)) return "string";
    if (stream.match(/^@\w+/)) return "meta";
    if (stream.match(/^\d+[ws]\w+|^0[xX][0-9a-fA-F_]+|^0[bB][01_]+|^\d[\d_]*/)) return "number";
    if (stream.match(/^[A-Za-z_]\w*/)) {
      const word = stream.current();
      if (WORDS.has(word)) return "keyword";
      return /_t$/.test(word) ? "typeName" : "variableName";
    }
    stream.next();
    return null;
  },
  languageData: { commentTokens: { line: "//", block: { open: "/*", close: "*/" } } },
});

const style = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--code-keyword)", fontWeight: "600" },
  { tag: tags.comment, color: "var(--code-comment)" },
  { tag: tags.string, color: "var(--code-string)" },
  { tag: tags.number, color: "var(--code-number)" },
  { tag: tags.typeName, color: "var(--code-type)" },
  { tag: tags.meta, color: "var(--code-meta)" },
]);

const setLines = StateEffect.define<number[]>();
const ranLine = Decoration.line({ class: "ran" });
const lines = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(shown, transaction) {
    let now = shown.map(transaction.changes);
    for (const effect of transaction.effects) {
      if (!effect.is(setLines)) continue;
      const builder = new RangeSetBuilder<Decoration>();
      for (const line of effect.value) {
        if (line <= transaction.state.doc.lines) builder.add(transaction.state.doc.line(line).from, transaction.state.doc.line(line).from, ranLine);
      }
      now = builder.finish();
    }
    return now;
  },
  provide: (field) => EditorView.decorations.from(field),
});

/** An editor; `change` hears what is typed and undone, not what is loaded. */
export class Editor {
  readonly view: EditorView;
  private setting = false;
  private readonly extensions: Extension[];
  /** What is shown, by a name that the user of this class gives it. */
  private name = "";
  /** Other texts as they were left, with what can be undone in them. */
  private readonly left = new Map<string, EditorState>();

  constructor(parent: HTMLElement, label: string, change: (text: string) => void, code = true) {
    this.extensions = [
      lineNumbers(), history(), bracketMatching(), lintGutter(), lines, syntaxHighlighting(style),
      keymap.of([...defaultKeymap, ...historyKeymap, indentWithTab]),
      EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
      EditorView.updateListener.of((update) => {
        if (update.docChanged && !this.setting) change(update.state.doc.toString());
      }),
    ];
    if (code) this.extensions.push(p4);
    this.view = new EditorView({ parent, state: EditorState.create({ extensions: this.extensions }) });
  }

  get text(): string {
    return this.view.state.doc.toString();
  }

  /** Whether the text of this name is shown. */
  shows(name: string): boolean {
    return name === this.name;
  }

  /** Shows a text. That is no edit: nothing of it can be undone. What could be undone of a text of this name can be again, if it is still the same. */
  load(name: string, text: string): void {
    if (name === this.name && text === this.text) return;
    this.left.set(this.name, this.view.state);
    const known = this.left.get(name);
    this.name = name;
    const same = known?.doc.toString() === text ? known : undefined;
    this.view.setState(same ?? EditorState.create({ doc: text, extensions: this.extensions }));
  }

  /** Puts another text in the place of what is shown, as an edit that can be undone; nobody is told. */
  replace(text: string): void {
    if (text === this.text) return;
    this.setting = true;
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text } });
    this.setting = false;
  }

  /** Marks lines, from 1, and shows the first of them. */
  ran(numbers: number[]): void {
    this.view.dispatch({ effects: setLines.of([...numbers].sort((a, b) => a - b)) });
    const first = numbers.find((line) => line <= this.view.state.doc.lines);
    if (first) this.view.dispatch({ effects: EditorView.scrollIntoView(this.view.state.doc.line(first).from, { y: "center" }) });
  }

  findings(found: Finding[], file: string): void {
    const doc = this.view.state.doc;
    const here = found.map((finding): Diagnostic => {
      const message = [finding.message, finding.place?.message, ...finding.notes, finding.help].filter(Boolean).join("\n");
      const elsewhere = !finding.place || finding.place.file !== file;
      if (elsewhere || finding.place!.line > doc.lines) {
        const where = finding.place ? `${finding.place.file}:${finding.place.line}: ` : "";
        return { from: 0, to: Math.min(1, doc.length), severity: severity(finding), message: where + message };
      }
      const line = doc.line(Math.max(1, finding.place!.line));
      const from = Math.min(line.from + finding.place!.column - 1, line.to);
      return { from, to: Math.min(from + Math.max(1, finding.place!.length), doc.length), severity: severity(finding), message };
    });
    this.view.dispatch(setDiagnostics(this.view.state, here));
  }
}

function severity(finding: Finding): "error" | "warning" | "info" {
  return finding.severity === "note" ? "info" : finding.severity;
}
