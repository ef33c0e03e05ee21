// What an experiment is, and how it stands in the address: JSON, deflated, in base64url.

export type Screen = "network" | "plan" | "packets" | "time";

/** The generator and its arguments, or the text of a file. */
export interface TopologyChoice {
  kind: string;
  numbers: Record<string, number>;
  text?: string;
  hosts_per_node?: number;
}

export interface PacketChoice {
  mode: "hosts" | "bytes";
  from: string;
  to: string;
  class: number;
  lossy: boolean;
  flow: number;
  ipv6: boolean;
  switch: string;
  port: number;
  bytes: string;
}

export interface TimeChoice {
  /** A scenario that comes along, or empty: then `text` is played. */
  scenario: string;
  text: string;
  /** Whether it is played on the network of this page rather than its own. */
  here: boolean;
  beside: boolean;
  /** Simulated microseconds per second. */
  speed: number;
}

/** What colours of the network tell. */
export type Colour = "layer" | "rules" | "tags" | "priorities" | "load";

export interface State {
  screen: Screen;
  topology: TopologyChoice;
  /** Where nodes were dragged to, by name. */
  moved: Record<string, [number, number]>;
  failed: string[];
  /** Links and switches that the file has as down and that are up all the same. */
  mended: string[];
  colour: Colour;
  /** Whether pods are boxes; null where their number says so. */
  grouped: boolean | null;
  /** Pods that are open all the same. */
  opened: number[];
  scheme: string;
  options: Record<string, string>;
  without: boolean;
  routing: "converged" | "local";
  packet: PacketChoice;
  /** The edited main file of the program. */
  program: string | null;
  /** A case that the program is played on. */
  case: string;
  time: TimeChoice;
}

export function usual(): State {
  return {
    screen: "network",
    topology: { kind: "clos", numbers: { leaves: 4, spines: 2, hosts: 2 } },
    moved: {},
    failed: [],
    mended: [],
    colour: "layer",
    grouped: null,
    opened: [],
    scheme: "tagger",
    options: {},
    without: false,
    routing: "converged",
    packet: {
      mode: "hosts", from: "h1", to: "h8", class: 0, lossy: false, flow: 49152, ipv6: false, switch: "", port: 1, bytes: "",
    },
    program: null,
    case: "",
    time: { scenario: "bounce", text: "", here: false, beside: true, speed: 500 },
  };
}

async function through(bytes: Uint8Array, stream: { readable: ReadableStream; writable: WritableStream }): Promise<Uint8Array> {
  const writer = stream.writable.getWriter();
  // What is wrong with the bytes is told by the reading end.
  writer.write(bytes).catch(() => undefined);
  writer.close().catch(() => undefined);
  return new Uint8Array(await new Response(stream.readable).arrayBuffer());
}

export async function pack(state: State): Promise<string> {
  const bytes = await through(new TextEncoder().encode(JSON.stringify(state)), new CompressionStream("deflate-raw"));
  let text = "";
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** The most bytes that an address may unfold to. */
const MOST = 4 << 20;

export async function unpack(text: string): Promise<State | null> {
  try {
    const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
    const unfolded = await through(bytes, new DecompressionStream("deflate-raw"));
    if (unfolded.length > MOST) return null;
    const found = JSON.parse(new TextDecoder().decode(unfolded)) as Partial<State>;
    const base = usual();
    return {
      ...base,
      ...found,
      packet: { ...base.packet, ...found.packet },
      time: { ...base.time, ...found.time },
    };
  } catch {
    return null;
  }
}
