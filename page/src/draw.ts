// A network as a picture: zoomed, dragged, clicked; with packets, cycles, loads and queues drawn over it.
import { drag } from "d3-drag";
import { select, type Selection } from "d3-selection";
import { zoom, zoomIdentity, type ZoomBehavior, type ZoomTransform } from "d3-zoom";

import { svg } from "./dom.ts";
import * as colours from "./colours.ts";
import { arrange, podOf, type Pod, type Point } from "./pods.ts";
import type { CycleBuffer, End, Hop, QueueState, Topology } from "./types.ts";

const LAYERS = 4;
/** A queue of so many bytes fills its bar. */
const FULL_BAR = 200_000;
const BAR = 44;

export interface Handlers {
  link?: (link: number) => void;
  node?: (name: string) => void;
  moved?: (name: string, at: Point) => void;
  pod?: (pod: number) => void;
}

/** Picture of one network. */
export class NetworkView {
  readonly element: HTMLElement;
  private readonly root: SVGSVGElement;
  private readonly inner: SVGGElement;
  private readonly groups: Record<"pods" | "links" | "marks" | "hosts" | "switches" | "queues", SVGGElement>;
  private readonly title: HTMLElement;
  private readonly legend: HTMLElement;
  private readonly zoomer: ZoomBehavior<SVGSVGElement, unknown>;
  private topology: Topology | null = null;
  private switches: Point[] = [];
  private hosts: (Point | null)[] = [];
  /** None where the network is not drawn by pod. */
  private pods: Pod[] = [];
  private lines: SVGGElement[] = [];
  private bends: number[] = [];
  /** The least rate of a link, in Gb/s. */
  private slowest = 1;
  private nodes = new Map<string, SVGGElement>();
  private ports = new Map<string, number>();
  private bars = new Map<string, { group: SVGGElement; bar: SVGRectElement; pause: SVGPathElement }>();
  private scale = 1;
  private settled = 0;
  private fitted = true;
  private repaint: (() => void) | null = null;
  failed = new Set<number>();

