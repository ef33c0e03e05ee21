// Elements, made in one line each.

type Child = Node | string | null | undefined | false;
type Attributes = Record<string, string | number | boolean | null | undefined | ((event: Event) => void)>;

export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child): child is Node | string => child !== null && child !== undefined && child !== false));
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

export function svg<K extends keyof SVGElementTagNameMap>(tag: K, attributes: Record<string, string | number> = {}): SVGElementTagNameMap[K] {
  const element = document.createElementNS(SVG, tag) as SVGElementTagNameMap[K];
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  return element;
}

let labels = 0;

/** A control with its label in front of it. */
export function labelled(text: string, control: HTMLElement, hint?: string): HTMLElement {
  control.id ||= `control-${++labels}`;
  return el("div", { class: "field", title: hint }, el("label", { for: control.id }, text), control);
}

export function select(options: [string, string][], value: string, change: (value: string) => void): HTMLSelectElement {
  const list = el("select", { change: () => change(list.value) }, ...options.map(([key, text]) => el("option", { value: key }, text)));
  list.value = value;
  return list;
}

export function number(value: number, change: (value: number) => void, least = 0, most = 100_000): HTMLInputElement {
  const input = el("input", {
    type: "number", value, min: least, max: most, step: 1,
    change: () => {
      const given = Math.round(Number(input.value));
      if (input.value !== "" && given >= least && given <= most) change(given);
      else input.value = String(value);
    },
  });
  return input;
}

export function check(text: string, value: boolean, change: (value: boolean) => void): HTMLElement {
  const box = el("input", { type: "checkbox", id: `control-${++labels}`, change: () => change(box.checked) });
  box.checked = value;
  return el("div", { class: "field check" }, box, el("label", { for: box.id }, text));
}

export function button(text: string, press: () => void, more: Attributes = {}): HTMLButtonElement {
  return el("button", { type: "button", click: press, ...more }, text);
}

export function save(name: string, kind: string, content: string | Uint8Array<ArrayBuffer>): void {
  const address = URL.createObjectURL(new Blob([content], { type: kind }));
  const link = el("a", { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

/** Puts new children in the place of the old; what is nothing is left out. */
export function fill(parent: Element, ...children: Child[]): void {
  parent.replaceChildren(...children.filter((child): child is Node | string => child !== null && child !== undefined && child !== false));
}
