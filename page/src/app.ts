// What all screens share: the state, the engine, the network of the state, and who is told when it changes.
import { connect, type Engine } from "./engine.ts";
import { NetworkView } from "./draw.ts";
import { MANY, count } from "./pods.ts";
import { pack, usual, type State } from "./state.ts";
import type { PlanAnswer, Topology } from "./types.ts";

type Listener = () => void;

/** Moves of the search for fewer tags: some seconds in WebAssembly. */
const SEARCH = 2_000_000;

/** What takes longer can be stopped, in milliseconds. */
const SLOW = 1200;

const KINDS: Record<string, { label: string; numbers: Record<string, [string, number, number, number]> }> = {
  clos: { label: "Clos, two layers", numbers: { leaves: ["Leaves", 4, 1, 512], spines: ["Spines", 2, 1, 128], hosts: ["Hosts per leaf", 2, 1, 64] } },
  "clos-3": {
    label: "Clos, three layers",
    numbers: { pods: ["Pods", 2, 1, 64], leaves: ["Leaves per pod", 2, 1, 64], aggregations: ["Aggregations per pod", 2, 1, 64], spines: ["Spines", 2, 1, 128], hosts: ["Hosts per leaf", 2, 1, 64] },
  },
  "fat-tree": { label: "Fat-tree", numbers: { k: ["Ports k", 4, 2, 32] } },
  "flattened-clos": { label: "Flattened Clos", numbers: { switches: ["Switches", 16, 4, 2000], ports: ["Ports", 12, 2, 64], fabric_ports: ["To switches", 8, 2, 62], seed: ["Seed", 1, 0, 1e6] } },
  xpander: { label: "Xpander", numbers: { switches: ["Switches", 10, 3, 2000], ports: ["Ports", 6, 2, 64], fabric_ports: ["To switches", 4, 2, 63], seed: ["Seed", 1, 0, 1e6] } },
  egft: { label: "EGFT, sized for hosts", numbers: { hosts: ["Hosts", 32, 1, 20000], ports: ["Ports", 8, 2, 128] } },
  jellyfish: { label: "Jellyfish", numbers: { switches: ["Switches", 12, 3, 2000], ports: ["Ports", 6, 2, 64], fabric_ports: ["To switches", 4, 2, 63], seed: ["Seed", 1, 0, 1e6] } },
  bcube: { label: "BCube", numbers: { n: ["Ports n", 4, 2, 16], k: ["Levels k", 1, 0, 3] } },
  ring: { label: "Ring", numbers: { switches: ["Switches", 5, 3, 200], hosts: ["Hosts per switch", 1, 0, 20] } },
  line: { label: "Line", numbers: { switches: ["Switches", 3, 1, 200], hosts: ["Hosts per switch", 1, 0, 20] } },
  "three-node": { label: "Triangle", numbers: {} },
};

export { KINDS };

export class App {
  readonly engine: Engine = connect();
  readonly view: NetworkView;
  state: State = usual();
  topology: Topology | null = null;
  plan: PlanAnswer | null = null;
  private asked = 0;
  private readonly listeners: Listener[] = [];
  private saving = 0;
  private waiting = 0;
  private loading: Promise<void> = Promise.resolve();

  constructor() {
    this.view = new NetworkView("The network", {
      pod: (pod) => {
        const opened = new Set(this.state.opened);
        if (!opened.delete(pod)) opened.add(pod);
        this.state.opened = [...opened].sort((a, b) => a - b);
        this.group();
      },
      link: (link) => this.toggleLink(link),
      moved: (name, at) => {
        this.state.moved[name] = at;
        this.remember();
      },
    });
  }

  onTopology(listener: Listener): void {
    this.listeners.push(listener);
  }

  /** What stands in front of every request about the network. */
  network(): Record<string, unknown> {
    const { kind, numbers, text, hosts_per_node } = this.state.topology;
    const topology = kind === "text"
      ? { text: { text: text ?? "", hosts_per_node: hosts_per_node ?? 0, mend: this.state.mended } }
      : { make: { topology: kind === "three-node" ? kind : { [kind === "clos-3" ? "clos" : kind]: numbers } } };
    return { topology, plan: this.planSpec(), without_tags: this.state.without };
  }

