// Chromium without a face, and the two places that the page is served from.
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";

import { chromium } from "playwright-core";

const PAGE = fileURLToPath(new URL("../dist", import.meta.url));
const KINDS = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm" };

/** A browser with a profile of its own; `close` ends both. */
export async function browser() {
  const profile = await mkdtemp(join(tmpdir(), "switchwright-page-"));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    headless: true,
    args: [
      "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
      "--disable-component-update", "--disable-sync",
    ],
    permissions: ["clipboard-read", "clipboard-write"],
  });
  return {
    context,
    async close() {
      await context.close();
      await rm(profile, { recursive: true, force: true });
    },
  };
}

/** Any static host: the files as they are. */
export async function statically() {
  const server = createServer(async (request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url, "http://localhost").pathname)).replace(/\/$/, "/index.html");
    try {
      const file = await readFile(join(PAGE, path));
      response.writeHead(200, { "content-type": KINDS[extname(path)] ?? "application/octet-stream" }).end(file);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  return { address: `http://127.0.0.1:${server.address().port}/`, close: () => new Promise((done) => server.close(done) && server.closeAllConnections()) };
}

/** `switchwright lab`, from its address to its end. */
export async function lab() {
  const program = process.env.SWITCHWRIGHT ?? fileURLToPath(new URL("../../target/debug/switchwright", import.meta.url));
  const child = spawn(program, ["lab", "--json", "--page", PAGE], { stdio: ["ignore", "pipe", "inherit"] });
  // Whatever ends this process ends the server.
  process.once("exit", () => child.kill("SIGKILL"));
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.once(signal, () => process.exit(1));
  const ended = new Promise((done) => child.once("exit", done));
  const address = await new Promise((resolve, reject) => {
    let said = "";
    child.stdout.on("data", (data) => {
      said += data;
      try {
        resolve(JSON.parse(said).address);
      } catch {
        // Not all of it is there yet.
      }
    });
    child.once("error", reject);
    child.once("exit", (status) => reject(new Error(`switchwright lab ended with status ${status}`)));
  });
  return {
    address,
    child,
    async close() {
      child.kill("SIGINT");
      return await ended;
    },
  };
}
