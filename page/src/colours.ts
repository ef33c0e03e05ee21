// Colours that mean the same on every screen. They are CSS variables, so that light and dark have their own.

/** Tags and priorities: 0 is lossy. */
export function ofTag(tag: number | string): string {
  const number = Number(tag);
  return Number.isFinite(number) && number > 0 ? `var(--tag-${((number - 1) % 6) + 1})` : "var(--lossy)";
}

const NAMES = ["blue", "orange", "green", "red", "purple", "brown", "pink", "gray", "yellow", "cyan"];

/** A flow has the colour that its name says, or that of its number. */
export function ofFlow(name: string, number: number): string {
  const said = NAMES.find((colour) => name.toLowerCase() === colour);
  return `var(--flow-${said ?? NAMES[number % NAMES.length]})`;
}

/** What a variable stands for now: canvas knows no variables. */
export function resolved(colour: string): string {
  const name = /^var\((--[\w-]+)\)$/.exec(colour)?.[1];
  return name ? getComputedStyle(document.documentElement).getPropertyValue(name).trim() : colour;
}
