// The page in Chromium: every screen, on both engines, light and dark, wide and narrow; without serious findings of axe.
//
// `npm test` after `cargo xtask page` and `cargo build`; `cargo xtask page-test` does all three. PAGE_SHOTS=FOLDER keeps a picture of
// every screen. How fast it is, is told; with PAGE_SPEED=1 too slow fails: a first trace within 3 s, deadlocks at 30 frames a second.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { request } from "node:http";

import { browser, lab, statically } from "./browser.mjs";

const AXE = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const SCREENS = ["network", "plan", "packets", "time"];
const WAIT = 30_000;
/** How long a test may take, in milliseconds. */
const MOST = 90_000;
const SHOTS = process.env.PAGE_SHOTS;
const STRICT = process.env.PAGE_SPEED === "1";

const failures = [];
let passed = 0;

/** Words on the command line: only tests that have them all. */
const ONLY = process.argv.slice(2);

async function test(name, run) {
  if (!ONLY.every((word) => name.includes(word))) return;
  let timer;
  const late = new Promise((_, no) => (timer = setTimeout(() => no(new Error(`not done after ${MOST / 1000} s`)), MOST)));
  try {
    await Promise.race([run(), late]);
    passed++;
  } catch (error) {
    failures.push(name);
    console.log(`FAILED ${name}: ${error.stack ?? error}`);
  } finally {
    clearTimeout(timer);
  }
}

/** A page that fails the test if anything goes wrong in it. */
async function open(context, address, { width = 1280, scheme = "light" } = {}) {
  const page = await context.newPage();
  page.wrong = [];
  page.on("pageerror", (error) => page.wrong.push(error.message));
  page.on("console", (message) => message.type() === "error" && page.wrong.push(message.text()));
  page.on("request", (asked) => {
    // Nothing leaves the machine, and nothing is asked of any other server.
    if (!asked.url().startsWith(address) && !/^(data|blob):/.test(asked.url())) page.wrong.push(`asks for ${asked.url()}`);
  });
  page.setDefaultTimeout(WAIT);
  await page.emulateMedia({ colorScheme: scheme });
  await page.setViewportSize({ width, height: 900 });
  await page.goto(address);
  await page.waitForSelector("body[data-ready]");
  return page;
}

async function close(page) {
  const wrong = page.wrong;
  await page.close();
  assert.deepEqual(wrong, []);
}

/** Waits for a text in an element. */
async function says(page, place, text) {
  await page.locator(place).filter({ hasText: text }).first().waitFor({ state: "visible" });
}

const READY = {
  network: (page) => says(page, "#panel-network dl", "16"),
  plan: (page) => page.locator("#panel-plan tbody tr").first().waitFor(),
  packets: (page) => says(page, "#panel-packets .verdict", "Delivered to h8"),
  time: (page) => says(page, "#panel-time .clock", "of 12000"),
};

async function accessible(page, what) {
  await page.evaluate(AXE);
  const found = await page.evaluate(async () => {
    const results = await window.axe.run(document, { resultTypes: ["violations"] });
    return results.violations
      .filter((one) => one.impact === "serious" || one.impact === "critical")
      .map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => node.html.slice(0, 160) + " " + (node.any[0]?.message ?? "")).join(" | ")}`);
  });
  assert.deepEqual(found, [], what);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok(wide <= 0, `${what}: the page is ${wide} pixels wider than the window`);
  const small = await page.evaluate(() =>
    [...document.querySelectorAll("body *")]
      .filter((element) => element.childNodes.length && [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim()) && element.checkVisibility())
      .filter((element) => !(element instanceof SVGElement) && parseFloat(getComputedStyle(element).fontSize) < 11)
      .map((element) => element.outerHTML.slice(0, 80)));
  assert.deepEqual(small, [], `${what}: text below 11 pixels`);
}

async function looks(context, place, address) {
  for (const scheme of ["light", "dark"]) {
    for (const width of [1280, 390]) {
      await test(`${place}, ${scheme}, ${width}`, async () => {
        const page = await open(context, address, { width, scheme });
        for (const screen of SCREENS) {
          await page.click(`#tab-${screen}`);
          await READY[screen](page);
          if (SHOTS) await page.screenshot({ path: `${SHOTS}/${place}-${scheme}-${width}-${screen}.png`, fullPage: width < 800 });
          await accessible(page, `${place}, ${scheme}, ${width}, ${screen}`);
        }
        await close(page);
      });
    }
  }
}

