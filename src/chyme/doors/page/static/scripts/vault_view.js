/* Moving between views of the vault (folders, filters, questions, orders) without loading the page. */

import { byId, dispatch, isPlainClick } from "./dom.js";
import { base } from "./page_context.js";
import { main, replaceContent } from "./replace.js";
import { fetchFragment } from "./server.js";
import { showProblem } from "./toasts.js";
import { prepareCards, vault } from "./vault_cards.js";
import { areCountsMissing, refreshCounts } from "./vault_counts.js";
import { restorePosition, savePosition } from "./vault_position.js";
import { watchSheets } from "./vault_sheets.js";

const search = byId("search");
const parameters = () => new URLSearchParams(location.search);
let request = null; // the newest request for a view; older ones change nothing any more
let shownQuestion = currentQuestion();

export const results = () => byId("results");

/** Whether hits of a search are shown and not the list. */
export const isSearching = () => parameters().has("q") || parameters().has("similar");

/** The part of the address that says which files are shown, and not how. */
function currentQuestion() {
  const question = parameters();
  for (const name of ["sort", "dir", "view", "cursor"]) question.delete(name);
  return question.toString();
}

export const cancelRequest = () => request?.abort();

/** Fetch a view, or null if that failed or another one was asked for meanwhile. */
export async function fetchView(path) {
  cancelRequest();
  const mine = (request = new AbortController());
  results()?.classList.add("waiting");
  try {
    const fragment = await fetchFragment(path, mine.signal);
    return mine === request ? fragment : null;
  } catch (error) {
    if (error.name !== "AbortError") showProblem(error);
    return null;
  } finally {
    if (mine === request) {
      request = null;
      results()?.classList.remove("waiting");
    }
  }
}

/** Show the view of an address's query, and return whether that worked. `historyEntry` is "push", "replace" or "". */
export async function showView(query, historyEntry = "push") {
  if (historyEntry) setAddress(query, historyEntry);
  noteQuestion();
  const body = await fetchView(`/ui/vault${query}`);
  if (!body) return false;
  replaceContent(vault, body, { fallback: main });
  const question = new URLSearchParams(query).get("q") || "";
  document.title = question ? `${question} · chyme` : "chyme";
  if (document.activeElement !== search && search.value.trim() !== question) search.value = question;
  if (historyEntry === "push" && scrollY > 0) scrollTo(0, 0);
  prepareCards(vault);
  watchSheets();
  if (areCountsMissing()) refreshCounts();
  return true;
}

/** Change the address; `historyEntry` is "push" or "replace". */
export function setAddress(query, historyEntry) {
  savePosition();
  if (historyEntry === "push") history.pushState(null, "", `${base}/${query}`);
  else history.replaceState(null, "", `${base}/${query}`);
}

/** Dispatch chyme:question if the address asks for other files than before; their order does not matter. */
export function noteQuestion() {
  const question = currentQuestion();
  if (question !== shownQuestion) dispatch("chyme:question");
  shownQuestion = question;
}

/** Return a function that says whether another view was asked for since this call. */
export function watchForOtherView() {
  const question = shownQuestion;
  return () => question !== shownQuestion || request !== null;
}

vault.addEventListener("click", (event) => {
  if (!isPlainClick(event)) return;
  const link = event.target.closest("a[data-go]");
  if (link) {
    event.preventDefault();
    showView(new URL(link.href).search);
  }
  const view = event.target.closest("[data-set-view]");
  if (view) {
    document.cookie = `chyme-view=${view.dataset.setView}; path=/; max-age=31536000; samesite=lax`;
    const query = parameters();
    query.delete("view");
    query.delete("cursor");
    showView(query.size ? `?${query}` : "", "replace");
  }
  const facetButton = event.target.closest("[data-facet-more]");
  if (facetButton) {
    facetButton.closest(".facet").classList.add("facet-all");
    facetButton.remove();
  }
});
vault.addEventListener("change", (event) => {
  if (event.target.matches("[data-sort]")) showView(event.target.value === "?" ? "" : event.target.value);
});
addEventListener("popstate", async (event) => {
  search.value = parameters().get("q") || "";
  if (await showView(location.search, "")) restorePosition(event.state);
});

if (areCountsMissing()) refreshCounts();
if (history.state?.path) restorePosition(history.state);
