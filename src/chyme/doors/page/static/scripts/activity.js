/* The activity page: the work in progress from every status event, each other part after events that concern it. */

import "./actions.js";
import { byId } from "./dom.js";
import { encodePath, formatDuration, formatNumber, printable } from "./format.js";
import { base } from "./page_context.js";
import { refreshPart } from "./refresh_part.js";

const REFRESH_MS = 1500; // at least, between two requests for the same part

function showStatus(status) {
  byId("now-todo").textContent = formatNumber(status.todo || 0);
  byId("now-running").textContent = formatNumber(status.running || 0);
  byId("now-lately").textContent = formatNumber(status.done_lately || 0);
  byId("now-again").textContent = formatNumber(status.again || 0);
  byId("now-paused").hidden = !status.paused;
  byId("now-reason").textContent = status.paused || "";
  const isBusy = status.todo || status.running || status.work.length;
  byId("now-eta").textContent = isBusy && status.eta_seconds !== null ? `${formatDuration(status.eta_seconds)} left` : "";
  byId("now-idle").hidden = Boolean(isBusy);
  showWork(status.work);
}

function showWork(work) {
  const list = byId("now-work");
  const labels = JSON.parse(list.dataset.labels);
  const oldRows = new Map([...list.children].map((row) => [row.dataset.key, row]));
  for (const step of work) {
    const key = `${step.path}\n${step.digester}`;
    let row = oldRows.get(key);
    oldRows.delete(key);
    if (!row) {
      row = createRow(step, labels[step.digester] || step.digester);
      row.dataset.key = key;
      list.append(row);
    }
    const bar = row.querySelector("progress");
    if (step.fraction) bar.value = step.fraction;
    else bar.removeAttribute("value");
  }
  for (const row of oldRows.values()) row.remove();
}

function createRow(step, stepLabel) {
  const row = byId("now-row").content.firstElementChild.cloneNode(true);
  const [link, label] = row.children;
  link.href = `${base}/file/${encodePath(step.path)}`;
  link.textContent = printable(step.path);
  label.textContent = stepLabel;
  row.querySelector("progress").setAttribute("aria-label", stepLabel);
  return row;
}

const parts = new Map([...document.querySelectorAll("[data-part]")].map((part) => [part.dataset.part, part]));
const timers = new Map(); // name of a part → its refresh, planned or under way
const outdated = new Set(); // names of parts with an event since their refresh was asked for
const refreshedAt = new Map(); // name of a part → milliseconds

function refreshSoon(name, isNow = false) {
  if (!parts.has(name)) return;
  if (timers.has(name)) {
    outdated.add(name); // what is on its way may be older than this event
    return;
  }
  const wait = isNow ? 0 : Math.max(300, (refreshedAt.get(name) || 0) + REFRESH_MS - performance.now());
  timers.set(name, setTimeout(async () => {
    refreshedAt.set(name, performance.now());
    outdated.delete(name);
    try {
      await refreshPart(parts.get(name), `/ui/activity/${name}`);
    } finally {
      timers.delete(name);
      if (outdated.delete(name)) refreshSoon(name);
    }
  }, wait));
}

for (const [name, part] of parts) {
  for (const kind of (part.dataset.on || "").split(" ").filter(Boolean)) {
    document.addEventListener(`chyme:${kind}`, () => refreshSoon(name));
  }
  if ("load" in part.dataset) refreshSoon(name, true);
}
document.addEventListener("chyme:status", (event) => showStatus(event.detail));
document.addEventListener("chyme:acted", (event) => event.detail.parts.forEach((name) => refreshSoon(name, true)));
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) for (const name of parts.keys()) if (name !== "now" && name !== "outdated") refreshSoon(name);
});
