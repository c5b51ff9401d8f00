"use strict";
// What pages need beyond htmx: a place to drop files, and hiding the chosen figure of a map.
const drop = document.getElementById("drop");
if (drop) {
  const file = drop.querySelector("input[type=file]");
  for (const name of ["dragover", "dragleave", "drop"]) {
    drop.addEventListener(name, (event) => {
      event.preventDefault();
      drop.classList.toggle("over", name === "dragover");
      if (name === "drop" && event.dataTransfer.files.length && (file.multiple || event.dataTransfer.files.length === 1)) {
        file.files = event.dataTransfer.files;
        if (!drop.querySelector(":invalid")) drop.requestSubmit();
      }
    });
  }
}
document.addEventListener("click", (event) => {
  if (event.target.id !== "hide-cell") return;
  const mapped = event.target.closest("[data-hide]");
  const cell = mapped.querySelector("table.map td[tabindex='0']");
  if (!cell) return;
  htmx.ajax("GET", `${mapped.dataset.hide}&cell=${cell.dataset.p}`, { target: "#bench", swap: "outerHTML", select: "#bench" });
});
// What was wrong with the last question is not said about the next one.
document.addEventListener("htmx:beforeRequest", () => { document.getElementById("problem").textContent = ""; });
// What somebody unfolded stays unfolded when the form comes anew.
const unfolded = new Set();
document.addEventListener("toggle", (event) => {
  if (!event.target.id || !event.target.isConnected) return;
  if (event.target.open) unfolded.add(event.target.id); else unfolded.delete(event.target.id);
}, true);
document.addEventListener("htmx:load", (event) => {
  for (const part of event.detail.elt.querySelectorAll("details[id]")) part.open ||= unfolded.has(part.id);
});