  private planSpec(): Record<string, unknown> {
    const spec: Record<string, unknown> = { scheme: this.state.scheme };
    for (const [name, value] of Object.entries(this.state.options)) {
      if (value === "") continue;
      if (name === "routes") spec.routes = value === "shortest" ? { policy: "shortest" } : value === "ksp" ? { policy: "ksp", k: 4 } : { policy: "up-down", bounces: Number(this.state.options.bounces || 1) };
      else if (name === "algorithm" && value === "optimal") Object.assign(spec, { algorithm: value, search_moves: SEARCH });
      else if (/^\d+$/.test(value)) spec[name] = Number(value);
      else spec[name] = value;
    }
    return spec;
  }

  /** Asks the engine; what goes wrong is said, and is nothing. */
  async ask<T>(request: Record<string, unknown>): Promise<T | null> {
    const busy = document.getElementById("busy")!;
    this.waiting++;
    const shown = window.setTimeout(() => (busy.hidden = false), SLOW);
    try {
      return await this.engine.call<T>(request);
    } catch (error) {
      this.say(error instanceof Error ? error.message : String(error), true);
      return null;
    } finally {
      clearTimeout(shown);
      if (--this.waiting === 0) busy.hidden = true;
    }
  }

  say(text: string, bad = false): void {
    const place = document.getElementById("message")!;
    place.textContent = text;
    place.hidden = text === "";
    place.classList.toggle("bad", bad);
  }

  /** Makes the topology of the state, and tells whoever shows it. */
  load(): Promise<void> {
    this.loading = this.make();
    return this.loading;
  }

  /** Waits until no topology is being made any more. */
  async loaded(): Promise<void> {
    for (let last: Promise<void> | null = null; last !== this.loading; ) {
      last = this.loading;
      await last;
    }
  }

  private async make(): Promise<void> {
    const number = ++this.asked;
    const topology = await this.ask<Topology>({ call: "topology", topology: this.network().topology });
    if (number !== this.asked || !topology) return;
    this.topology = topology;
    this.plan = null;
    const names = new Set(topology.links.map((link) => link.name));
    this.state.failed = this.state.failed.filter((name) => names.has(name));
    const hosts = topology.hosts.map((host) => host.name);
    const packet = this.state.packet;
    if (!hosts.includes(packet.from)) packet.from = hosts[0] ?? "";
    if (!hosts.includes(packet.to)) packet.to = hosts[hosts.length - 1] ?? "";
    this.view.set(topology, this.state.moved, this.pods());
    this.view.setFailed(this.failedNumbers());
    this.say(topology.notes?.join(" ") ?? "");
    this.listeners.forEach((listener) => listener());
    this.remember();
  }

  /** Whether pods are boxes. */
  grouped(): boolean {
    return count(this.topology) > 0 && (this.state.grouped ?? (this.topology?.switches.length ?? 0) > MANY);
  }

  private pods(): Set<number> | null {
    return this.grouped() ? new Set(this.state.opened) : null;
  }

  /** Draws the network anew, by pod or not. */
  group(): void {
    if (!this.topology) return;
    this.view.set(this.topology, this.state.moved, this.pods());
    this.view.setFailed(this.failedNumbers());
    this.listeners.forEach((listener) => listener());
    this.remember();
  }

  /** Links that are down: by hand, or in the file. */
  failedNumbers(): number[] {
    const links = this.topology?.links ?? [];
    const failed = new Set(this.state.failed);
    return links.flatMap((link, number) => (failed.has(link.name) || !link.up ? [number] : []));
  }

  /** Brings up links and switches that the file has as down, with the switches at the ends of the links. */
  mend(names: string[]): void {
    const topology = this.topology;
    if (!topology) return;
    const all = new Set([...this.state.mended, ...names]);
    for (const link of topology.links.filter((one) => all.has(one.name))) {
      for (const end of [link.a, link.b]) {
        const one = topology.switches[end.switch ?? -1];
        if (one && !one.up) all.add(one.name);
      }
    }
    this.state.mended = [...all];
    void this.load();
  }

  toggleLink(number: number): void {
    const link = this.topology?.links[number];
    const name = link?.name;
    if (!name) return;
    if (!link.up) {
      this.state.failed = this.state.failed.filter((one) => one !== name);
      this.mend([name]);
      return;
    }
    const failed = new Set(this.state.failed);
    if (!failed.delete(name)) failed.add(name);
    this.state.failed = [...failed];
    this.view.setFailed(this.failedNumbers());
    this.listeners.forEach((listener) => listener());
    this.remember();
  }

  /** Puts the state into the address. */
  remember(): void {
    clearTimeout(this.saving);
    this.saving = window.setTimeout(() => void pack(this.state).then((text) => history.replaceState(null, "", `#s=${text}`)), 150);
  }
}
