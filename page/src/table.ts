// A table of many rows: a filter, CSV, and only as many rows in the page as can be read.
import { button, el, save } from "./dom.ts";

const SHOWN = 300;

/** What a spreadsheet would take for a formula gets an apostrophe in front, as `switchwright entries --format csv` writes it. */
function safe(text: string): string {
  return /^[=+\-@\t\r]/.test(text) && !/^[+-]?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text) ? `'${text}` : text;
}

function csv(rows: string[][]): string {
  const quoted = (text: string) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  return rows.map((row) => row.map((text) => quoted(safe(text))).join(",")).join("\n") + "\n";
}

/** A table with a filter; words must all be in a row. */
export function filtered(name: string, columns: string[], rows: string[][]): HTMLElement {
  const body = el("tbody");
  const count = el("span", { class: "quiet", role: "status" });
  const filter = el("input", { type: "search", placeholder: "Filter: words that a row must have", "aria-label": `Filter ${name}` });
  let kept = rows;
  const show = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    kept = words.length ? rows.filter((row) => words.every((word) => row.some((cell) => cell.toLowerCase().includes(word)))) : rows;
    body.replaceChildren(...kept.slice(0, SHOWN).map((row) => el("tr", {}, ...row.map((cell) => el("td", {}, cell)))));
    const cut = kept.length > SHOWN ? `, the first ${SHOWN} of them shown` : "";
    count.textContent = `${kept.length} of ${rows.length} rows${cut}`;
  };
  filter.addEventListener("input", show);
  show();
  return el(
    "div", { class: "filtered" },
    el("div", { class: "row" }, filter, button("CSV", () => save(`${name}.csv`, "text/csv", csv([columns, ...kept])), { title: "Save the rows that the filter leaves" }), count),
    el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": name },
      el("table", {}, el("thead", {}, el("tr", {}, ...columns.map((column) => el("th", { scope: "col" }, column)))), body)),
  );
}

/** Two columns: what, and how much. */
export function facts(pairs: [string, string][]): HTMLElement {
  return el("dl", { class: "facts" }, ...pairs.flatMap(([what, how]) => [el("dt", {}, what), el("dd", {}, how)]));
}
