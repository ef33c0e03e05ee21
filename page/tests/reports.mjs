// The pages that commands write, in Chromium: light and dark, wide and narrow; without findings of axe, nothing cut off, and no
// page wider than its window.
//
// `npm run test:reports`, which `cargo xtask page-test` runs after the tests of the page. PAGE_SHOTS=FOLDER keeps a picture of every page.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";

import { browser } from "./browser.mjs";

const AXE = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const PROGRAM = process.env.SWITCHWRIGHT ?? fileURLToPath(new URL("../../target/debug/switchwright", import.meta.url));
const FIGURES = join(dirname(PROGRAM), "switchwright-figures");
const SHOTS = process.env.PAGE_SHOTS;
/** How long a command may take, in milliseconds. */
const MOST = 300_000;

/** Words on the command line: only pages that have one of them in their name. */
const ONLY = process.argv.slice(2);

const run = promisify(execFile);
const folder = await mkdtemp(join(tmpdir(), "switchwright-reports-"));
const say = async (line, statuses = [0]) => {
  try {
    await run(PROGRAM, line.split(" "), { cwd: folder, timeout: MOST, maxBuffer: 1 << 26 });
  } catch (error) {
    if (!statuses.includes(error.code)) throw error;
  }
};

/** A topology with names as long as those of real networks, and names of ports. */
async function named(file, into) {
  const topology = JSON.parse(await readFile(join(folder, file), "utf8"));
  const renamed = (name) => name.replace(/^leaf/, "leaf-pod12-rack07-").replace(/^spine/, "spine-pod12-").replace(/^h(?=\d)/, "server-rack07-");
  for (const node of [...topology.switches, ...topology.hosts]) node.name = renamed(node.name);
  for (const one of topology.switches)
    one.interfaces = Object.fromEntries(Array.from({ length: one.ports }, (_, port) => [port + 1, `Ethernet1/${port + 1}/1`]));
  for (const link of topology.links) for (const end of ["a", "b"]) link[end] = renamed(link[end]);
  await writeFile(join(folder, into), JSON.stringify(topology));
}

/** How each page is made. */
const PAGES = {
  "v1model": ["build/report.html", "plan long.json -o plan.json", "build plan.json -o build"],
  "tna": ["tofino/report.html", "plan long.json -o plan.json", "build plan.json --target tna -o tofino"],
  "sonic": ["fabric/report.html", "plan plain.json -o plain-plan.json", "build plain-plan.json --target sonic -o fabric"],
  "large": ["large/report.html", "plan large.json -o large-plan.json", "build large-plan.json -o large"],
  "failover": ["failover/report.html", "topo ring 6 -o ring.json", "plan ring.json --scheme plinko -o ring-plan.json", "build ring-plan.json -o failover"],
  "simulate": ["simulated/report.html", "simulate --scenario bounce -o simulated"],
  "deadlock": ["deadlock/report.html", "simulate --scenario bounce --without-tags -o deadlock"],
  "audit": ["audit.html", "plan plain.json -o plain-plan.json", "build plain-plan.json --target sonic -o fabric", "audit fabric -o audit.html"],
  "measure": ["measured/measure.html", "topo ring 6 -o ring.json", "plan ring.json --scheme plinko -o ring-plan.json", "measure ring-plan.json --out measured"],
  "demo": ["demo/deadlock.html", "demo -o demo"],
  "demo-failover": ["demo/failover.html", "demo -o demo"],
  "reproduce": ["papers/index.html", "reproduce Tagger17 clos-tags --out papers"],
};

const done = new Set();
async function make(name) {
  const [, ...lines] = PAGES[name];
  for (const line of lines) {
    if (!done.has(line)) await say(line, [0, 1]);
    done.add(line);
  }
}

/** What is wrong with a page as a reader sees it. */
const faults = () => {
  const found = [];
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width) found.push(`the page is ${document.documentElement.scrollWidth - width} pixels wider than the window`);
  const filter = document.querySelector("input[type=search]");
  if (filter) {
    const canvas = document.createElement("canvas").getContext("2d");
    const style = getComputedStyle(filter);
    canvas.font = style.font;
    const room = filter.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    if (canvas.measureText(filter.placeholder).width > room) found.push("the filter's placeholder is cut");
  }
  for (const svg of document.querySelectorAll("svg")) {
    const title = svg.querySelector("title")?.textContent ?? "";
    const box = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll("text")].map((text) => ({ text, at: text.getBoundingClientRect() }));
    for (const { text, at } of texts)
      if (at.left < box.left - 1 || at.right > box.right + 1) found.push(`${title}: \`${text.textContent}\` is cut off`);
    if (!svg.classList.contains("topology")) continue;
    const names = texts.filter(({ text }) => text.matches(".n, .h, .o"));
    names.forEach(({ text, at }, place) => {
      for (const { text: other, at: there } of names.slice(place + 1)) {
        const across = Math.min(at.right, there.right) - Math.max(at.left, there.left);
        const down = Math.min(at.bottom, there.bottom) - Math.max(at.top, there.top);
        if (across > 1 && down > 2) found.push(`${title}: \`${text.textContent}\` and \`${other.textContent}\` overlap`);
      }
    });
  }
  // Titles of pictures have no outline of another colour: they would be hollow.
  for (const text of document.querySelectorAll("svg.plot > text:first-of-type")) {
    if (getComputedStyle(text).stroke !== "none") found.push(`\`${text.textContent}\` is hollow`);
  }
  return found.slice(0, 5);
};

const failures = [];
let passed = 0;
const { context, close } = await browser();
try {
  await say("topo clos --leaves 4 --spines 4 --hosts 2 -o plain.json");
  await say("topo clos --leaves 8 --spines 4 --hosts 25 -o many.json");
  await named("plain.json", "long.json");
  await named("many.json", "large.json");
  for (const name of Object.keys(PAGES)) {
    if (ONLY.length && !ONLY.includes(name)) continue;
    if (name === "reproduce" && !existsSync(FIGURES)) {
      console.log(`skipped the page of reproduce: there is no ${FIGURES}`);
      continue;
    }
    await make(name);
    const address = pathToFileURL(join(folder, PAGES[name][0])).href;
    for (const scheme of ["light", "dark"]) {
      for (const width of [1280, 390]) {
        const what = `${name}, ${scheme}, ${width}`;
        const page = await context.newPage();
        await page.emulateMedia({ colorScheme: scheme });
        await page.setViewportSize({ width, height: 900 });
        await page.goto(address);
        if (SHOTS) await page.screenshot({ path: `${SHOTS}/report-${name}-${scheme}-${width}.png`, fullPage: true });
        await page.evaluate(AXE);
        const violations = await page.evaluate(async () => {
          const results = await window.axe.run(document, { resultTypes: ["violations"] });
          return results.violations.map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => `${node.html.slice(0, 160)} ${node.any[0]?.message ?? ""}`).join(" | ")}`);
        });
        try {
          assert.deepEqual(violations, [], what);
          assert.deepEqual(await page.evaluate(faults), [], what);
          passed++;
        } catch (error) {
          failures.push(what);
          console.log(`FAILED ${what}: ${error.message}`);
        }
        await page.close();
      }
    }
  }
} finally {
  await close();
  await rm(folder, { recursive: true, force: true });
}
console.log(`reports: ${passed} looks passed, ${failures.length} failed`);
process.exitCode = failures.length ? 1 : 0;
