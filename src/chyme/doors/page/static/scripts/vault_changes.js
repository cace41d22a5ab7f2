/* Files that change, come or go while the vault's list is shown. */

import { create, isPlainClick } from "./dom.js";
import { encodePath } from "./format.js";
import { callApi, fetchFragment } from "./server.js";
import { showProblem, showToast } from "./toasts.js";
import { cardOf, prepareCards, replaceCard, vault } from "./vault_cards.js";
import { refreshCountsSoon, showTotal } from "./vault_counts.js";
import { watchSheets } from "./vault_sheets.js";
import { isSearching, results, showView, watchForOtherView } from "./vault_view.js";

const AT_ONCE = 60; // cards in one request
const HITS_MS = 2000; // between two looks at the hits of a question

/* ---- files that changed ---- */

const changed = new Set(); // paths
let timer = 0;

function noteChange(path) {
  if (!path) return;
  changed.add(path);
  if (!timer) timer = setTimeout(refreshChanged, 250);
}

async function refreshChanged() {
  const paths = [...changed];
  changed.clear();
  const isSearch = isSearching();
  if (isSearch) await refreshHits(paths);
  else await refreshCards(paths);
  timer = changed.size ? setTimeout(refreshChanged, isSearch ? HITS_MS : 400) : 0;
}

async function refreshCards(paths) {
  refreshCountsSoon();
  const shown = paths.filter(cardOf);
  if (shown.length < paths.length) refreshListSoon();
  const view = document.querySelector(".lines") ? "table" : "grid";
  try {
    for (let start = 0; start < shown.length; start += AT_ONCE) {
      const some = shown.slice(start, start + AT_ONCE);
      const query = new URLSearchParams([["view", view], ...some.map((path) => ["path", path])]);
      const found = await fetchFragment(`/ui/cards?${query}`);
      for (const path of some) {
        const fresh = found.querySelector(`[data-path="${CSS.escape(path)}"]`);
        const old = cardOf(path);
        if (old && fresh) replaceCard(old, fresh);
        else if (old) { old.remove(); refreshListSoon(); }
      }
    }
  } catch (error) {
    /* the next event tries again */
  }
}

/** Ask the question again: hits change where they are, and new ones are offered by a button. */
async function refreshHits(paths) {
  const sheets = [...vault.querySelectorAll(".sheet.hits:not([data-empty])")];
  const concerned = sheets.filter((sheet) => paths.some((path) => sheet.contains(cardOf(path))));
  const hasNew = paths.some((path) => !cardOf(path));
  if (hasNew && sheets.length && !concerned.includes(sheets[0])) concerned.unshift(sheets[0]);
  const isOtherView = watchForOtherView();
  const firstAddress = `/ui/hits${location.search}&offset=0`;
  for (const sheet of concerned.length || !hasNew ? concerned : [null]) {
    let found;
    try {
      found = await fetchFragment(sheet ? sheet.dataset.src : firstAddress);
    } catch (error) {
      return; // the next event tries again
    }
    if (isOtherView()) return;
    const hits = [...found.querySelectorAll(".hit")];
    for (const path of paths) {
      const old = cardOf(path);
      const fresh = hits.find((hit) => hit.dataset.path === path);
      if (old && fresh) replaceCard(old, fresh);
      else if (old && sheet?.contains(old)) old.remove();
    }
    if (!sheet || sheet === sheets[0]) offerNew(hits.filter((hit) => paths.includes(hit.dataset.path) && !cardOf(hit.dataset.path)).length);
  }
}

function offerNew(count) {
  if (!count) return;
  const button = results().querySelector("[data-show-new]") || create("button", { type: "button", className: "btn btn-s show-new" });
  const sum = Number(button.dataset.showNew || 0) + count;
  button.dataset.showNew = sum;
  button.textContent = `${sum} new – show`;
  if (!button.isConnected) results().prepend(button);
}

for (const kind of ["file", "digest", "document", "added"]) {
  document.addEventListener(`chyme:${kind}`, (event) => noteChange(event.detail.path));
}
document.addEventListener("chyme:file", ({ detail }) => { if (detail.status === "moved") noteChange(detail.detail); }); // its old path
document.addEventListener("chyme:reset", () => showView(location.search, ""));

/* ---- files that came ---- */

let isOutdated = false; // there may be files that the list does not show
let listTimer = 0;

export function refreshListSoon() {
  isOutdated = true;
  if (!listTimer) listTimer = setTimeout(refreshList, 500);
}

/** Fetch the first sheet again and insert what is new, if that sheet is visible. */
async function refreshList() {
  listTimer = 0;
  if (!isOutdated || isSearching() || document.querySelector("dialog[open]:not(#add)")) return;
  const first = vault.querySelector(".sheet");
  if (!first) { isOutdated = false; showView(location.search, ""); return; }
  const hasOthers = vault.querySelectorAll(".sheet").length > 1;
  if (hasOthers && first.getBoundingClientRect().bottom < innerHeight) return; // scrolled further down: when it is visible again
  isOutdated = false;
  let found;
  try {
    found = await fetchFragment(first.dataset.src);
  } catch (error) {
    return;
  }
  const sheet = found.querySelector(".sheet");
  if (!sheet || !first.isConnected || first.hasAttribute("data-empty")) return;
  replaceCards(first, sheet);
  for (const other of [...vault.querySelectorAll(".sheet")].slice(1)) other.remove();
  vault.querySelector(".more")?.remove();
  const more = found.querySelector(".more");
  if (more) results().append(more);
  showTotal(sheet.dataset.total);
  refreshCountsSoon();
  watchSheets();
}

/** Make the cards of `sheet` those of `fresh`, in that order, moving as few as possible. */
function replaceCards(sheet, fresh) {
  const oldCards = new Map([...sheet.querySelectorAll("[data-path]")].map((card) => [card.dataset.path, card]));
  let next = sheet.firstElementChild; // what stands where the next card belongs
  for (const freshCard of [...fresh.children]) {
    const old = oldCards.get(freshCard.dataset.path);
    oldCards.delete(freshCard.dataset.path);
    if (old && old === next) next = next.nextElementSibling;
    const card = old ? replaceCard(old, freshCard) : freshCard;
    if (card.parentElement !== sheet || card.nextElementSibling !== next) sheet.insertBefore(card, next);
    if (!old) prepareCards(card);
  }
  for (const card of oldCards.values()) card.remove(); // they are on a later sheet, or gone
}

addEventListener("scroll", () => { if (isOutdated && !listTimer) listTimer = setTimeout(refreshList, 500); }, { passive: true });

/* ---- trying a file again, showing new hits ---- */

async function retry(button) {
  const path = button.closest("[data-path]").dataset.path;
  button.disabled = true;
  try {
    const { skipped } = await callApi("POST", `/api/documents/${encodePath(path)}/reprocess`);
    showToast(skipped ? "There is nothing to try again with this file." : "Trying again.");
    noteChange(path);
  } catch (error) {
    showProblem(error);
    button.disabled = false;
  }
}

vault.addEventListener("click", (event) => {
  if (!isPlainClick(event)) return;
  const button = event.target.closest("[data-retry]");
  if (button) retry(button);
  if (event.target.closest("[data-show-new]")) showView(location.search, "");
});