  constructor(
    label: string,
    private readonly handlers: Handlers,
  ) {
    this.element = document.createElement("figure");
    this.element.className = "network";
    this.title = document.createElement("figcaption");
    this.legend = document.createElement("div");
    this.legend.className = "legend";
    this.root = svg("svg", { role: "img", "aria-label": label });
    this.inner = svg("g");
    const group = (name: string) => {
      const made = svg("g", { class: name });
      this.inner.append(made);
      return made;
    };
    this.groups = {
      pods: group("pods"), links: group("links"), marks: group("marks"), hosts: group("hosts"), switches: group("switches"), queues: group("queues"),
    };
    this.root.append(this.inner);
    const tools = document.createElement("div");
    tools.className = "zoom";
    const tool = (text: string, title: string, press: () => void) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = text;
      button.title = title;
      if (text.length === 1) button.setAttribute("aria-label", title);
      button.addEventListener("click", press);
      tools.append(button);
    };
    tool("+", "Zoom in", () => this.zoomBy(1.4));
    tool("−", "Zoom out", () => this.zoomBy(1 / 1.4));
    tool("Fit", "Show all of the network", () => this.fit());
    this.element.append(this.title, this.root, tools, this.legend);
    this.zoomer = zoom<SVGSVGElement, unknown>()
      .scaleExtent([0.02, 12])
      .on("zoom", (event: { transform: ZoomTransform; sourceEvent: Event | null }) => {
        if (event.sourceEvent) this.fitted = false;
        this.scale = event.transform.k;
        this.inner.setAttribute("transform", event.transform.toString());
        this.inner.style.setProperty("--k", String(event.transform.k));
        clearTimeout(this.settled);
        this.settled = window.setTimeout(() => this.declutter(), 60);
      });
    this.selection().call(this.zoomer).on("dblclick.zoom", null);
    new ResizeObserver(() => this.fitted && this.fit()).observe(this.root);
  }

  private selection(): Selection<SVGSVGElement, unknown, null, undefined> {
    return select<SVGSVGElement, unknown>(this.root);
  }

  private zoomBy(by: number): void {
    this.fitted = false;
    this.selection().call(this.zoomer.scaleBy, by);
  }

  /** Shows all of the network. */
  fit(): void {
    const { clientWidth: width, clientHeight: height } = this.root;
    if (!this.topology || !width || !height) return;
    const all = [...this.switches, ...this.hosts.filter((at): at is Point => at !== null)];
    for (const { at, half } of this.pods) all.push([at[0] - half[0], at[1] - half[1]], [at[0] + half[0], at[1] + half[1]]);
    const xs = all.map((at) => at[0]);
    const ys = all.map((at) => at[1]);
    const [left, top] = [Math.min(...xs), Math.min(...ys)];
    const [across, down] = [Math.max(...xs) - left, Math.max(...ys) - top];
    const margin = 38;
    const k = Math.min((width - 2 * margin) / Math.max(across, 1), (height - 2 * margin) / Math.max(down, 1), 2);
    const scale = Math.max(k, 0.02);
    const x = width / 2 - (left + across / 2) * scale;
    const y = height / 2 - (top + down / 2) * scale;
    this.selection().call(this.zoomer.transform, zoomIdentity.translate(x, y).scale(scale));
    this.fitted = true;
  }

  setTitle(text: string): void {
    this.title.textContent = text;
  }

  /** What colours mean: pairs of colour and word. */
  setLegend(entries: [string, string][]): void {
    this.legend.replaceChildren(
      ...entries.map(([colour, word]) => {
        const entry = document.createElement("span");
        const dot = document.createElement("i");
        dot.style.background = colour;
        entry.append(dot, word);
        return entry;
      }),
    );
  }

  /** Draws a topology, with its pods as boxes but for those that are open; null draws none. */
  set(topology: Topology, moved: Record<string, Point> = {}, opened: Set<number> | null = null): void {
    this.topology = topology;
    const places = opened ? {} : moved;
    this.switches = topology.switches.map((one) => [...(places[one.name] ?? [one.x, one.y])]);
    this.hosts = topology.hosts.map((one) => (one.at ? [...(places[one.name] ?? one.at)] : null));
    this.pods = opened ? arrange(topology, this.switches, this.hosts, opened) : [];
    this.failed = new Set();
    for (const group of Object.values(this.groups)) group.replaceChildren();
    this.nodes.clear();
    this.ports.clear();
    this.bars.clear();
    const closed = (pod: number | null | undefined) => pod !== null && pod !== undefined && this.pods[pod]?.open === false;
    const drawn = topology.switches.filter((one) => !closed(one.pod)).length;
    this.inner.classList.toggle("many", drawn > 150);
    this.pods.forEach((pod) => this.drawPod(pod));
    this.bends = bends(topology);
    this.slowest = Math.min(...topology.links.map((link) => link.gbps).filter((rate) => rate > 0), Infinity);
    this.lines = topology.links.map((link, number) => {
      for (const end of [link.a, link.b]) if (end.switch !== undefined) this.ports.set(`${end.switch}:${end.port}`, number);
      return this.drawLink(number);
    });
    topology.switches.forEach((one, number) => closed(one.pod) || this.drawNode(one.name, "switch", number));
    topology.hosts.forEach((one, number) => {
      if (this.hosts[number] && !closed(topology.switches[one.switch ?? -1]?.pod)) this.drawNode(one.name, "host", number);
    });
    this.place();
    this.fit();
    this.paint("layer");
  }

  private at(end: End): Point | null {
    return end.switch !== undefined ? this.switches[end.switch] : this.hosts[end.host ?? -1] ?? null;
  }

  private drawPod(pod: Pod): void {
    const [[x, y], [across, down]] = [pod.at, pod.half];
    const group = svg("g", { class: pod.open ? "pod open" : "pod", transform: `translate(${x},${y})` });
    group.append(svg("rect", { x: -across, y: -down, width: 2 * across, height: 2 * down, rx: 8 }));
    const text = svg("text", { class: "name" });
    text.textContent = `pod ${pod.number + 1}`;
    const title = svg("title");
    title.textContent = `pod ${pod.number + 1}: ${pod.switches.length} switches, ${pod.hosts.length} hosts; click ${pod.open ? "closes" : "opens"} it`;
    if (pod.open) text.setAttribute("y", String(-down));
    group.append(text, title);
    group.addEventListener("click", () => this.handlers.pod?.(pod.number));
    // Links lead to a closed one, and through an open one.
    this.groups[pod.open ? "pods" : "switches"].append(group);
  }

  /** As a click on a pod. */
  pressPod(pod: number): void {
    this.handlers.pod?.(pod);
  }

  /** Whether a link is seen: not within a closed pod. */
  private seen(number: number): boolean {
    const link = this.topology!.links[number];
    const [a, b] = [podOf(this.topology!, link.a), podOf(this.topology!, link.b)];
    return a === null || a !== b || this.pods[a]?.open !== false;
  }

  private drawLink(number: number): SVGGElement {
    const link = this.topology!.links[number];
    const group = svg("g", { class: "link" });
    group.append(svg("path", { class: "line" }), svg("path", { class: "hit" }));
    const title = svg("title");
    title.textContent = `${link.name}, ${link.gbps} Gb/s${link.up ? "" : ", down in the file"}`;
    group.append(title);
    // Where rates differ, faster links are thicker.
    group.style.setProperty("--rate", String(Math.min(2.5, Math.sqrt(link.gbps / this.slowest))));
    group.addEventListener("click", () => this.handlers.link?.(number));
    this.groups.links.append(group);
    return group;
  }

  private drawNode(name: string, kind: "switch" | "host", number: number): void {
    const group = svg("g", { class: kind });
    const layer = kind === "switch" ? this.topology!.switches[number].layer : null;
    if (layer !== null) group.classList.add(`layer-${Math.min(layer, LAYERS - 1)}`);
    if (kind === "switch") group.append(svg("rect", { x: -15, y: -11, width: 30, height: 22, rx: 5 }));
    else group.append(svg("circle", { r: 8 }));
    const text = svg("text", { class: "name" });
    text.textContent = name;
    group.append(text);
    const down = kind === "switch" && !this.topology!.switches[number].up;
    group.classList.toggle("down", down);
    const title = svg("title");
    title.textContent = kind === "host" ? `${name} ${this.topology!.hosts[number].ipv4}` : down ? `${name}, down in the file` : name;
    group.append(title);
    this.nodes.set(name, group);
    const places = kind === "switch" ? this.switches : this.hosts;
    select<SVGGElement, unknown>(group).call(
      drag<SVGGElement, unknown>()
        .container(() => this.inner)
        .clickDistance(4)
        .on("drag", (event: { x: number; y: number }) => {
          places[number] = [event.x, event.y];
          this.place();
          this.repaint?.();
        })
        .on("end", () => {
          const at = places[number];
          if (at && !this.pods.length && event_moved(at, this.topology!, kind, number)) this.handlers.moved?.(name, [Math.round(at[0]), Math.round(at[1])]);
        }),
    );
    group.addEventListener("click", () => this.handlers.node?.(name));
    this.groups[kind === "switch" ? "switches" : "hosts"].append(group);
  }

  /** Puts everything where it is. */
  private place(): void {
    const topology = this.topology!;
    topology.links.forEach((link, number) => {
      const [a, b] = [this.at(link.a), this.at(link.b)];
      const group = this.lines[number];
      group.style.display = a && b && this.seen(number) ? "" : "none";
      if (!a || !b) return;
      const path = curve(a, b, this.bends[number]);
      for (const line of group.querySelectorAll("path")) line.setAttribute("d", path);
    });
    const put = (name: string, at: Point | null) => at && this.nodes.get(name)?.setAttribute("transform", `translate(${at[0]},${at[1]})`);
    topology.switches.forEach((one, number) => put(one.name, this.switches[number]));
    topology.hosts.forEach((one, number) => put(one.name, this.hosts[number]));
  }

  /** Hides names that would lie over others. */
  private declutter(): void {
    const topology = this.topology;
    if (!topology) return;
    const taken: [number, number, number, number][] = [];
    const k = this.scale;
    const show = (name: string, at: Point | null, below: boolean) => {
      const group = this.nodes.get(name);
      if (!group || !at) return;
      const half = name.length * 3.7;
      const middle = at[1] * k + (below ? 10 * k + 9 : 0);
      const box: [number, number, number, number] = [at[0] * k - half, middle - 8, at[0] * k + half, middle + 8];
      const free = taken.length < 400 && !taken.some((other) => box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3]);
      group.classList.toggle("unnamed", !free);
      if (free) taken.push(box);
    };
    topology.switches.forEach((one, number) => show(one.name, this.switches[number], true));
    topology.hosts.forEach((one, number) => show(one.name, this.hosts[number], true));
  }

  private link(number: number): SVGGElement | undefined {
    return this.lines[number];
  }

  setFailed(links: Iterable<number>): void {
    const now = new Set(links);
    for (const number of new Set([...this.failed, ...now])) this.link(number)?.classList.toggle("failed", now.has(number));
    this.failed = now;
  }

  /** Colours switches by layer, or by a share from 0 to 1. */
  paint(by: "layer" | number[]): void {
    this.inner.classList.toggle("shares", by !== "layer");
    this.topology?.switches.forEach((one, number) => {
      const group = this.nodes.get(one.name);
      if (by === "layer") group?.style.removeProperty("--share");
      else group?.style.setProperty("--share", `${Math.round((by[number] ?? 0) * 100)}%`);
    });
  }

  /** Colours links by a share from 0 to 1, by number of link. */
  paintLinks(shares: Map<number, number> | null): void {
    this.lines.forEach((group, number) => {
      const share = shares?.get(number);
      if (share === undefined) group.style.removeProperty("--load-share");
      else group.style.setProperty("--load-share", `${Math.round(Math.min(1, share) * 100)}%`);
      group.classList.toggle("loaded", share !== undefined && share > 0);
    });
  }

  /** Colours links, by number of link; null leaves one as it is. */
  colourLinks(of: (string | null)[] | null): void {
    this.lines.forEach((group, number) => {
      const colour = of?.[number] ?? null;
      if (colour === null) group.style.removeProperty("--link-colour");
      else group.style.setProperty("--link-colour", colour);
      group.classList.toggle("coloured", colour !== null);
    });
  }

  clearMarks(): void {
    this.repaint = null;
    this.groups.marks.replaceChildren();
    for (const group of this.nodes.values()) group.classList.remove("on", "now");
  }

  private arrow(from: Point, to: Point, bend: number, colour: string, kind: string): void {
    // Within a closed pod there is nothing to see.
    if (from[0] === to[0] && from[1] === to[1]) return;
    // It ends where the node begins, so that its head is seen.
    const along = Math.hypot(to[0] - from[0], to[1] - from[1]) || 1;
    const short = Math.min(18, along / 3);
    const end: Point = [to[0] - ((to[0] - from[0]) / along) * short, to[1] - ((to[1] - from[1]) / along) * short];
    const path = svg("path", { class: `arrow ${kind}`, d: curve(from, end, bend) });
    path.style.stroke = colour;
    const angle = (Math.atan2(end[1] - from[1], end[0] - from[0]) * 180) / Math.PI;
    const head = svg("path", { class: "head", d: "M-9,-6 L1,0 L-9,6 Z", transform: `translate(${end[0]},${end[1]}) rotate(${angle})` });
    head.style.fill = colour;
    this.groups.marks.append(path, head);
  }

  /** The way of a packet, each link in the colour of the tag that the packet has on it; one hop may be chosen. */
  showPath(hops: Hop[], from: string, to: string | null, chosen: number): void {
    const draw = () => {
      this.clearMarks();
      this.repaint = draw;
      const place = (name: string) => this.placeOf(name);
      const names = [from, ...hops.map((hop) => hop.switch), ...(to ? [to] : [])];
      names.forEach((name) => this.nodes.get(name)?.classList.add("on"));
      this.nodes.get(hops[chosen]?.switch ?? "")?.classList.add("now");
      const crossed = new Set<string>();
      for (let at = 0; at + 1 < names.length; at++) {
        const [a, b] = [place(names[at]), place(names[at + 1])];
        const tag = at < hops.length ? hops[at].tag_before : hops[at - 1].tag_after;
        const pair = [names[at], names[at + 1]].sort().join(" ");
        const bend = crossed.has(pair) ? 0.14 : 0;
        crossed.add(pair);
        if (a && b) this.arrow(a, b, bend, colours.ofTag(tag), at === chosen || at === chosen + 1 ? "near" : "");
      }
    };
    draw();
  }

  /** A cycle of buffers: every arrow is a buffer that waits for the next. */
  showCycle(buffers: CycleBuffer[]): void {
    const draw = () => {
      this.clearMarks();
      this.repaint = draw;
      buffers.forEach((buffer) => {
        this.nodes.get(buffer.switch)?.classList.add("on");
        const link = buffer.link === null ? undefined : this.topology?.links[buffer.link];
        if (!link || buffer.number === null) return;
        const [here, there] = link.a.switch === buffer.number && link.a.port === buffer.port ? [link.a, link.b] : [link.b, link.a];
        const [a, b] = [this.at(there), this.at(here)];
        if (a && b) this.arrow(a, b, 0, "var(--bad)", "cycle");
      });
    };
    draw();
  }

  /** Nodes by name, in order, as a chain of arrows. */
  showChain(names: string[], colour: string): void {
    const draw = () => {
      this.clearMarks();
      this.repaint = draw;
      names.forEach((name) => this.nodes.get(name)?.classList.add("on"));
      for (let at = 0; at + 1 < names.length; at++) {
        const [a, b] = [this.placeOf(names[at]), this.placeOf(names[at + 1])];
        if (a && b) this.arrow(a, b, 0, colour, "cycle");
      }
    };
    draw();
  }

  private placeOf(name: string): Point | null {
    const topology = this.topology!;
    const number = topology.switches.findIndex((one) => one.name === name);
    if (number >= 0) return this.switches[number];
    return this.hosts[topology.hosts.findIndex((one) => one.name === name)] ?? null;
  }

  /** Queues at the ports of switches, and the PAUSE that holds them. */
  showQueues(queues: QueueState[]): void {
    const seen = new Set<string>();
    for (const queue of queues) {
      const key = `${queue.switch}:${queue.port}:${queue.priority}`;
      const link = this.topology?.links[this.ports.get(`${queue.switch}:${queue.port}`) ?? -1];
      if (!link) continue;
      const near = link.a.switch === queue.switch && link.a.port === queue.port ? link.a : link.b;
      const [here, there] = [this.at(near), this.at(near === link.a ? link.b : link.a)];
      if (!here || !there || (here[0] === there[0] && here[1] === there[1])) continue;
      seen.add(key);
      const shown = this.bars.get(key) ?? this.drawBar(key);
      const angle = (Math.atan2(there[1] - here[1], there[0] - here[0]) * 180) / Math.PI;
      const along = Math.hypot(there[0] - here[0], there[1] - here[1]);
      const beside = queue.priority > 1 ? -(9 * (queue.priority - 1)) : 0;
      shown.group.setAttribute("transform", `translate(${here[0]},${here[1]}) rotate(${angle}) translate(0,${beside})`);
      const length = Math.max(2, Math.min(BAR, (queue.bytes / FULL_BAR) * BAR));
      shown.bar.setAttribute("width", String(length));
      shown.bar.style.fill = colours.ofTag(queue.priority);
      shown.group.classList.toggle("paused", queue.paused);
      // PAUSE runs against the data: from the far end back to this port.
      shown.pause.setAttribute("d", `M${along - 14},9 L20,9`);
    }
    for (const [key, shown] of this.bars) {
      if (seen.has(key)) continue;
      shown.group.remove();
      this.bars.delete(key);
    }
  }

  private drawBar(key: string): { group: SVGGElement; bar: SVGRectElement; pause: SVGPathElement } {
    const group = svg("g", { class: "queue" });
    const bar = svg("rect", { class: "bytes", x: 17, y: -8, height: 8, rx: 1.5, width: 2 });
    const pause = svg("path", { class: "pause" });
    group.append(svg("rect", { class: "room", x: 17, y: -8, height: 8, width: BAR, rx: 1.5 }), bar, pause);
    this.groups.queues.append(group);
    const made = { group, bar, pause };
    this.bars.set(key, made);
    return made;
  }
}

