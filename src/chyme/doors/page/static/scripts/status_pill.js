/* The pill at the top of the page that sums up how far digestion is. */

import { byId } from "./dom.js";
import { formatDuration, formatNumber } from "./format.js";

function show(mood, text, shortText) {
  const pill = byId("status");
  if (!pill) return;
  const words = pill.querySelector("[data-status-text]");
  if (pill.dataset.mood !== mood) pill.dataset.mood = mood;
  if (words.textContent !== text) words.textContent = text;
  pill.querySelector("[data-status-short]").textContent = shortText; // where there is little room
  pill.title = text;
}

export const showDisconnected = () => show("away", "No connection", "Away");

export function showStatus(status) {
  const left = (status.todo || 0) + (status.running || 0);
  if (status.paused) show("paused", `Paused: ${status.paused}`, "Paused");
  else if (left) {
    const timeLeft = status.eta_seconds == null ? "" : ` · ${formatDuration(status.eta_seconds)}`;
    show("busy", `${formatNumber(left)} left${timeLeft}`, formatNumber(left));
  } else if (status.again) show("busy", `${formatNumber(status.again)} tried again later`, formatNumber(status.again));
  else show("done", "All digested", "Done");
}
