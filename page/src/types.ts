// What the engine answers; see crates/engine.

export interface End {
  switch?: number;
  host?: number;
  port: number;
}

export interface LinkView {
  name: string;
  a: End;
  b: End;
  gbps: number;
  up: boolean;
}

export interface SwitchView {
  name: string;
  ports: number;
  layer: number | null;
  server: boolean;
  /** What hangs together below the highest layer. */
  pod: number | null;
  up: boolean;
  x: number;
  y: number;
}

export interface HostView {
  name: string;
  ipv4: string;
  switch: number | null;
  at: [number, number] | null;
}

export interface Topology {
  name: string;
  width: number;
  height: number;
  layered: boolean;
  switches: SwitchView[];
  hosts: HostView[];
  links: LinkView[];
  notes?: string[];
  file?: string;
}

export interface CycleBuffer {
  switch: string;
  port: number;
  tag: number;
  priority: number;
  link: number | null;
  number: number | null;
}

export interface PlanAnswer {
  proven: boolean;
  summary?: Record<string, unknown> & { rules_total: number; rules_max_per_switch: number; scheme: string; algorithm: string };
  report: { verdict: string; cbd_free: boolean | null; loop_free: boolean | null; counterexample: string | null; lossless_priorities: number };
  promised?: string;
  rules?: number[];
  errors: string[];
  cycle: { buffers: CycleBuffer[]; causes: string[] } | null;
  lost: { nodes: string[]; tags: number[]; switch: string; text: string } | null;
  tags: { tag: number; priority: number }[];
  /** By link, the lossless tags that packets may have on it. */
  link_tags: number[][];
  file: string;
}

export interface Header {
  name: string;
  fields: [string, string][];
}

export interface Shown {
  headers: Header[];
  payload: number;
}

export interface TableStep {
  table: string;
  key: [string, string][];
  entry: string | null;
  priority: number | null;
  action: string | null;
  /** The same for people. */
  text: { key: string[]; entry: string | null; action: string | null };
}

export interface Hop {
  switch: string;
  number: number;
  in_port: number;
  out_port: number | null;
  in_link: number | null;
  out_link: number | null;
  tables: TableStep[];
  tag_before: string;
  tag_after: string;
  ing_prio: number;
  eg_prio: number;
  bytes_before: string;
  bytes_after: string | null;
  before: Shown;
  after: Shown | null;
  lines: [string, number][];
}

export interface SourceFile {
  name: string;
  text: string;
}

export interface Walk {
  from: string;
  hops: Hop[];
  end: "delivered" | "dropped" | "lost" | "circling";
  host?: string;
  switch?: string;
  reason?: string;
  port?: number;
  files: SourceFile[];
}

export interface Place {
  file: string;
  line: number;
  column: number;
  length: number;
  message: string;
}

export interface Finding {
  severity: "error" | "warning" | "note";
  code: string;
  message: string;
  place: Place | null;
  notes: string[];
  help: string | null;
}

export interface CompileAnswer {
  compiled: boolean;
  findings: Finding[];
  tables: string[];
  actions: string[];
}

export interface LoadAnswer {
  /** By link, a share of the fullest. */
  links: number[];
  /** The share of what hosts send that has no way. */
  lost: number;
}

export interface BuildAnswer {
  program: string;
  files: SourceFile[];
  entries: number[];
  directory: Record<string, string>;
}

export interface StfAnswer {
  passed: boolean;
  statements: number;
  failures: { line: number; message: string }[];
}

export interface ScenarioView {
  name: string;
  about: string;
  text: string;
  own_network: boolean;
}

export interface Started {
  simulation: number;
  name: string;
  about: string;
  tags: boolean;
  duration_us: number;
  flows: string[];
  timeline: { at_us: number; what: string }[];
  topology: Topology;
}

export interface QueueState {
  switch: number;
  port: number;
  priority: number;
  bytes: number;
  paused: boolean;
}

export interface Deadlock {
  cycle: string[];
  switches: string[];
  stuck: number;
  closed_us: number;
  confirmed_us: number;
}

export interface SimulationState {
  now_us: number;
  end_us: number;
  ended: boolean;
  reached?: boolean;
  queues: QueueState[];
  buffers: number[];
  paused_hosts: boolean[];
  pauses: { at_us: number; switch: number; port: number; priority: number; paused: boolean }[];
  flows: { bytes: number; runs: boolean }[];
  sent: [number, number, number][];
  failed: number[];
  deadlocks: Deadlock[];
  losses: { lossless: number; lossy: number; program: number; link_down: number };
  events: number;
}