function event_moved(at: Point, topology: Topology, kind: "switch" | "host", number: number): boolean {
  const from = kind === "switch" ? [topology.switches[number].x, topology.switches[number].y] : topology.hosts[number].at;
  return !from || Math.hypot(at[0] - from[0], at[1] - from[1]) > 1;
}

/** How far links between the same two nodes are bent apart. */
function bends(topology: Topology): number[] {
  const seen = new Map<string, number>();
  const name = (end: End) => (end.switch !== undefined ? `s${end.switch}` : `h${end.host}`);
  return topology.links.map((link) => {
    const key = [name(link.a), name(link.b)].sort().join(" ");
    const number = seen.get(key) ?? 0;
    seen.set(key, number + 1);
    return number === 0 ? 0 : Math.ceil(number / 2) * 0.12 * (number % 2 ? 1 : -1);
  });
}

function curve(a: Point, b: Point, bend: number): string {
  if (!bend) return `M${a[0]},${a[1]} L${b[0]},${b[1]}`;
  const [dx, dy] = [b[0] - a[0], b[1] - a[1]];
  const middle: Point = [(a[0] + b[0]) / 2 - dy * bend, (a[1] + b[1]) / 2 + dx * bend];
  return `M${a[0]},${a[1]} Q${middle[0]},${middle[1]} ${b[0]},${b[1]}`;
}
