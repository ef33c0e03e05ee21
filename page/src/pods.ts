// Large networks by pod: a closed pod is one box, and its switches and hosts stand where the box does.
import type { End, Topology } from "./types.ts";

export type Point = [number, number];

/** Switches from which on pods are closed if nobody says otherwise. */
export const MANY = 60;

const BOX = 96;
const GAP = 26;

export interface Pod {
  number: number;
  switches: number[];
  hosts: number[];
  open: boolean;
  /** Its middle, and how far it reaches from there. */
  at: Point;
  half: Point;
}

/** How many pods a topology has. */
export function count(topology: Topology | null): number {
  return 1 + Math.max(-1, ...(topology?.switches ?? []).map((one) => one.pod ?? -1));
}

/** The pods, with their members moved together: pods stand side by side, and what stands above them is spread over all. */
export function arrange(topology: Topology, switches: Point[], hosts: (Point | null)[], opened: Set<number>): Pod[] {
  const pods: Pod[] = Array.from({ length: count(topology) }, (_, number) => (
    { number, switches: [], hosts: [], open: opened.has(number), at: [0, 0], half: [BOX / 2, 30] }
  ));
  topology.switches.forEach((one, number) => one.pod !== null && pods[one.pod].switches.push(number));
  topology.hosts.forEach((one, number) => {
    const pod = topology.switches[one.switch ?? -1]?.pod;
    if (pod !== null && pod !== undefined) pods[pod].hosts.push(number);
  });
  let cursor = 0;
  for (const pod of pods) {
    const members = pod.switches.map((number) => switches[number]);
    const all = [...members, ...pod.hosts.map((number) => hosts[number]).filter((at): at is Point => at !== null)];
    const [xs, ys] = [all.map((at) => at[0]), all.map((at) => at[1])];
    const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    if (pod.open) {
      const by = cursor + GAP - left;
      for (const at of all) at[0] += by;
      pod.half = [(right - left) / 2 + GAP, (bottom - top) / 2 + GAP];
    } else {
      const middle = members.reduce((sum, at) => sum + at[1], 0) / members.length;
      for (const at of all) [at[0], at[1]] = [cursor + BOX / 2, middle];
    }
    pod.at = [cursor + pod.half[0], pod.open ? (top + bottom) / 2 : all[0][1]];
    cursor += 2 * pod.half[0] + GAP;
  }
  const above = topology.switches.flatMap((one, number) => (one.pod === null ? [switches[number]] : []));
  const order = [...above].sort((a, b) => a[0] - b[0]);
  order.forEach((at, number) => (at[0] = ((number + 0.5) / order.length) * (cursor - GAP)));
  return pods;
}

/** The pod that an end of a link stands in. */
export function podOf(topology: Topology, end: End): number | null {
  const number = end.switch ?? topology.hosts[end.host ?? -1]?.switch ?? -1;
  return topology.switches[number]?.pod ?? null;
}
