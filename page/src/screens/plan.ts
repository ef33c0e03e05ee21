// Scheme and options; the proof, or its counterexample drawn in the network; what switches hold.
import { zipSync } from "fflate";

import type { App } from "../app.ts";
import { ofTag } from "../colours.ts";
import { button, check, el, fill, labelled, save, select } from "../dom.ts";
import { facts, filtered } from "../table.ts";
import type { BuildAnswer, PlanAnswer } from "../types.ts";

type Option = { name: string; label: string; values: [string, string][] };

const LIST = (...values: (string | number)[]): [string, string][] => values.map((value) => [String(value), String(value)]);

const BOUNCES: Option = { name: "bounces", label: "Bounces", values: [["", "usual"], ...LIST(0, 1, 2, 3)] };
const RESILIENCE: Option = { name: "resilience", label: "Failures", values: [["", "1"], ...LIST(0, 2, 3)] };
const LOSSLESS: Option = { name: "lossless", label: "Lossless", values: [["", "no"], ["rising", "rising tags"]] };
const CHANNELS: Option = { name: "channels", label: "Channels", values: [["", "1"], ...LIST(2, 3)] };
const CARRIER: Option = { name: "carrier", label: "Carrier", values: [["", "dscp"], ...LIST("vlan-pcp", "vlan-vid", "shim")] };
const MULTIPATH: Option = { name: "multipath", label: "Routings", values: [["", "per host"], ...LIST(1, 2, 4)] };

const SCHEMES: Record<string, { label: string; options: Option[] }> = {
  tagger: {
    label: "Tagger",
    options: [
      BOUNCES,
      { name: "algorithm", label: "Algorithm", values: [["", "as suits"], ...LIST("brute-force", "greedy", "single-valued", "optimal", "clos")] },
      { name: "routes", label: "Routes", values: [["", "as suit"], ...LIST("shortest", "ksp", "up-down")] },
      { name: "classes", label: "Classes", values: [["", "1"], ...LIST(2, 3)] },
      CARRIER,
    ],
  },
  ttl: { label: "TTL", options: [{ name: "hops", label: "Hops", values: [["", "usual"], ...LIST(3, 4, 5, 6)] }] },
  "flattened-clos": { label: "Flattened Clos", options: [{ name: "bounces", label: "Other turns", values: [["", "0"], ...LIST(1, 2, 3)] }, CARRIER] },
  ecmp: { label: "ECMP, one tag", options: [] },
  ksp: { label: "k shortest, one tag", options: [{ name: "k", label: "Paths", values: [["", "8"], ...LIST(2, 4)] }] },
  plinko: { label: "Plinko", options: [RESILIENCE, LOSSLESS, MULTIPATH] },
  fcp: { label: "FCP", options: [RESILIENCE, LOSSLESS, MULTIPATH] },
  "mpls-frr": { label: "MPLS-FRR", options: [RESILIENCE, LOSSLESS, MULTIPATH] },
  edst: { label: "EDST", options: [RESILIENCE, LOSSLESS] },
  adst: { label: "ADST", options: [RESILIENCE, LOSSLESS] },
  "df-fi": { label: "DF-FI", options: [RESILIENCE, MULTIPATH, CHANNELS] },
  "df-edst": {
    label: "DF-EDST",
    options: [
      RESILIENCE, CHANNELS,
      { name: "ttg", label: "Transitions", values: [["", "t"], ...LIST("no-res", "line", "a-layer", "m-layer", "rand", "max")] },
    ],
  },
};

