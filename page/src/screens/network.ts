// Make, import, drag; links fail and are mended; colours.
import { KINDS, type App } from "../app.ts";
import { ofTag } from "../colours.ts";
import { button, check, el, labelled, number, save, select } from "../dom.ts";
import { count } from "../pods.ts";
import type { Colour } from "../state.ts";
import { facts, filtered } from "../table.ts";
import type { LoadAnswer, PlanAnswer } from "../types.ts";

const COLOURS: [Colour, string][] = [
  ["layer", "Layer"], ["rules", "Rules per switch"], ["tags", "Tags on links"], ["priorities", "Priorities on links"], ["load", "Load of links"],
];

export function networkScreen(app: App, panel: HTMLElement): { shown(): void } {
  const fields = el("div", { class: "row" });
  const counts = el("div");
  const links = el("div");
  const state = app.state;

  const kinds: [string, string][] = [...Object.entries(KINDS).map(([key, kind]): [string, string] => [key, kind.label]), ["text", "From a file"]];
  const kind = select(kinds, state.topology.kind, (value) => {
    const made = KINDS[value];
    state.topology = made
      ? { kind: value, numbers: Object.fromEntries(Object.entries(made.numbers).map(([key, spec]) => [key, spec[1]])) }
      : { kind: "text", numbers: {}, text: app.topology?.file ?? "", hosts_per_node: 0 };
    fresh();
    drawFields();
    if (made) void app.load();
  });

  function fresh(): void {
    state.moved = {};
    state.failed = [];
    state.mended = [];
    state.program = null;
    state.grouped = null;
    state.opened = [];
  }

  function drawFields(): void {
    const made = KINDS[state.topology.kind];
    if (!made) {
      const text = el("textarea", { rows: 8, spellcheck: "false" });
      text.value = state.topology.text ?? "";
      const file = el("input", {
        type: "file", accept: ".json,.graphml,.xml,.yml,.yaml,.csv,.txt",
        change: () => void file.files?.[0]?.text().then((read) => {
          text.value = read;
          use();
        }),
      });
      const use = () => {
        state.topology = { ...state.topology, text: text.value };
        fresh();
        void app.load();
      };
      fields.replaceChildren(
        labelled("File", file, "p4-utils, p4lang/tutorials, GraphML, containerlab, a CSV of links, or a topology file"),
        labelled("Hosts per node", number(state.topology.hosts_per_node ?? 0, (value) => (state.topology.hosts_per_node = value), 0, 64), "For files that have no hosts"),
        labelled("Its text", text),
        button("Use this text", use),
      );
      return;
    }
    const numbers = state.topology.numbers;
    fields.replaceChildren(
      ...Object.entries(made.numbers).map(([key, [label, usual, least, most]]) =>
        labelled(label, number(numbers[key] ?? usual, (value) => {
          numbers[key] = value;
          fresh();
          void app.load();
        }, least, most)),
      ),
    );
  }

  const colour = select(COLOURS, COLOURS.some(([key]) => key === state.colour) ? state.colour : "layer", (value) => {
    state.colour = value as Colour;
    void paint();
    app.remember();
  });

  function layers(): number {
    return 1 + Math.max(0, ...(app.topology?.switches ?? []).map((one) => one.layer ?? 0));
  }

  let asked = 0;
  async function paint(): Promise<void> {
    const number = ++asked;
    app.view.colourLinks(null);
    app.view.paintLinks(null);
    if (state.colour === "tags" || state.colour === "priorities" || state.colour === "load") {
      app.view.paint("layer");
      app.view.setLegend([]);
      await (state.colour === "load" ? paintLoad(number) : paintTags(number, state.colour));
      return;
    }
    if (state.colour !== "rules") {
      app.view.paint("layer");
      app.view.setLegend([
        ...(app.topology?.layered ? ([["var(--layer-0)", "leaves"], ["var(--layer-1)", "the layer above"], ["var(--layer-2)", "the top of three"]] as [string, string][]) : ([["var(--layer-1)", "switch"]] as [string, string][])).slice(0, layers()),
        ...(app.topology?.hosts[0]?.at ? ([["var(--host)", "host"]] as [string, string][]) : []), ["var(--bad)", "failed link"],
      ]);
      return;
    }
    const rules = (await plan())?.rules;
    if (!rules || number !== asked) return;
    const most = Math.max(1, ...rules);
    app.view.paint(rules.map((count) => count / most));
    app.view.setLegend([["var(--share-low)", "no rule"], ["var(--share-high)", `${most} rules`]]);
  }

  async function plan(): Promise<PlanAnswer | null> {
    app.plan ??= await app.ask<PlanAnswer>({ call: "plan", ...app.network() });
    return app.plan;
  }

  /** Every link in the colour of the highest tag that packets may have on it, or of that tag's priority. */
  async function paintTags(number: number, what: "tags" | "priorities"): Promise<void> {
    const answer = await plan();
    if (!answer || number !== asked) return;
    const priorities = new Map(answer.tags.map((tag) => [tag.tag, tag.priority]));
    const of = (tag: number) => (what === "tags" ? tag : priorities.get(tag) ?? 0);
    const highest = answer.link_tags.map((tags) => Math.max(0, ...tags.map(of)));
    app.view.colourLinks(highest.map((one) => ofTag(one)));
    const word = what === "tags" ? "tag" : "priority";
    const seen = [...new Set(highest)].sort((a, b) => a - b);
    app.view.setLegend([
      ...seen.map((one): [string, string] => [ofTag(one), one === 0 ? "lossy alone" : one > 1 ? `up to ${word} ${one}` : `${word} ${one}`]),
      ["var(--bad)", "failed link"],
    ]);
  }

  /** Every link by its share of the load of the fullest, where all hosts send to all. */
  async function paintLoad(number: number): Promise<void> {
    const answer = await app.ask<LoadAnswer>({ call: "load", ...app.network(), without_tags: false, fail: state.failed, routing: state.routing });
    if (!answer || number !== asked) return;
    app.view.paintLinks(new Map(answer.links.map((share, link) => [link, share])));
    const lost = answer.lost ? `; ${(answer.lost * 100).toFixed(1)} % has no way` : "";
    app.view.setLegend([["var(--edge)", "idle"], ["var(--load)", `the fullest, if all hosts send to all${lost}`], ["var(--bad)", "failed link"]]);
  }

  function changed(): void {
    const topology = app.topology;
    if (!topology) return;
    kind.value = state.topology.kind;
    const failed = new Set(app.failedNumbers());
    const down = topology.switches.filter((one) => !one.up);
    counts.replaceChildren(facts([
      ["Name", topology.name],
      ["Switches", `${topology.switches.length}${down.length ? `, ${down.length} down` : ""}`],
      ["Hosts", String(topology.hosts.length)],
      ["Links", `${topology.links.length}${failed.size ? `, ${failed.size} failed` : ""}`],
    ]));
    const pods = count(topology);
    grouping.hidden = pods === 0;
    box.checked = app.grouped();
    opening.parentElement!.hidden = !app.grouped();
    opening.replaceChildren(
      el("option", { value: "" }, state.opened.length ? `${state.opened.length} open` : "none"),
      ...Array.from({ length: pods }, (_, pod) => el("option", { value: pod }, `${state.opened.includes(pod) ? "close" : "open"} pod ${pod + 1}`)),
    );
    const shown = topology.links.map((link, at): [string, number] => [link.name, at]).filter(([name]) => !search || name.includes(search));
    list.replaceChildren(
      ...down.map((one) => el("li", {}, button(`Mend ${one.name}`, () => app.mend([one.name]), { class: "failed", "aria-pressed": "true" }))),
      ...shown.slice(0, 200).map(([name, at]) =>
        el("li", {}, button(failed.has(at) ? `Mend ${name}` : `Fail ${name}`, () => app.toggleLink(at), { class: failed.has(at) ? "failed" : "", "aria-pressed": String(failed.has(at)) }))));
    more.textContent = shown.length > 200 ? `${shown.length - 200} more: search by name` : "";
  }

  const podBox = check("One box for each pod", false, (value) => {
    state.grouped = value;
    app.group();
  });
  const box = podBox.querySelector("input")!;
  const opening = select([["", "none"]], "", (value) => {
    if (value !== "") app.view.pressPod(Number(value));
  });
  const grouping = el("div", { class: "row" }, podBox, labelled("Open pods", opening));

  let search = "";
  const list = el("ul", { class: "links" });
  const more = el("p", { class: "quiet" });
  const find = el("input", { type: "search", placeholder: "Links by name", "aria-label": "Links by name", input: () => {
    search = find.value.trim();
    changed();
  } });
  links.append(
    el("h3", {}, "Links"),
    el("p", { class: "quiet" }, "Click a link in the picture, or here: it fails, or works again. Drag switches and hosts."),
    el("div", { class: "row" }, find, button("Mend all", () => {
      state.failed = [];
      const topology = app.topology;
      const down = [...(topology?.switches ?? []), ...(topology?.links ?? [])].filter((one) => !one.up);
      if (down.length) {
        app.mend(down.map((one) => one.name));
        return;
      }
      app.view.setFailed([]);
      changed();
      app.remember();
    })),
    list, more,
  );
  panel.append(
    el("h2", {}, "Network"),
    el("div", { class: "row" }, labelled("Kind", kind), labelled("Colours", colour)),
    fields, grouping, counts,
    el("div", { class: "row" },
      button("Save as file", () => void app.loaded().then(() => app.topology?.file && save(`${app.topology.name}.json`, "application/json", app.topology.file))),
      button("Undo dragging", () => {
        state.moved = {};
        app.group();
      })),
    links,
    el("details", {}, el("summary", {}, "Hosts"), el("div", { id: "hosts" })),
  );
  panel.querySelector("details")!.addEventListener("toggle", () => {
    const rows = (app.topology?.hosts ?? []).map((host) => [host.name, host.ipv4, app.topology?.switches[host.switch ?? -1]?.name ?? ""]);
    panel.querySelector("#hosts")!.replaceChildren(filtered("hosts", ["host", "IPv4", "switch"], rows));
  });
  drawFields();
  app.onTopology(() => {
    changed();
    if (state.screen === "network") void paint();
  });
  return {
    shown() {
      app.view.clearMarks();
      kind.value = state.topology.kind;
      drawFields();
      changed();
      void paint();
    },
  };
}
