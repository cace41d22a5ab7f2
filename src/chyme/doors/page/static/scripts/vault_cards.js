/* The cards of files in the vault's list: finding them, replacing them, and showing how far a file is. */

import { byId, dispatch } from "./dom.js";
import { hasHtml, rememberHtml, replaceElement } from "./replace.js";

export const vault = byId("vault");
const labels = JSON.parse(vault.dataset.steps); // digester → its label
const steps = new Map(); // path → {digester, fraction}

export const cardOf = (path) => vault.querySelector(`[data-path="${CSS.escape(path)}"]`);

/** Remember the HTML of new cards and show on them how far their files are. Dispatches chyme:cards. */
export function prepareCards(root) {
  const cards = root.matches("[data-path]") ? [root] : root.querySelectorAll("[data-path]");
  for (const card of cards) {
    rememberHtml(card);
    showProgress(card);
  }
  dispatch("chyme:cards");
}

function showProgress(card) {
  const bar = card.querySelector("progress");
  const text = card.querySelector("[data-doing]");
  if (!bar || !text) return;
  const step = steps.get(card.dataset.path);
  const label = step ? labels[step.digester] || step.digester : "Waiting";
  const fraction = step && step.fraction > 0 ? step.fraction : null;
  text.textContent = label + (fraction === null ? "" : ` ${Math.round(fraction * 100)}%`);
  if (fraction === null) bar.removeAttribute("value");
  else bar.value = fraction;
}

document.addEventListener("chyme:status", ({ detail }) => {
  const paths = new Set(steps.keys());
  steps.clear();
  for (const step of detail.work || []) {
    steps.set(step.path, step);
    paths.add(step.path);
  }
  for (const path of paths) {
    const card = cardOf(path);
    if (card) showProgress(card);
  }
});

/** Replace a card if it has changed, and return the card that is shown. */
export function replaceCard(old, fresh) {
  if (hasHtml(old, fresh.outerHTML)) {
    for (const button of old.querySelectorAll("[data-retry]")) button.disabled = false; // it was tried again in vain
    return old;
  }
  rememberHtml(fresh);
  replaceElement(old, fresh, { keepsPictures: true });
  showProgress(fresh);
  dispatch("chyme:cards");
  return fresh;
}

prepareCards(vault);
