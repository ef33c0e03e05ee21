// A packet's way: the path lights up, and for every hop what the switch did, with the program beside it.
import type { App } from "../app.ts";
import { ofTag } from "../colours.ts";
import { button, check, el, fill, labelled, number, select } from "../dom.ts";
import { Editor } from "../editor.ts";
import type { CompileAnswer, Hop, Shown, SourceFile, StfAnswer, Walk } from "../types.ts";

/** Warnings about programs that no switch can run. */
const IDLE = new Set(["arch", "empty"]);

/** How long the editor's findings took to come, and its whole text, for tests. */
const meter: { diagnosed: number[]; text: () => string } = { diagnosed: [], text: () => "" };
export { meter as editorMeter };

export function packetsScreen(app: App, panel: HTMLElement): { shown(): void } {
  const state = app.state;
  const packet = state.packet;
  const fields = el("div");
  const outcome = el("div", { class: "verdict", role: "status", "aria-live": "polite" });
  const hops = el("ol", { class: "hops" });
  const detail = el("div");
  const files = el("div", { class: "files", role: "group", "aria-label": "Files of the program" });
  const findings = el("p", { class: "quiet", role: "status" });
  const code = el("div", { class: "code" });
  let walk: Walk | null = null;
  let chosen = 0;
  let file = "";
  let asked = 0;
  let typing = 0;
  /** "Undo edits" was pressed, and the text is to be shown. */
  let takenBack = false;

  const editor = new Editor(code, "P4 program", (text) => {
    if (file !== walk?.files[0]?.name) return;
    const first = state.program === null;
    state.program = text;
    if (first) showFile();
    app.remember();
    void diagnose();
    // Packets run when one has stopped typing.
    clearTimeout(typing);
    typing = window.setTimeout(() => {
      if (errors === 0) void trace();
    }, 250);
  });

  meter.text = () => editor.text;
  let diagnosing = false;
  let stale = false;
  let errors = 0;

  /** What is wrong with what stands there: at once, and again where it has changed meanwhile. */
  async function diagnose(): Promise<void> {
    stale = true;
    if (diagnosing) return;
    diagnosing = true;
    while (stale) {
      stale = false;
      const start = performance.now();
      await compile();
      meter.diagnosed.push(performance.now() - start);
    }
    diagnosing = false;
  }

  const names = el("datalist", { id: "host-names" });
  function text(value: string, change: (value: string) => void, more: Record<string, string> = {}): HTMLInputElement {
    const input = el("input", { type: "text", value, spellcheck: "false", ...more, change: () => {
      change(input.value.trim());
      void trace();
    } });
    return input;
  }

  function drawFields(): void {
    const mode = select([["hosts", "From host to host"], ["bytes", "Bytes by hand"]], packet.mode, (value) => {
      packet.mode = value as "hosts" | "bytes";
      if (packet.mode === "bytes" && walk?.hops[0] && !packet.bytes) {
        packet.switch = walk.hops[0].switch;
        packet.port = walk.hops[0].in_port;
        packet.bytes = walk.hops[0].bytes_before;
      }
      drawFields();
      void trace();
    });
    const again = <T>(set: (value: T) => void) => (value: T) => {
      set(value);
      void trace();
    };
    const routing = labelled("Routing", select([["converged", "has converged"], ["local", "only neighbours react"]], state.routing, again((value) => (state.routing = value as "converged" | "local"))), "Who has reacted to the failed links");
    const rest = packet.mode === "hosts"
      ? [
          el("div", { class: "row" },
            labelled("From", text(packet.from, (value) => (packet.from = value), { list: "host-names" })),
            labelled("To", text(packet.to, (value) => (packet.to = value), { list: "host-names" })),
            labelled("UDP source port", number(packet.flow, again((value) => (packet.flow = value)), 0, 65535), "Another flow may take another way"),
            labelled("Class", number(packet.class, again((value) => (packet.class = value)), 0, 7)), routing),
          el("div", { class: "row" },
            check("lossy", packet.lossy, again((value) => (packet.lossy = value))),
            check("IPv6", packet.ipv6, again((value) => (packet.ipv6 = value)))),
        ]
      : [
          el("div", { class: "row" },
            labelled("Into switch", text(packet.switch, (value) => (packet.switch = value))),
            labelled("Port", number(packet.port, again((value) => (packet.port = value)), 0, 65535)), routing),
          labelled("Bytes, hexadecimal", bytesField()),
        ];
    fields.replaceChildren(el("div", { class: "row" }, labelled("Packet", mode), button("Send", () => void trace(), { class: "main" })), ...rest);
  }

  function bytesField(): HTMLTextAreaElement {
    const area = el("textarea", { rows: 4, spellcheck: "false", change: () => {
      packet.bytes = area.value;
      void trace();
    } });
    area.value = packet.bytes;
    return area;
  }

  /** The last packet that was sent, until its way is known. */
  let tracing: Promise<void> = Promise.resolve();
  function trace(): Promise<void> {
    tracing = send();
    return tracing;
  }

  async function send(): Promise<void> {
    const number = ++asked;
    const spec = packet.mode === "hosts"
      ? { hosts: { from: packet.from, to: packet.to, class: packet.class, lossy: packet.lossy, flow: packet.flow, ipv6: packet.ipv6 } }
      : { bytes: { switch: packet.switch, port: packet.port, bytes: packet.bytes } };
    const request = { call: "trace", ...app.network(), without_tags: false, fail: state.failed, routing: state.routing, packet: spec, program: state.program };
    const answer = await app.ask<Walk>(request);
    if (number !== asked) return;
    app.remember();
    if (!answer) {
      outcome.textContent = "No packet was sent: see above.";
      outcome.className = "verdict bad";
      if (state.program !== null) void compile();
      return;
    }
    app.say("");
    walk = answer;
    chosen = Math.min(chosen, Math.max(0, walk.hops.length - 1));
    const rise = walk.hops.findIndex((hop) => hop.tag_before !== hop.tag_after && hop.out_port !== null);
    if (chosen === 0 && rise > 0) chosen = rise;
    showWalk();
  }

  function showWalk(): void {
    if (!walk) return;
    const count = `${walk.hops.length} ${walk.hops.length === 1 ? "switch" : "switches"}`;
    const ends = {
      delivered: `Delivered to ${walk.host} after ${count}.`,
      dropped: `Dropped at ${walk.switch} after ${count}: ${walk.reason}.`,
      lost: `Lost: port ${walk.port} of ${walk.switch} leads nowhere.`,
      circling: `It circles: given up after ${count}.`,
    };
    outcome.textContent = ends[walk.end];
    outcome.className = `verdict ${walk.end === "delivered" ? "good" : "bad"}`;
    hops.replaceChildren(...walk.hops.map((hop, at) => {
      const tag = el("span", { class: "chip" }, hop.tag_before === hop.tag_after ? `tag ${hop.tag_before}` : `tag ${hop.tag_before} → ${hop.tag_after}`);
      tag.style.setProperty("--chip", ofTag(hop.tag_after));
      return el("li", {}, el("button", { type: "button", "aria-pressed": String(at === chosen), click: () => choose(at) },
        el("strong", {}, hop.switch), ` port ${hop.in_port} → ${hop.out_port ?? "none"} `, tag));
    }));
    const legend = [...new Set(walk.hops.flatMap((hop) => [hop.tag_before, hop.tag_after]))];
    app.view.setLegend(legend.map((tag) => [ofTag(tag), Number(tag) > 0 ? `tag ${tag}` : tag]));
    if (!walk.files.some((one) => one.name === file)) file = walk.files[0]?.name ?? "";
    showFile();
    choose(chosen);
    void compile();
  }

  function choose(at: number): void {
    if (!walk) return;
    chosen = at;
    hops.querySelectorAll("button").forEach((one, number) => one.setAttribute("aria-pressed", String(number === at)));
    app.view.showPath(walk.hops, walk.from, walk.end === "delivered" ? walk.host! : null, at);
    const hop = walk.hops[at];
    detail.replaceChildren(...(hop ? [steps(hop), headers(hop)] : []));
    mark();
  }

  function showFile(): void {
    const all = walk?.files ?? [];
    fill(files, ...all.map((one) => {
      const ran = walk?.hops[chosen]?.lines.some(([name]) => name === one.name) ? " •" : "";
      return button(one.name + ran, () => {
        file = one.name;
        showFile();
        mark();
      }, { "aria-pressed": String(one.name === file), title: ran ? "Lines of it ran" : "" });
    }), state.program !== null && button("Undo edits", () => {
      state.program = null;
      takenBack = true;
      void trace();
    }));
    const one = all.find((each) => each.name === file);
    if (!one) return;
    const text = text_of(one, all);
    // Pressed by mistake, it is undone like any other edit.
    if (takenBack && one === all[0] && editor.shows(one.name)) editor.replace(text);
    else editor.load(one.name, text);
    takenBack = false;
  }

  function text_of(one: SourceFile, all: SourceFile[]): string {
    return one === all[0] && state.program !== null ? state.program : one.text;
  }

  function mark(): void {
    const lines = walk?.hops[chosen]?.lines ?? [];
    editor.ran(lines.filter(([name]) => name === file).map(([, line]) => line));
  }

  /** The program that switches run, and what it includes. */
  function source(): { text: string; files: Record<string, string> } | null {
    if (!walk) return null;
    const [main, ...includes] = walk.files;
    return { text: state.program ?? main.text, files: Object.fromEntries(includes.map((one) => [one.name, one.text])) };
  }

  async function compile(): Promise<void> {
    const program = source();
    const answer = program && (await app.ask<CompileAnswer>({ call: "compile", ...program }));
    // What came meanwhile is asked for already.
    if (!answer || !walk || program.text !== source()?.text) return;
    // What declares nothing, or no `main`, compiles, and no switch can run it.
    const stops = answer.findings.filter((one) => one.severity === "error" || IDLE.has(one.code));
    errors = stops.length;
    findings.textContent = errors
      ? `${errors} ${errors === 1 ? "error" : "errors"}: ${stops[0].message}`
      : `Compiles: ${answer.tables.length} tables, ${answer.actions.length} actions${state.program === null ? "" : "; the switches run what stands here"}.`;
    findings.className = errors ? "bad" : "quiet";
    if (file === walk.files[0]?.name) editor.findings(answer.findings, "main.p4");
  }

  const verdict = el("div", { role: "status", "aria-live": "polite" });
  const area = el("textarea", { rows: 6, spellcheck: "false", placeholder: "packet 1 ffff ffffffff\nno_packet", change: () => {
    state.case = area.value;
    app.remember();
  } });
  area.value = state.case;

  /** Plays the case on the program, on a switch of its own without entries but the case's. */
  async function judge(): Promise<void> {
    // The program comes with the first packet.
    await tracing;
    const program = source();
    const answer = program && (await app.ask<StfAnswer>({ call: "stf", program, case: area.value }));
    if (!answer) {
      verdict.replaceChildren();
      return;
    }
    app.say("");
    const one = (failure: { line: number; message: string }) => el("li", {}, `line ${failure.line}: ${failure.message}`);
    verdict.replaceChildren(
      el("p", { class: `verdict ${answer.passed ? "good" : "bad"}` }, answer.passed ? `Passed: ${answer.statements} statements.` : `Failed: ${answer.failures.length} of ${answer.statements} statements.`),
      el("ul", {}, ...answer.failures.slice(0, 50).map(one)),
    );
  }

  const cases = el("details", { class: "case" },
    el("summary", {}, "A test case (STF)"),
    el("p", { class: "quiet" }, "Lines of p4c's Simple Test Framework: `packet PORT HEX`, `expect PORT HEX`, `no_packet`, `add TABLE KEY:VALUE ACTION(...)`. The program above plays it on a switch of its own, which has no entries but those of the case."),
    labelled("Case", area), el("div", { class: "row" }, button("Run the case", () => void judge())), verdict);

  function steps(hop: Hop): HTMLElement {
    return el("div", {},
      el("h3", {}, `What ${hop.switch} did`),
      el("p", { class: "quiet" }, `ING_PRIO ${hop.ing_prio}, EG_PRIO ${hop.eg_prio}`),
      el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `Tables of ${hop.switch}` },
        el("table", {},
          el("thead", {}, el("tr", {}, ...["table", "key", "entry that matched", "action"].map((column) => el("th", { scope: "col" }, column)))),
          el("tbody", {}, ...hop.tables.map((step) =>
            el("tr", {},
              el("td", {}, step.table),
              el("td", {}, step.text.key.join(", ")),
              el("td", { class: step.entry === null ? "quiet" : "" }, step.text.entry === null ? "miss" : step.text.entry + (step.priority === null ? "" : `, priority ${step.priority}`)),
              el("td", {}, step.text.action ?? "-")))))));
  }

  function headers(hop: Hop): HTMLElement {
    const pairs = merged(hop.before, hop.after);
    return el("div", {},
      el("h3", {}, "Headers"),
      el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Headers before and after" },
        el("table", {},
          el("thead", {}, el("tr", {}, ...["header", "field", "before", "after"].map((column) => el("th", { scope: "col" }, column)))),
          el("tbody", {}, ...pairs.map(([header, field, before, after]) =>
            el("tr", { class: before === after ? "" : "changed" }, el("td", {}, header), el("td", {}, field), el("td", {}, before), el("td", {}, after)))))),
      el("details", {}, el("summary", {}, "Bytes"), el("p", { class: "bytes" }, `in  ${hop.bytes_before}`), hop.bytes_after && el("p", { class: "bytes" }, `out ${hop.bytes_after}`)));
  }

  const filesAndCode = el("div", { class: "program" }, el("h3", {}, "Program"), el("p", { class: "quiet" }, "Marked lines ran at the chosen switch. Edit the first file: the switches run it as soon as it compiles."), files, findings, code, cases);
  panel.append(el("h2", {}, "Packets"), names, fields, outcome, hops, detail, filesAndCode);
  let visible = false;
  const refresh = () => {
    names.replaceChildren(...(app.topology?.hosts ?? []).slice(0, 2000).map((host) => el("option", { value: host.name })));
    if (!visible || state.screen !== "packets") return;
    drawFields();
    void trace();
  };
  app.onTopology(refresh);
  return {
    shown() {
      visible = true;
      app.view.paint("layer");
      app.view.paintLinks(null);
      app.view.colourLinks(null);
      refresh();
    },
  };
}

/** Fields of a packet before and after, in the order of the headers. */
function merged(before: Shown, after: Shown | null): [string, string, string, string][] {
  const rows: [string, string, string, string][] = [];
  const names = [...before.headers, ...(after?.headers ?? [])].map((header) => header.name);
  for (const name of new Set(names)) {
    const [old, now] = [before.headers, after?.headers ?? []].map((side) => new Map(side.find((header) => header.name === name)?.fields));
    for (const field of new Set([...old.keys(), ...now.keys()])) rows.push([name, field, old.get(field) ?? "—", now.get(field) ?? "—"]);
  }
  rows.push(["payload", "bytes", String(before.payload), after ? String(after.payload) : "—"]);
  return rows;
}
