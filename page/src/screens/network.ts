// Make, import, drag; links fail and are mended; colours.
import { KINDS, type App } from "../app.ts";
import { button, el, labelled, number, save, select } from "../dom.ts";
import { facts, filtered } from "../table.ts";

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
    state.program = null;
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

  const colour = select([["layer", "Layer"], ["rules", "Rules per switch"]], state.colour === "rules" ? "rules" : "layer", (value) => {
    state.colour = value as "layer" | "rules";
    void paint();
    app.remember();
  });

  function layers(): number {
    return 1 + Math.max(0, ...(app.topology?.switches ?? []).map((one) => one.layer ?? 0));
  }

  async function paint(): Promise<void> {
    if (state.colour !== "rules") {
      app.view.paint("layer");
      app.view.setLegend([
        ...(app.topology?.layered ? ([["var(--layer-0)", "leaves"], ["var(--layer-1)", "the layer above"], ["var(--layer-2)", "the top of three"]] as [string, string][]) : ([["var(--layer-1)", "switch"]] as [string, string][])).slice(0, layers()),
        ...(app.topology?.hosts[0]?.at ? ([["var(--host)", "host"]] as [string, string][]) : []), ["var(--bad)", "failed link"],
      ]);
      return;
    }
    app.plan ??= await app.ask({ call: "plan", ...app.network() });
    const rules = app.plan?.rules;
    if (!rules) return;
    const most = Math.max(1, ...rules);
    app.view.paint(rules.map((count) => count / most));
    app.view.setLegend([["var(--share-low)", "no rule"], ["var(--share-high)", `${most} rules`]]);
  }

  function changed(): void {
    const topology = app.topology;
    if (!topology) return;
    kind.value = state.topology.kind;
    counts.replaceChildren(facts([
      ["Name", topology.name],
      ["Switches", String(topology.switches.length)],
      ["Hosts", String(topology.hosts.length)],
      ["Links", `${topology.links.length}${state.failed.length ? `, ${state.failed.length} failed` : ""}`],
    ]));
    const failed = new Set(state.failed);
    const shown = topology.links.map((link, at): [string, number] => [link.name, at]).filter(([name]) => !search || name.includes(search));
    list.replaceChildren(...shown.slice(0, 200).map(([name, at]) =>
      el("li", {}, button(failed.has(name) ? `Mend ${name}` : `Fail ${name}`, () => app.toggleLink(at), { class: failed.has(name) ? "failed" : "", "aria-pressed": String(failed.has(name)) }))));
    more.textContent = shown.length > 200 ? `${shown.length - 200} more: search by name` : "";
  }

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
      app.view.setFailed([]);
      changed();
      app.remember();
    })),
    list, more,
  );
  panel.append(
    el("h2", {}, "Network"),
    el("div", { class: "row" }, labelled("Kind", kind), labelled("Colours", colour)),
    fields, counts,
    el("div", { class: "row" },
      button("Save as file", () => app.topology?.file && save(`${app.topology.name}.json`, "application/json", app.topology.file)),
      button("Undo dragging", () => {
        state.moved = {};
        if (app.topology) app.view.set(app.topology);
        app.view.setFailed(app.failedNumbers());
        void paint();
        app.remember();
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
      app.view.paintLinks(null);
      kind.value = state.topology.kind;
      drawFields();
      changed();
      void paint();
    },
  };
}
