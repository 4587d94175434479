"use strict";
// Search, filter, keyboard and theme. Only properties of elements that are there are changed; nothing is made from text.
const entries = [...document.querySelectorAll("details.problem")];
const search = document.getElementById("search");
const boxes = [...document.querySelectorAll("input[data-level]")];
const count = document.getElementById("count");
const texts = entries.map((entry) => entry.textContent.toLowerCase());

function show() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const levels = new Set(boxes.filter((box) => box.checked).map((box) => box.dataset.level));
  let shown = 0;
  entries.forEach((entry, number) => {
    entry.hidden = !levels.has(entry.dataset.level) || !words.every((word) => texts[number].includes(word));
    shown += !entry.hidden;
  });
  count.textContent = `${shown} of ${entries.length} shown`;
}

function step(by) {
  const visible = entries.filter((entry) => !entry.hidden);
  const now = visible.findIndex((entry) => entry.contains(document.activeElement));
  const next = visible[Math.max(0, Math.min(visible.length - 1, now < 0 ? 0 : now + by))];
  if (next) next.querySelector("summary").focus();
}

function turn() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
}

const keys = { j: () => step(1), k: () => step(-1), t: turn, "/": () => search.focus() };
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.target === search) {
    if (event.key === "Escape") search.blur();
  } else if (keys[event.key]) {
    event.preventDefault();
    keys[event.key]();
  }
});
search.addEventListener("input", show);
boxes.forEach((box) => box.addEventListener("change", show));
document.getElementById("theme").addEventListener("click", turn);
window.addEventListener("beforeprint", () => entries.forEach((entry) => { entry.open = !entry.hidden; }));
show();
