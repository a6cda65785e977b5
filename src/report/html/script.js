// An extra: without it everything is on the page already. Sorts, filters and copies the tables.
"use strict";
for (const box of document.querySelectorAll(".grid")) {
  const table = box.querySelector("table");
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  const names = heads.map((head) => head.textContent);
  const caption = table.caption.textContent;
  const rows = [...body.rows];

  const tools = document.createElement("div");
  tools.className = "tools";
  const filter = document.createElement("input");
  filter.type = "search";
  filter.placeholder = "filter";
  filter.setAttribute("aria-label", "Filter: " + caption);
  const copy = document.createElement("button");
  copy.type = "button";
  copy.textContent = "Copy as CSV";
  const status = document.createElement("output");
  tools.append(filter, copy, status);
  box.before(tools);

  filter.addEventListener("input", () => {
    const words = filter.value.toLowerCase().split(/\s+/);
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
    const shown = rows.filter((row) => !row.hidden).length;
    status.textContent = filter.value ? `${shown} of ${rows.length} rows` : "";
  });

  copy.addEventListener("click", async () => {
    const done = await put(csv());
    status.textContent = done ? "copied" : "the browser did not let it be copied";
  });

  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = names[column];
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const descending = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      rows.sort((a, b) => order(a.cells[column], b.cells[column], descending));
      body.append(...rows);
    });
  });

  // A figure and its range are three columns, with all their digits.
  function csv() {
    const ranged = names.map((_, column) => rows.some((row) => row.cells[column]?.dataset.min));
    const header = names.flatMap((name, column) =>
      ranged[column] ? [name, name + " min", name + " max"] : [name]);
    const lines = rows.filter((row) => !row.hidden).map((row) => names.flatMap((_, column) => {
      const { v, min, max } = row.cells[column]?.dataset ?? {};
      const shown = v ?? words(row.cells[column]);
      return ranged[column] ? [shown, min ?? "", max ?? ""] : [shown];
    }));
    return [header, ...lines].map((line) => line.map(quote).join(",") + "\n").join("");
  }
}

// A row that was not measured has fewer cells than columns.
function words(cell) {
  if (!cell || cell.classList.contains("n")) return "";
  const parts = [...cell.children].map((part) => part.textContent);
  return parts.length > 1 ? parts.join(" ") : cell.textContent;
}

// Figures by size, words by their letters; what there is not comes last either way.
function order(a, b, descending) {
  const [x, y] = [a, b].map((cell) => cell?.dataset.v ?? words(cell));
  if (x === "" || y === "") return (x === "") - (y === "");
  const by = a.dataset.v && b.dataset.v ? x - y : x.localeCompare(y, "en", { numeric: true });
  return descending ? -by : by;
}

// A text that a spreadsheet would run as a formula is kept from that.
function quote(text) {
  const tame = isNaN(text) && /^[=+\-@]/.test(text) ? "'" + text : text;
  return /[",\n ]/.test(tame) ? `"${tame.replaceAll('"', '""')}"` : tame;
}

async function put(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

// On paper nothing can be unfolded.
let folded = [];
addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("details:not([open])")];
  folded.forEach((details) => { details.open = true; });
});
addEventListener("afterprint", () => folded.forEach((details) => { details.open = false; }));
