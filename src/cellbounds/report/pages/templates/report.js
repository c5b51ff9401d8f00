"use strict";
// A map becomes a grid: one stop of the tab key, arrows inside. Without this script it is a table
// whose details are the titles of its cells.
const grid = (table) => {
  if (table.getAttribute("role") === "grid") return;
  const rows = [...table.tBodies].flatMap((body) => [...body.rows])
    .map((row) => [...row.cells].filter((cell) => cell.tagName === "TD"))
    .filter((cells) => cells.length);
  const places = new Map();
  rows.forEach((cells, r) => cells.forEach((cell, c) => places.set(cell, [r, c])));
  const detail = document.getElementById(table.getAttribute("aria-describedby"));
  const names = JSON.parse(table.dataset.names);
  table.setAttribute("role", "grid");
  let current = rows[0][0];
  current.tabIndex = 0;
  detail.append(" Inside the table, the arrow keys move.");

  // The labels of a cell, from the number of its place in the table.
  const labels = (cell) => {
    let place = Number(cell.dataset.p);
    const found = [];
    for (const [name, levels] of [...names].reverse()) {
      found.unshift(`${name}: ${levels[place % levels.length]}`);
      place = Math.floor(place / levels.length);
    }
    return found.join("; ");
  };
  const tell = (cell) => {
    detail.textContent = "";
    const place = document.createElement("strong");
    place.textContent = labels(cell);
    detail.append(place, ` – ${cell.title}`);
  };
  const go = (r, c) => {
    const row = rows[Math.max(0, Math.min(rows.length - 1, r))];
    const cell = row[Math.max(0, Math.min(row.length - 1, c))];
    current.tabIndex = -1;
    current = cell;
    cell.tabIndex = 0;
    cell.focus();
  };
  const cellOf = (event) => event.target.closest("td[title]");
  table.addEventListener("keydown", (event) => {
    const at = places.get(event.target);
    if (!at || event.altKey || event.metaKey) return;
    const [r, c] = at;
    const far = event.ctrlKey;
    const moves = {
      ArrowUp: [far ? 0 : r - 1, c], ArrowDown: [far ? rows.length : r + 1, c],
      ArrowLeft: [r, far ? 0 : c - 1], ArrowRight: [r, far ? Infinity : c + 1],
      Home: [far ? 0 : r, 0], End: [far ? rows.length : r, Infinity],
      PageUp: [r - 10, c], PageDown: [r + 10, c],
    };
    if (event.key in moves) {
      event.preventDefault();
      go(...moves[event.key]);
    }
  });
  table.addEventListener("focusin", (event) => { const cell = cellOf(event); if (cell) tell(cell); });
  table.addEventListener("mouseover", (event) => { const cell = cellOf(event); if (cell) tell(cell); });
  table.addEventListener("click", (event) => { const cell = cellOf(event); if (cell) go(...places.get(cell)); });
};
document.querySelectorAll("table.map").forEach(grid);
// A part of a page that came in later has maps too.
document.addEventListener("htmx:load", (event) => event.detail.elt.querySelectorAll("table.map").forEach(grid));
