import "./style.css";

import { App } from "./app.ts";
import { unpack, type Screen } from "./state.ts";
import { networkScreen } from "./screens/network.ts";
import { editorMeter, packetsScreen } from "./screens/packets.ts";
import { planScreen } from "./screens/plan.ts";
import { timeScreen } from "./screens/time.ts";

const SCREENS: Screen[] = ["network", "plan", "packets", "time"];

async function start(): Promise<void> {
  const app = new App();
  const packed = /^#s=(.+)$/.exec(location.hash)?.[1];
  const found = packed ? await unpack(packed) : null;
  if (found) app.state = found;
  const views = document.getElementById("views")!;
  const panel = (name: Screen) => document.getElementById(`panel-${name}`)!;
  const time = timeScreen(app, panel("time"), views);
  const screens: Record<Screen, { shown(): void; hidden?(): void }> = {
    network: networkScreen(app, panel("network")),
    plan: planScreen(app, panel("plan")),
    packets: packetsScreen(app, panel("packets")),
    time,
  };
  // For tests that measure how it plays.
  Object.assign(window, { switchwright: { meter: time.meter, editor: editorMeter } });
  let now: Screen | null = null;

  function open(screen: Screen, focus = false): void {
    if (now) screens[now].hidden?.();
    now = screen;
    app.state.screen = screen;
    for (const name of SCREENS) {
      const tab = document.getElementById(`tab-${name}`)!;
      tab.setAttribute("aria-selected", String(name === screen));
      tab.tabIndex = name === screen ? 0 : -1;
      panel(name).hidden = name !== screen;
      if (focus && name === screen) tab.focus();
    }
    document.body.dataset.screen = screen;
    if (screen !== "time") {
      views.replaceChildren(app.view.element);
      app.view.setTitle(app.topology?.name ?? "");
    }
    screens[screen].shown();
    app.remember();
  }

  for (const [number, name] of SCREENS.entries()) {
    const tab = document.getElementById(`tab-${name}`)!;
    tab.addEventListener("click", () => open(name));
    tab.addEventListener("keydown", (event) => {
      const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
      if (by) open(SCREENS[(number + by + SCREENS.length) % SCREENS.length], true);
    });
  }

  const theme = document.getElementById("theme")!;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const paint = (isDark: boolean) => {
    document.documentElement.dataset.theme = isDark ? "dark" : "light";
    theme.textContent = isDark ? "Light" : "Dark";
    theme.setAttribute("aria-pressed", String(isDark));
    time.theme();
  };
  paint(dark.matches);
  dark.addEventListener("change", () => paint(dark.matches));
  theme.addEventListener("click", () => paint(document.documentElement.dataset.theme !== "dark"));

  document.getElementById("stop")!.addEventListener("click", () => void app.engine.stop());
  document.getElementById("share")!.addEventListener("click", () => {
    // The token in the address of `switchwright lab` is for this machine; what is behind the # works on any page.
    void navigator.clipboard?.writeText(location.href).then(() => app.say("The address is in the clipboard: it holds all of this experiment."), () => app.say(location.href));
  });
  window.addEventListener("hashchange", () => location.reload());

  const badge = document.getElementById("engine")!;
  badge.textContent = app.engine.place === "local" ? "engine: this machine" : "engine: WebAssembly";
  app.onTopology(() => app.view.setTitle(app.topology?.name ?? ""));
  open(app.state.screen);
  await app.load();
  if (app.state.screen !== "time") screens[app.state.screen].shown();
  document.body.dataset.ready = "true";
}

void start();
