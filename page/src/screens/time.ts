// A scenario in virtual time: queues fill, PAUSE runs backwards, deadlocks close and are named; beside it the same run with tags.
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

import type { App } from "../app.ts";
import { ofFlow, resolved } from "../colours.ts";
import { NetworkView } from "../draw.ts";
import { button, check, el, labelled, select } from "../dom.ts";
import type { ScenarioView, SimulationState, Started } from "../types.ts";

/** How long a frame may compute, in milliseconds: what is beyond slows the simulated time down, not the picture. */
const BUDGET = 16;
/** The least share of the speed that is left then. */
const LEAST = 0.1;
/** Points of curves at most. */
const POINTS = 2000;

interface Run {
  title: string;
  started: Started;
  view: NetworkView;
  state: SimulationState | null;
  last: SimulationState | null;
  times: number[];
  goodput: number[][];
  queued: number[];
  plot: uPlot | null;
}

/** How playing goes, for whoever measures: frames per second, and why it stopped. */
export interface Meter {
  frames: number;
  seconds: number;
}

export function timeScreen(app: App, panel: HTMLElement, views: HTMLElement): { shown(): void; hidden(): void; theme(): void; meter: Meter } {
  const state = app.state;
  const choice = state.time;
  const meter: Meter = { frames: 0, seconds: 0 };
  const other = new NetworkView("The network with tags", { link: (link) => void toggle(link) });
  const own = new NetworkView("The network without tags", { link: (link) => void toggle(link) });
  const clock = el("output", { class: "clock" }, "0 µs");
  const verdicts = el("div");
  const curves = el("div", { class: "curves" });
  const timeline = el("ol", { class: "timeline", tabindex: 0, "aria-label": "What happens" });
  const about = el("p", { class: "quiet" });
  const yaml = el("textarea", { rows: 14, spellcheck: "false", "aria-label": "Scenario, YAML" });
  let scenarios: ScenarioView[] = [];
  let runs: Run[] = [];
  let playing = false;
  /** Whether it is to play, now or when what is being prepared is ready. */
  let wanted = false;
  let presses = 0;
  /** Slices run one after the other. */
  let turn: Promise<void> = Promise.resolve();
  let ready: Promise<void> | null = null;
  let generation = 0;
  /** The share of the speed that this machine keeps up with. */
  let share = 1;
  let visible = false;

  const play = button("Play", () => void setPlaying(!(playing || wanted)), { class: "main", accesskey: "p" });
  const speed = select([["20", "20 µs per second"], ["100", "100 µs per second"], ["500", "500 µs per second"], ["2000", "2 ms per second"], ["10000", "as fast as it goes"]], String(choice.speed), (value) => {
    choice.speed = Number(value);
    app.remember();
  });
  const scenario = select([], "", (value) => {
    choice.scenario = value;
    choice.text = "";
    void begin();
  });
  const here = check("on the network and plan of this page", choice.here, (value) => {
    choice.here = value;
    void begin();
  });
  const beside = check("without and with tags, side by side", choice.beside, (value) => {
    choice.beside = value;
    void begin();
  });

  /** What is being prepared: a simulation of the chosen scenario. */
  let preparing: Promise<void> = Promise.resolve();
  function begin(): Promise<void> {
    preparing = prepare();
    return preparing;
  }

  /** Waits until nothing is being prepared any more. */
  async function prepared(): Promise<void> {
    await ready;
    for (let last: Promise<void> | null = null; last !== preparing; ) {
      last = preparing;
      await last;
    }
  }

  async function prepare(): Promise<void> {
    const number = ++generation;
    void setPlaying(false);
    app.remember();
    for (const run of runs) {
      void app.engine.call({ call: "end", simulation: run.started.simulation }).catch(() => undefined);
      run.plot?.destroy();
    }
    runs = [];
    const found = scenarios.find((one) => one.name === choice.scenario);
    if (document.activeElement !== yaml) yaml.value = choice.text || found?.text || "";
    const network = choice.here || (found && !found.own_network && !choice.text) ? { network: { ...app.network(), without_tags: false } } : {};
    const text = choice.text || choice.scenario;
    const sides: [string, boolean | null, NetworkView][] = choice.beside
      ? [["Without tags", false, own], ["With tags", true, other]]
      : [["", null, own]];
    const made: Run[] = [];
    for (const [title, tags, view] of sides) {
      const started = await app.ask<Started>({ call: "simulate", scenario: text, ...(tags === null ? {} : { tags }), ...network });
      if (!started || number !== generation) return;
      view.set(started.topology, state.moved);
      made.push({ title, started, view, state: null, last: null, times: [0], goodput: started.flows.map(() => [0]), queued: [0], plot: null });
    }
    app.say("");
    runs = made;
    about.textContent = made[0]?.started.about ?? "";
    timeline.replaceChildren(...(made[0]?.started.timeline ?? []).slice(0, 60).map((one) => el("li", { "data-at": one.at_us }, `${(one.at_us / 1000).toFixed(2)} ms: ${one.what}`)));
    showViews();
    drawCurves();
    await advance(0);
  }

  function showViews(): void {
    if (!visible) return;
    views.replaceChildren(...(runs.length ? runs.map((run) => run.view.element) : [own.element]));
    requestAnimationFrame(() => runs.forEach((run) => run.view.fit()));
  }

  function drawCurves(): void {
    const boxes = runs.map((run) => el("figure", { class: "curve" }, el("figcaption", {}, `${run.title ? `${run.title}: goodput` : "Goodput"}, Gb/s by flow`)));
    curves.replaceChildren(...boxes);
    for (const [number, run] of runs.entries()) {
      const flows = run.started.flows.slice(0, 12);
      const axis = { stroke: resolved("var(--text)"), grid: { stroke: resolved("var(--line)"), width: 1 }, ticks: { stroke: resolved("var(--line)") }, font: "12px system-ui, sans-serif" };
      run.plot?.destroy();
      run.plot = new uPlot(
        {
          ...room(boxes[number]), legend: { show: true, live: false }, cursor: { show: false },
          scales: { x: { time: false } },
          axes: [{ ...axis, label: "ms", labelSize: 18, labelGap: 0, labelFont: axis.font }, { ...axis, size: 44 }],
          series: [{ label: "ms" }, ...flows.map((name, at) => ({ label: name, stroke: resolved(ofFlow(name, at)), width: 2, points: { show: false } }))],
        },
        data(run),
        boxes[number],
      );
    }
  }

  /** How large a curve may be in its box. */
  function room(box: HTMLElement): { width: number; height: number } {
    return { width: Math.max(200, (box.clientWidth || 320) - 14), height: 170 };
  }

  new ResizeObserver(() => {
    curves.querySelectorAll<HTMLElement>(".curve").forEach((box, number) => {
      if (box.clientWidth) runs[number]?.plot?.setSize(room(box));
    });
  }).observe(curves);

  function data(run: Run): uPlot.AlignedData {
    return [run.times.map((at) => at / 1000), ...run.goodput.slice(0, 12)];
  }

  /** Runs so many simulated microseconds, after those that are asked for already, and shows how things are. */
  function advance(micros: number): Promise<void> {
    turn = turn.then(() => slice(micros));
    return turn;
  }

  async function slice(micros: number): Promise<void> {
    if (!runs.length) return;
    const number = generation;
    try {
      const start = performance.now();
      for (const run of runs) {
        const until = (run.state?.now_us ?? 0) + micros;
        const now = await app.engine.call<SimulationState>({ call: "run", simulation: run.started.simulation, until_us: until });
        if (number !== generation) return;
        take(run, now);
      }
      if (micros > 0) share = Math.min(1, Math.max(LEAST, share * (performance.now() - start > BUDGET ? 0.85 : 1.1)));
      show();
    } catch (error) {
      app.say(error instanceof Error ? error.message : String(error), true);
      playing = false;
      wanted = false;
      shownPlaying();
      runs = [];
    }
  }

  /** A step by hand: of what is chosen, when that is prepared. */
  async function step(): Promise<void> {
    await setPlaying(false);
    await prepared();
    await advance(Math.max(1, choice.speed / 30));
  }

  function take(run: Run, now: SimulationState): void {
    const before = run.last;
    run.state = now;
    const spent = now.now_us - (before?.now_us ?? 0);
    if (before && spent < now.end_us / 400 && !now.ended) return;
    run.last = now;
    if (spent <= 0) return;
    run.times.push(now.now_us);
    now.flows.forEach((flow, at) => run.goodput[at]?.push(((flow.bytes - (before?.flows[at].bytes ?? 0)) * 8) / (spent * 1000)));
    run.queued.push(now.queues.reduce((sum, queue) => sum + queue.bytes, 0));
    if (run.times.length > POINTS) for (const list of [run.times, run.queued, ...run.goodput]) list.shift();
    run.view.paintLinks(loads(run, now, before, spent));
    run.plot?.setData(data(run));
  }

  /** The share of its rate that each link carried in its busier direction. */
  function loads(run: Run, now: SimulationState, before: SimulationState | null, micros: number): Map<number, number> {
    const old = new Map(before?.sent.map(([s, p, bytes]) => [`${s}:${p}`, bytes]));
    const sent = new Map(now.sent.map(([s, p, bytes]) => [`${s}:${p}`, bytes - (old.get(`${s}:${p}`) ?? 0)]));
    const shares = new Map<number, number>();
    run.started.topology.links.forEach((link, number) => {
      const bytes = Math.max(...[link.a, link.b].map((end) => (end.switch === undefined ? 0 : sent.get(`${end.switch}:${end.port}`) ?? 0)));
      if (bytes > 0) shares.set(number, (bytes * 8) / (micros * 1000 * link.gbps));
    });
    return shares;
  }

  function show(): void {
    const now = runs[0]?.state;
    if (!now) return;
    clock.textContent = `${now.now_us.toFixed(0)} of ${now.end_us.toFixed(0)} µs`;
    for (const item of timeline.querySelectorAll("li")) item.classList.toggle("past", Number(item.dataset.at) <= now.now_us);
    verdicts.replaceChildren(...runs.map((run) => {
      const deadlock = run.state?.deadlocks[0];
      const paused = run.state?.queues.filter((queue) => queue.paused).length ?? 0;
      run.view.showQueues(run.state?.queues ?? []);
      run.view.setFailed(run.state?.failed ?? []);
      if (deadlock) run.view.showChain([...deadlock.switches, deadlock.switches[0]], "var(--bad)");
      else run.view.clearMarks();
      run.view.setTitle(run.title || run.started.name);
      const head = run.title ? `${run.title}: ` : "";
      const losses = run.state?.losses;
      const rest = `${paused} queues paused${losses?.lossless ? `, ${losses.lossless} lossless packets dropped` : ""}${losses?.link_down ? `, ${losses.link_down} lost with links` : ""}`;
      return el("p", { class: `verdict ${deadlock ? "bad" : "good"}`, role: "status" },
        deadlock
          ? `${head}DEADLOCK since ${(deadlock.closed_us / 1000).toFixed(2)} ms: ${[...deadlock.switches, deadlock.switches[0]].join(" → ")}; ${deadlock.stuck} queues can never move again.`
          : `${head}no deadlock; ${rest}.`);
    }));
    const priorities = new Set(runs.flatMap((run) => run.state?.queues.map((queue) => queue.priority) ?? []));
    const legend: [string, string][] = [...priorities].sort().map((priority) => [`var(--tag-${((priority + 5) % 6) + 1})`, `queue, priority ${priority}`]);
    runs.forEach((run) => run.view.setLegend([...legend, ["var(--pause)", "PAUSE"], ["var(--load)", "load"]]));
  }

  function ended(): boolean {
    return runs.length === 0 || runs.every((run) => run.state?.ended);
  }

  /** What the button says: while something is prepared that is to be played, pressing it again takes that back. */
  function shownPlaying(): void {
    play.textContent = playing ? "Pause" : wanted ? "Preparing" : "Play";
    play.setAttribute("aria-pressed", String(playing || wanted));
    play.setAttribute("aria-busy", String(wanted && !playing));
  }

  async function setPlaying(on: boolean): Promise<void> {
    const mine = ++presses;
    wanted = on;
    if (!on) playing = false;
    shownPlaying();
    if (!on) return;
    await prepared();
    // Pressed again meanwhile, or something else was chosen.
    if (mine !== presses) return;
    if (ended() && runs.length) {
      await begin();
      // That stopped what played, and nobody pressed since.
      if (mine + 1 === presses && !ended()) await setPlaying(true);
      return;
    }
    playing = runs.length > 0;
    wanted = playing;
    shownPlaying();
    if (!playing) return;
    meter.frames = 0;
    const start = performance.now();
    let last = start;
    const frame = async (at: number) => {
      if (!playing || mine !== presses) return;
      const passed = Math.min(0.1, Math.max(0, at - last) / 1000);
      last = at;
      await advance(Math.max(0.5, choice.speed * passed * share));
      // Something else was chosen or pressed meanwhile.
      if (mine !== presses) return;
      meter.frames++;
      meter.seconds = (performance.now() - start) / 1000;
      if (ended()) {
        playing = false;
        wanted = false;
        shownPlaying();
        play.textContent = "Play again";
        return;
      }
      requestAnimationFrame((next) => void frame(next));
    };
    requestAnimationFrame((at) => void frame(at));
  }

  async function toggle(link: number): Promise<void> {
    await prepared();
    for (const run of runs) {
      const name = run.started.topology.links[link]?.name;
      const failed = run.state?.failed.includes(link);
      const state = await app.ask<SimulationState>({ call: "change", simulation: run.started.simulation, [failed ? "restore" : "fail"]: name });
      if (state) run.state = { ...state, pauses: [] };
    }
    show();
  }

  async function reroute(who: string): Promise<void> {
    await prepared();
    for (const run of runs) {
      const state = await app.ask<SimulationState>({ call: "change", simulation: run.started.simulation, reroute: who });
      if (state) run.state = state;
    }
    show();
  }

  panel.append(
    el("h2", {}, "Time"),
    el("div", { class: "row" }, labelled("Scenario", scenario), labelled("Speed", speed)),
    here, beside,
    el("div", { class: "row controls" },
      play,
      button("Step", () => void step(), { title: "A thirtieth of a second at this speed", accesskey: "s" }),
      button("From the start", () => void begin()), clock),
    about, verdicts, curves,
    el("div", { class: "row" }, el("span", { class: "quiet" }, "Click a link to fail or mend it now."),
      button("Routes converge", () => void reroute("converged")), button("Neighbours reroute", () => void reroute("local"))),
    el("h3", {}, "What happens"), timeline,
    el("details", {}, el("summary", {}, "The scenario as text"), yaml, el("div", { class: "row" }, button("Play this text", () => {
      choice.text = yaml.value;
      void begin();
    }))),
  );
  panel.addEventListener("keydown", (event) => {
    if ((event.target as HTMLElement).closest("input, select, textarea, button, summary")) return;
    if (event.key === " ") {
      event.preventDefault();
      void setPlaying(!(playing || wanted));
    } else if (event.key === ".") void step();
  });

  return {
    shown() {
      visible = true;
      speed.value = String(choice.speed);
      ready = (async () => {
        if (!scenarios.length) {
          scenarios = (await app.ask<ScenarioView[]>({ call: "scenarios" })) ?? [];
          scenario.replaceChildren(...scenarios.map((one) => el("option", { value: one.name }, one.name)));
          scenario.value = choice.scenario;
        }
        if (!runs.length || choice.here) await begin();
        else showViews();
      })();
      showViews();
    },
    hidden() {
      visible = false;
      void setPlaying(false);
    },
    theme: drawCurves,
    meter,
  };
}
