/* Search as you type: hits after a short pause, the whole view after a longer one. */

import { byId } from "./dom.js";
import { main, replaceContent } from "./replace.js";
import { prepareCards } from "./vault_cards.js";
import { showTotal } from "./vault_counts.js";
import { watchSheets } from "./vault_sheets.js";
import { cancelRequest, fetchView, isSearching, noteQuestion, results, setAddress, showView } from "./vault_view.js";

const HITS_MS = 120;
const VIEW_MS = 350;
const search = byId("search");
let hitsTimer = 0;
let viewTimer = 0;

function clearTimers() {
  clearTimeout(hitsTimer);
  clearTimeout(viewTimer);
}

/** The query of the address with these words, and the filters as they are. */
function queryFor(words) {
  const filters = new URLSearchParams(location.search);
  for (const name of ["cursor", "similar", "saved", "q"]) filters.delete(name);
  const query = new URLSearchParams(words ? { q: words } : {});
  for (const [name, value] of filters) query.append(name, value);
  return query.size ? `?${query}` : "";
}

function onInput() {
  const words = search.value.trim();
  clearTimers();
  cancelRequest();
  if (words) {
    hitsTimer = setTimeout(() => showHits(words), HITS_MS);
    viewTimer = setTimeout(showWholeView, VIEW_MS);
  } else if (isSearching()) hitsTimer = setTimeout(() => showView(queryFor(""), "replace"), HITS_MS);
}

async function showHits(words) {
  const query = queryFor(words);
  setAddress(query, isSearching() ? "replace" : "push");
  noteQuestion();
  const hits = await fetchView(`/ui/hits${query}&typing=true`);
  if (!hits) return;
  const total = hits.querySelector("[data-found]")?.dataset.found;
  replaceContent(results(), hits, { fallback: main });
  showTotal(total);
  prepareCards(results());
  watchSheets();
}

function showWholeView() {
  clearTimers();
  const words = search.value.trim();
  showView(queryFor(words), isSearching() || !words ? "replace" : "push");
}

addEventListener("popstate", clearTimers); // going back ends what was typed
search.addEventListener("input", onInput);
search.form.addEventListener("submit", (event) => { event.preventDefault(); showWholeView(); });
search.addEventListener("keydown", (event) => {
  if (event.isComposing) return;
  if (event.key === "ArrowDown") {
    const first = document.querySelector("#results .tile-link");
    if (first) { event.preventDefault(); first.focus(); }
  } else if (event.key === "Escape") {
    event.preventDefault();
    if (search.value) { search.value = ""; onInput(); } else search.blur();
  }
});

// the browser has restored what was typed before the page was left
if (search.value && document.activeElement !== search && new URLSearchParams(location.search).get("q") !== search.value.trim()) showWholeView();