function swift(what, measured, enough, unit) {
  console.log(`${what}: ${measured.toFixed(measured < 10 ? 2 : 0)} ${unit}`);
  if (STRICT) assert.ok(enough, `${what}: ${measured} ${unit}`);
}

/** What is measured, with nothing else under way. */
async function measured(context, place, address) {
  await test(`${place}: a first packet`, async () => {
    const start = performance.now();
    const page = await open(context, address);
    await page.click("#tab-packets");
    await READY.packets(page);
    const seconds = (performance.now() - start) / 1000;
    swift(`${place}: first trace after opening`, seconds, seconds < 3, "s");
    await close(page);
  });

  await test(`${place}: what is wrong with a program, as one types`, async () => {
    const page = await open(context, address);
    await page.click("#tab-packets");
    await READY.packets(page);
    await page.click(".cm-content");
    await page.keyboard.press("Control+End");
    const keys = "\ncontrol c() { apply { } }";
    await page.keyboard.type(keys, { delay: 80 });
    await page.waitForFunction(() => window.switchwright.editor.diagnosed.length > 5);
    await says(page, "#panel-packets .program p", "Compiles");
    const times = await page.evaluate(() => window.switchwright.editor.diagnosed.toSorted((a, b) => a - b));
    const [middle, most] = [times[Math.floor(times.length / 2)], times[times.length - 1]];
    swift(`${place}: diagnostics after a key, the longest of ${times.length}`, most, most < 50, "ms");
    swift(`${place}: diagnostics after a key, the median`, middle, middle < 50, "ms");
    await close(page);
  });

  await test(`${place}: a deadlock closes and is named, and not with tags`, async () => {
    const page = await open(context, address);
    await page.click("#tab-time");
    await READY.time(page);
    await page.selectOption("#panel-time select >> nth=1", "2000");
    await page.click('#panel-time button:text-is("Step")');
    await page.click('#panel-time button:text-is("Play")');
    await page.locator(".queue.paused").first().waitFor({ state: "attached" });
    await page.locator("#panel-time .verdict.bad").filter({ hasText: "DEADLOCK" }).waitFor();
    const verdicts = await page.locator("#panel-time .verdict").allTextContents();
    assert.match(verdicts[0], /DEADLOCK since 2\.\d+ ms: .*spine1.*queues can never move again/);
    assert.match(verdicts[1], /With tags: no deadlock/);
    const { frames, seconds } = await page.evaluate(() => window.switchwright.meter);
    swift(`${place}: the deadlock, both runs at once`, frames / seconds, frames / seconds >= 30, "frames/s");
    await page.click('#panel-time button:text-is("Pause")');
    // The slice under way ends; then time stands.
    await page.waitForFunction(() => {
      const [before, now] = [window.clockBefore, document.querySelector(".clock").textContent];
      window.clockBefore = now;
      return before === now;
    }, null, { polling: 300 });
    await close(page);
  });
}

