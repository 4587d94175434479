"use strict";
// Search, filter, keyboard and theme. Only properties of elements that are there are changed; nothing is made from text.
const entries = [...document.querySelectorAll("details.problem")];
const search = document.getElementById("search");
const boxes = [...document.querySelectorAll("input[data-level]")];
const count = document.getElementById("count");
const texts = new Map(); // filled by the first search: a long page is shown without it

function textOf(entry) {
  if (!texts.has(entry)) texts.set(entry, entry.textContent.toLowerCase());
  return texts.get(entry);
}

function show() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const levels = new Set(boxes.filter((box) => box.checked).map((box) => box.dataset.level));
  let shown = 0;
  for (const entry of entries) {
    entry.hidden = !levels.has(entry.dataset.level) || !words.every((word) => textOf(entry).includes(word));
    shown += !entry.hidden;
  }
  count.textContent = entries.length ? `${shown} of ${entries.length} shown` : "";
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

function openAll() {
  const visible = entries.filter((entry) => !entry.hidden);
  const open = visible.some((entry) => !entry.open);
  for (const entry of visible) entry.open = open;
}

// The address of a finding, as in report.html#4b9265cf, opens it.
function goTo() {
  const target = document.getElementById(location.hash.slice(1));
  if (entries.includes(target)) {
    target.open = true;
    target.scrollIntoView();
    target.querySelector("summary").focus({ preventScroll: true });
  }
}

let closed = []; // what printing had to open: all that is listed, yet not the source of every frame
function openForPrint() {
  const all = [...document.querySelectorAll("details:not([open])")];
  closed = all.filter((one) => !one.closest("[hidden]") && !one.matches(".stack details"));
  for (const one of closed) one.open = true;
  for (const picture of document.images) picture.loading = "eager";
}

const keys = { j: () => step(1), k: () => step(-1), t: turn, a: openAll, "/": () => search.focus() };
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
for (const box of boxes) box.addEventListener("change", show);
document.getElementById("theme").addEventListener("click", turn);
window.addEventListener("beforeprint", openForPrint);
window.addEventListener("afterprint", () => { for (const one of closed) one.open = false; });
window.addEventListener("hashchange", goTo);
show();
goTo();