export function planScreen(app: App, panel: HTMLElement): { shown(): void } {
  const state = app.state;
  const options = el("div", { class: "row" });
  const verdict = el("div", { class: "verdict", role: "status", "aria-live": "polite" });
  const figures = el("div");
  const held = el("div");
  let asked = 0;

  const scheme = select(Object.entries(SCHEMES).map(([key, one]) => [key, one.label]), state.scheme, (value) => {
    state.scheme = value;
    state.options = {};
    state.program = null;
    drawOptions();
    void prove();
  });
  const without = check("Without tags: every switch lets packets keep their queue", state.without, (value) => {
    state.without = value;
    void prove();
  });

  function drawOptions(): void {
    options.replaceChildren(...(SCHEMES[state.scheme]?.options ?? []).map((option) =>
      labelled(option.label, select(option.values, state.options[option.name] ?? "", (value) => {
        state.options[option.name] = value;
        void prove();
      }))));
  }

  async function prove(): Promise<void> {
    const number = ++asked;
    verdict.textContent = "proving ...";
    verdict.className = "verdict";
    const start = performance.now();
    const answer = await app.ask<PlanAnswer>({ call: "plan", ...app.network() });
    if (number !== asked) return;
    app.plan = answer;
    app.remember();
    if (!answer) {
      verdict.textContent = "No plan: see above.";
      figures.replaceChildren();
      held.replaceChildren();
      app.view.clearMarks();
      return;
    }
    app.say("");
    show(answer, performance.now() - start);
  }

  function show(answer: PlanAnswer, milliseconds: number): void {
    verdict.className = `verdict ${answer.proven ? "good" : "bad"}`;
    verdict.textContent = answer.proven
      ? `Proven: no cyclic buffer dependency${answer.report.cbd_free === null ? " was to be looked for" : ""}, whatever routing does. ${answer.promised ? `Lossless: ${answer.promised}.` : ""}`
      : answer.report.verdict === "sampled" ? "Nothing wrong was found, but not all failures were tried." : `Refuted: ${answer.errors[0] ?? ""}`;
    const summary = answer.summary;
    const pairs: [string, string][] = summary
      ? [
          ["Scheme", [summary.scheme, summary.algorithm].filter(Boolean).join(" ")],
          ["Rules", `${summary.rules_total}, at most ${summary.rules_max_per_switch} on a switch`],
          ["Lossless priorities", String(answer.report.lossless_priorities)],
          ["Free of loops", said(answer.report.loop_free)],
        ]
      : [["Lossless priorities", String(answer.report.lossless_priorities)], ["Free of cycles of buffers", said(answer.report.cbd_free)]];
    pairs.push(["Planned and proven in", `${milliseconds.toFixed(0)} ms`]);
    fill(figures,
      facts(pairs),
      el("p", { class: "tags" }, ...answer.tags.map((tag) => {
        const chip = el("span", { class: "chip" }, `tag ${tag.tag} → priority ${tag.priority}`);
        chip.style.setProperty("--chip", ofTag(tag.tag));
        return chip;
      }), el("span", { class: "chip" }, "all else → lossy, 0")),
      answer.errors.length > 1 && el("details", {}, el("summary", {}, `All ${answer.errors.length} errors`), el("ul", {}, ...answer.errors.slice(0, 50).map((error) => el("li", {}, error)))),
      counterexample(answer),
      el("div", { class: "row" },
        button("Save the plan file", () => save("plan.json", "application/json", answer.file)),
        answer.proven && target,
        answer.proven && button("Save the build", () => void build()),
      ),
    );
    app.view.clearMarks();
    if (answer.cycle) app.view.showCycle(answer.cycle.buffers);
    else if (answer.lost) app.view.showChain(answer.lost.nodes, "var(--bad)");
    app.view.setLegend(answer.cycle ? [["var(--bad)", "each buffer waits for the next"]] : answer.tags.map((tag) => [ofTag(tag.tag), `tag ${tag.tag}`]));
    if (answer.proven) void entries();
    else held.replaceChildren();
  }

  const target = select([["v1model", "for BMv2"], ["tna", "for Tofino 1"], ["tna2", "for Tofino 2"]], "v1model", () => undefined);
  target.setAttribute("aria-label", "Target of the build");

  /** The build directory, as `switchwright build` writes it, in one file. */
  async function build(): Promise<void> {
    const answer = await app.ask<BuildAnswer>({ call: "build", ...app.network(), target: target.value, directory: true });
    if (!answer) return;
    app.say("");
    const encoder = new TextEncoder();
    const files = Object.entries(answer.directory).map(([path, text]): [string, Uint8Array] => [`build/${path}`, encoder.encode(text)]);
    // The same build is the same file.
    save("build.zip", "application/zip", zipSync(Object.fromEntries(files), { mtime: "1980-01-01T12:00:00" }));
  }

  function counterexample(answer: PlanAnswer): HTMLElement | null {
    if (!answer.cycle) return null;
    return el("div", {},
      el("h3", {}, "The cycle"),
      el("ol", { class: "cycle" }, ...answer.cycle.buffers.map((buffer, at) =>
        el("li", {}, `${buffer.switch}, port ${buffer.port}, tag ${buffer.tag}, priority ${buffer.priority}`, answer.cycle!.causes[at] ? ` waits by ${answer.cycle!.causes[at]}` : ""))),
      el("p", { class: "quiet" }, "Each of these buffers can drain only if the next does, and the last only if the first does."),
    );
  }

  async function entries(): Promise<void> {
    const names = app.topology?.switches.map((one) => one.name) ?? [];
    const number = asked;
    const chosen = select([["", names.length > 64 ? "(choose)" : "all"], ...names.map((name): [string, string] => [name, name])], names.length > 64 ? names[0] : "", () => void fill());
    const place = el("div");
    held.replaceChildren(el("h3", {}, "Entries"), labelled("Switch", chosen), place);
    const fill = async () => {
      const answer = await app.ask<{ columns: string[]; rows: string[][] }>({ call: "entries", ...app.network(), switches: chosen.value ? [chosen.value] : [] });
      if (answer && number === asked) place.replaceChildren(filtered(`entries${chosen.value ? `-${chosen.value}` : ""}`, answer.columns, answer.rows));
    };
    await fill();
  }

  panel.append(el("h2", {}, "Plan and proof"), el("div", { class: "row" }, labelled("Scheme", scheme)), options, without, verdict, figures, held);
  drawOptions();
  let visible = false;
  app.onTopology(() => {
    if (!app.plan && visible) void prove();
  });
  return {
    shown() {
      visible = true;
      scheme.value = state.scheme;
      without.querySelector("input")!.checked = state.without;
      drawOptions();
      app.view.paint("layer");
      app.view.paintLinks(null);
      app.view.colourLinks(null);
      void prove();
    },
  };
}

function said(verdict: boolean | null): string {
  return verdict === null ? "not computed" : verdict ? "yes" : "no";
}
