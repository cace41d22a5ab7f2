/* The numbers beside the vault's kinds and filters, and the total. */

import { formatNumber } from "./format.js";
import { main, replaceElement } from "./replace.js";
import { fetchFragment } from "./server.js";
import { vault } from "./vault_cards.js";

const OFTEN_MS = 1500;
const SELDOM_MS = 10000; // in a large vault, where counting takes time
let timer = 0;

/** Whether the server has left the counts to a request of their own, as in a large vault. */
export const areCountsMissing = () => Boolean(vault.querySelector("[data-count-later]"));

export function refreshCountsSoon() {
  if (!timer) timer = setTimeout(() => { timer = 0; refreshCounts(); }, areCountsMissing() ? SELDOM_MS : OFTEN_MS);
}

export async function refreshCounts() {
  const columns = vault.querySelector("[data-choices]");
  if (!columns) return;
  let found;
  try {
    found = await fetchFragment(columns.dataset.choices);
  } catch (error) {
    return; // the list can be used without counts
  }
  if (!columns.isConnected) return;
  for (const selector of [".kinds", "#filters"]) {
    const old = vault.querySelector(selector);
    const fresh = found.querySelector(selector);
    if (old && fresh && old.outerHTML !== fresh.outerHTML) replaceElement(old, fresh, { fallback: main });
  }
}

/** Show how many files there are; `total` is text from an attribute. */
export function showTotal(total) {
  const shown = vault.querySelector("[data-total]:not(.sheet)");
  if (!shown || total === undefined) return;
  const text = formatNumber(total);
  if (shown.textContent !== text) shown.textContent = text;
  vault.querySelector("[data-total-word]").textContent = total === "1" ? "file" : "files";
  vault.querySelector("#results").dataset.all = total;
}