async function does(context, place, address) {
  await test(`${place}: links fail by click, and the packet bounces`, async () => {
    const page = await open(context, address);
    for (const name of ["leaf1-spine1", "leaf4-spine2"]) await page.click(`button:text-is("Fail ${name}")`);
    await says(page, "#panel-network dl", "2 failed");
    // The picture itself: another link fails where it is clicked, and works again.
    const at = await page.evaluate(() => {
      const link = [...document.querySelectorAll(".link")].find((one) => one.querySelector("title").textContent.startsWith("leaf2-spine1,"));
      const line = link.querySelector(".hit");
      const middle = line.getPointAtLength(line.getTotalLength() * 0.42).matrixTransform(line.getScreenCTM());
      return { x: middle.x, y: middle.y };
    });
    await page.mouse.click(at.x, at.y);
    await says(page, "#panel-network dl", "3 failed");
    await page.mouse.click(at.x, at.y);
    await says(page, "#panel-network dl", "2 failed");
    await page.click("#tab-packets");
    await says(page, "#panel-packets .verdict", "after 5 switches");
    await says(page, ".hops", "tag 1 → 2");
    assert.equal(await page.locator(".network .arrow").count(), 6);
    await page.click(".hops li:nth-child(3) button");
    await says(page, "tr.changed", "dscp");
    assert.ok((await page.locator(".cm-line.ran").count()) > 3);
    // All of it is in the address.
    await page.waitForFunction(() => location.hash.length > 20);
    const again = await context.newPage();
    await again.goto(page.url());
    await again.locator("#panel-packets .verdict").filter({ hasText: "after 5 switches" }).waitFor();
    await again.close();
    await close(page);
  });

  await test(`${place}: the editor tells errors as one types, and switches run what is typed`, async () => {
    const page = await open(context, address);
    await page.click("#tab-packets");
    await READY.packets(page);
    await page.click(".cm-content");
    await page.keyboard.press("Control+End");
    await page.keyboard.type("\ncontrol");
    await says(page, "#panel-packets .program p", "error");
    await page.locator(".cm-lint-marker-error").first().waitFor();
    await page.click('button:text-is("Undo edits")');
    await says(page, "#panel-packets .program p", "Compiles");
    await close(page);
  });

  await test(`${place}: what is loaded cannot be undone, what is typed can; an empty program is an error`, async () => {
    const page = await open(context, address);
    await page.click("#tab-packets");
    await READY.packets(page);
    const text = () => page.evaluate(() => window.switchwright.editor.text());
    const mine = (there) => page.waitForFunction((there) => window.switchwright.editor.text().includes("// mine") === there, there);
    const before = await text();
    await page.click(".cm-content");
    await page.keyboard.press("Control+z");
    await page.keyboard.press("Control+z");
    assert.equal(await text(), before);
    await says(page, "#panel-packets .program p", "Compiles");
    // Another file and back: nothing of one file is undone in the other, what was typed can be undone still.
    await page.keyboard.press("Control+Home");
    await page.keyboard.type("// mine\n");
    await mine(true);
    await page.locator("#panel-packets .files button").nth(1).click();
    await mine(false);
    const include = await text();
    await page.click(".cm-content");
    await page.keyboard.press("Control+z");
    assert.equal(await text(), include);
    await page.locator("#panel-packets .files button").nth(0).click();
    await mine(true);
    // What "Undo edits" takes away by mistake comes back.
    await page.click('button:text-is("Undo edits")');
    await mine(false);
    await page.click(".cm-content");
    await page.keyboard.press("Control+z");
    await mine(true);
    await page.keyboard.press("Control+a");
    await page.keyboard.press("Delete");
    await page.locator("#panel-packets .program p.bad").filter({ hasText: "declares nothing" }).waitFor();
    await close(page);
  });

  await test(`${place}: Play and Step wait for what is being prepared`, async () => {
    const page = await open(context, address);
    await page.click("#tab-time");
    await READY.time(page);
    const scenario = page.locator("#panel-time select").nth(0);
    const names = await scenario.locator("option").allTextContents();
    const others = names.filter((name) => name !== "bounce");
    const now = () => page.locator("#panel-time .clock").textContent().then((said) => parseInt(said, 10));
    // Choosing and pressing in one turn: nothing can have been prepared in between.
    const choose = (name, pressed) => page.evaluate(([name, pressed]) => {
      const select = document.querySelector("#panel-time select");
      select.value = name;
      select.dispatchEvent(new Event("change"));
      [...document.querySelectorAll("#panel-time button")].find((one) => one.textContent === pressed).click();
    }, [name, pressed]);
    await choose(others[0], "Play");
    await page.locator('#panel-time button:text-is("Pause")').waitFor();
    await page.waitForFunction(() => parseInt(document.querySelector("#panel-time .clock").textContent, 10) > 0);
    await choose("bounce", "Step");
    await page.waitForFunction(() => parseInt(document.querySelector("#panel-time .clock").textContent, 10) > 0);
    await page.locator('#panel-time button:text-is("Play")').waitFor();
    assert.ok((await now()) < 1000, "one step, no more");
    await close(page);
  });

  await test(`${place}: what is down in the file looks down and can be mended`, async () => {
    const page = await open(context, address);
    await page.selectOption("#panel-network select >> nth=0", "text");
    const node = (name, more = {}) => ({ name, ports: 4, ...more });
    const file = {
      format: "switchwright-topology", version: 1, name: "t",
      switches: [node("s1"), node("s2"), node("s3"), node("s4", { up: false })],
      hosts: [{ name: "h1" }, { name: "h2" }],
      links: [
        { a: "s1:1", b: "h1:0" }, { a: "s2:1", b: "h2:0" }, { a: "s1:2", b: "s2:2", up: false }, { a: "s1:3", b: "s3:1" },
        { a: "s3:2", b: "s2:3" }, { a: "s4:1", b: "s1:4" },
      ],
    };
    await page.fill("#panel-network textarea", JSON.stringify(file));
    await page.click('button:text-is("Use this text")');
    await says(page, "#panel-network dl", "2 failed");
    await says(page, "#panel-network dl", "1 down");
    const failed = page.locator(".network .link.failed");
    assert.equal(await failed.count(), 2);
    assert.equal(await page.locator(".network .switch.down").count(), 1);
    await page.click('button:text-is("Mend s1-s2")');
    await page.locator('button:text-is("Fail s1-s2")').waitFor();
    assert.equal(await failed.count(), 1);
    // The packet goes the short way now.
    await page.click("#tab-packets");
    await says(page, "#panel-packets .verdict", "Delivered to h2 after 2 switches");
    await page.click("#tab-network");
    await page.click('button:text-is("Mend s4")');
    await page.locator(".network .switch.down").waitFor({ state: "detached" });
    await page.click('button:text-is("Use this text")');
    await says(page, "#panel-network dl", "2 failed");
    await page.click('button:text-is("Mend all")');
    await page.locator(".network .link.failed").first().waitFor({ state: "detached" });
    await close(page);
  });

  await test(`${place}: a case is played on the program`, async () => {
    const page = await open(context, address);
    await page.click("#tab-packets");
    await READY.packets(page);
    await page.click(".case summary");
    await page.fill(".case textarea", "packet 1 ffff\nno_packet\n");
    await page.click('button:text-is("Run the case")');
    await says(page, ".case .verdict", "Passed: 2 statements");
    await page.fill(".case textarea", "packet 1 ffff\nexpect 2 ffff\n");
    await page.click('button:text-is("Run the case")');
    await says(page, ".case .verdict", "Failed: 1 of 2");
    await says(page, ".case li", "line 2");
    await accessible(page, `${place}: a case`);
    await page.fill(".case textarea", "nonsense");
    await page.click('button:text-is("Run the case")');
    await says(page, "#message", "line 1");
    await close(page);
  });

  await test(`${place}: links have the colours of tags, priorities and load`, async () => {
    const page = await open(context, address);
    const colours = page.getByLabel("Colours");
    for (const [what, said] of [["tags", "up to tag 2"], ["priorities", "up to priority 4"]]) {
      await colours.selectOption(what);
      await says(page, ".legend", said);
      assert.equal(await page.locator(".link.coloured").count(), 16);
      if (SHOTS) await page.screenshot({ path: `${SHOTS}/${place}-${what}.png` });
      await accessible(page, `${place}: ${what}`);
    }
    await colours.selectOption("load");
    await says(page, ".legend", "the fullest");
    assert.equal(await page.locator(".link.coloured").count(), 0);
    const loads = () => page.evaluate(() => [...document.querySelectorAll(".link.loaded")].map((one) => one.style.getPropertyValue("--load-share")));
    await page.waitForFunction(() => document.querySelectorAll(".link.loaded").length === 16);
    const before = await loads();
    await page.click('button:text-is("Fail leaf1-spine1")');
    // What went over it goes over the other spine, whose links are the fullest now.
    await page.waitForFunction(() => document.querySelectorAll(".link.loaded").length === 15);
    assert.notDeepEqual(await loads(), before);
    if (SHOTS) await page.screenshot({ path: `${SHOTS}/${place}-load.png` });
    // Failover tables lead past it, too.
    await page.click("#tab-plan");
    await page.selectOption("#panel-plan select >> nth=0", "plinko");
    await page.locator("#panel-plan .verdict.good").waitFor();
    await page.click("#tab-network");
    await page.waitForFunction(() => document.querySelectorAll(".link.loaded").length === 15);
    await says(page, ".legend", "the fullest");
    await close(page);
  });

  await test(`${place}: pods are boxes that open`, async () => {
    const page = await open(context, address);
    await page.selectOption("#panel-network select >> nth=0", "fat-tree");
    assert.equal(await page.locator(".network .pod").count(), 0);
    await page.getByLabel("Ports k").fill("8");
    await page.getByLabel("Ports k").press("Tab");
    await says(page, "#panel-network dl", "80");
    const count = (what) => page.locator(`.network ${what}`).count();
    assert.deepEqual([await count(".pod"), await count(".switch"), await count(".host")], [8, 16, 0]);
    if (SHOTS) await page.screenshot({ path: `${SHOTS}/${place}-pods.png` });
    await page.locator(".network .pod").nth(2).click();
    await page.locator(".network .pod.open").waitFor();
    assert.deepEqual([await count(".switch"), await count(".host")], [24, 16]);
    await page.getByLabel("Colours").selectOption("load");
    await page.waitForFunction(() => document.querySelectorAll(".link.loaded").length > 100);
    if (SHOTS) await page.screenshot({ path: `${SHOTS}/${place}-pod-open.png` });
    await accessible(page, `${place}: pods`);
    await page.click("#tab-packets");
    await says(page, "#panel-packets .verdict", "Delivered to");
    await page.click("#tab-network");
    await page.getByLabel("Open pods").selectOption("2");
    await page.locator(".network .pod.open").waitFor({ state: "detached" });
    await page.getByLabel("One box for each pod").uncheck();
    await page.locator(".network .pod").first().waitFor({ state: "detached" });
    assert.equal(await count(".switch"), 80);
    await close(page);
  });

  await test(`${place}: schemes of expanders, trees and few tags; the build in one file`, async () => {
    const page = await open(context, address);
    const proves = async (kind, scheme, option) => {
      await page.click("#tab-network");
      await page.selectOption("#panel-network select >> nth=0", kind);
      await page.waitForFunction((kind) => document.querySelector("#panel-network dd").textContent.includes(kind), kind.slice(0, 4));
      await page.click("#tab-plan");
      await page.selectOption("#panel-plan select >> nth=0", scheme);
      if (option) await page.getByLabel(option[0], { exact: true }).selectOption(option[1]);
      await says(page, "#panel-plan dl", option?.[2] ?? scheme);
      await page.locator("#panel-plan .verdict.good").waitFor();
    };
    await proves("flattened-clos", "flattened-clos");
    await proves("jellyfish", "df-edst");
    await proves("ring", "tagger", ["Algorithm", "optimal", "tagger optimal"]);
    const [download] = await Promise.all([page.waitForEvent("download"), page.click('#panel-plan button:text-is("Save the build")')]);
    const zip = await readFile(await download.path());
    assert.equal(zip.subarray(0, 2).toString(), "PK");
    for (const name of ["build/manifest.json", "build/switches/s1/entries.txtpb", "build/report.html"]) assert.ok(zip.includes(name), name);
    await close(page);
  });

  await test(`${place}: plans are proven, refuted with a cycle, and listed`, async () => {
    const page = await open(context, address);
    await page.click("#tab-plan");
    await says(page, "#panel-plan .verdict", "Proven");
    await READY.plan(page);
    const rows = await page.locator("#panel-plan tbody tr").count();
    await page.fill('#panel-plan input[type="search"]', "leaf1 tag");
    await page.waitForFunction((before) => document.querySelectorAll("#panel-plan tbody tr").length < before, rows);
    const [download] = await Promise.all([page.waitForEvent("download"), page.click('#panel-plan button:text-is("CSV")')]);
    const csv = await readFile(await download.path(), "utf8");
    assert.ok(csv.startsWith("switch,kind,table,match,") && csv.includes("leaf1"));
    await page.getByLabel("Without tags").check();
    await says(page, "#panel-plan .verdict", "Refuted: cyclic buffer dependency");
    const buffers = await page.locator("ol.cycle li").count();
    assert.ok(buffers >= 2);
    assert.equal(await page.locator(".network .arrow.cycle").count(), buffers);
    await close(page);
  });

  await test(`${place}: a thousand switches`, async () => {
    const page = await open(context, address);
    await page.selectOption("#panel-network select >> nth=0", "jellyfish");
    await page.getByLabel("Switches", { exact: true }).fill("1000");
    await page.getByLabel("Switches", { exact: true }).press("Tab");
    await says(page, "#panel-network dl", "1000");
    await page.click('.zoom button[aria-label="Zoom in"]');
    assert.equal(await page.locator(".network .switch").count(), 1000);
    if (SHOTS) await page.screenshot({ path: `${SHOTS}/${place}-thousand.png` });
    await close(page);
  });

  await test(`${place}: what takes long is stopped, and the engine begins anew`, async () => {
    const page = await open(context, address);
    await page.selectOption("#panel-network select >> nth=0", "jellyfish");
    await page.getByLabel("Switches", { exact: true }).fill("300");
    await page.getByLabel("Switches", { exact: true }).press("Tab");
    await says(page, "#panel-network dl", "300");
    await page.click("#tab-plan");
    await page.selectOption("#panel-plan select >> nth=0", "plinko");
    await page.selectOption("#panel-plan select >> nth=1", "3");
    await page.click("#stop");
    await says(page, "#message", "stopped");
    await page.click("#tab-network");
    await page.selectOption("#panel-network select >> nth=0", "ring");
    await says(page, "#panel-network dl", "5");
    // That requests were stopped is told by their status too, which the browser writes down.
    page.wrong = page.wrong.filter((one) => !one.includes("503"));
    await close(page);
  });

  await test(`${place}: what is too large is refused with its limit`, async () => {
    const page = await open(context, address);
    await page.selectOption("#panel-network select >> nth=0", "text");
    await page.fill("#panel-network textarea", "neither JSON nor YAML");
    await page.click('button:text-is("Use this text")');
    await says(page, "#message", "opology");
    await page.selectOption("#panel-network select >> nth=0", "bcube");
    await page.getByLabel("Ports n").fill("16");
    await page.getByLabel("Levels k").fill("3");
    await page.getByLabel("Levels k").press("Tab");
    await says(page, "#message", "limited to");
    await close(page);
  });
}

/** A request to the lab with headers of one's choice, as no browser lets a page make it; its status. */
function status(address, { method = "GET", headers = {}, body = "" }) {
  return new Promise((resolve, reject) => {
    const asked = request(address, { method, headers, agent: false }, (response) => {
      response.resume();
      response.on("end", () => resolve(response.statusCode));
    });
    asked.on("error", reject);
    // A server that has answered need not read the rest.
    asked.on("socket", (socket) => socket.on("error", reject));
    asked.end(body);
  });
}

async function guarded(address) {
  await test("lab: nobody but its own page is answered", async () => {
    const { origin, host } = new URL(address);
    const about = { method: "POST", body: '{"call":"about"}' };
    const call = `${address}call`;
    assert.equal(await status(call, { ...about, headers: { origin } }), 200);
    assert.equal(await status(call, { ...about, headers: { origin: "http://example.com" } }), 403);
    assert.equal(await status(call, { ...about, headers: { origin: "null" } }), 403);
    assert.equal(await status(call, about), 403);
    assert.equal(await status(call, { ...about, headers: { origin, host: "example.com" } }), 403);
    assert.equal(await status(`${origin}/`, {}), 404);
    assert.equal(await status(`${origin}/${"0".repeat(32)}/`, {}), 404);
    assert.equal(await status(`${origin}/${"0".repeat(32)}/call`, { ...about, headers: { origin } }), 404);
    assert.equal(await status(`${address}../../etc/passwd`, {}), 404);
    assert.equal(await status(address, { headers: { host } }), 200);
    assert.equal(await status(call, { method: "POST", headers: { origin }, body: " ".repeat(5 << 20) }).catch(() => 413), 413);
  });
}

const { context, close: closeBrowser } = await browser();
try {
  const host = await statically();
  const local = await lab();
  const places = [["wasm", host.address], ["local", local.address]];
  for (const [place, address] of places) await measured(context, place, address);
  await guarded(local.address);
  await Promise.all(places.map(([place, address]) => looks(context, place, address)));
  await Promise.all(places.map(([place, address]) => does(context, place, address)));
  await host.close();
  const status = await local.close();
  await test("lab: Ctrl-C ends it", () => assert.equal(status, 0));
} finally {
  await closeBrowser();
}
console.log(`page: ${passed} tests passed, ${failures.length} failed`);
process.exitCode = failures.length ? 1 : 0;
