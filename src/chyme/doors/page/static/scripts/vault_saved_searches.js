/* Saved searches beside the list: saving one, how many files are new to each, and marking them as seen. */

import "./actions.js";
import { byId } from "./dom.js";
import { refreshPart } from "./refresh_part.js";
import { askSearchName } from "./saving_search.js";
import { callApi } from "./server.js";
import { showToast } from "./toasts.js";
import { vault } from "./vault_cards.js";
import { results, showView } from "./vault_view.js";

const COUNT_MS = 5000; // between two counts while files arrive
const strip = byId("searches");
let timer = 0;

async function refresh() {
  timer = 0;
  await refreshPart(strip, "/ui/searches/chips");
  showCurrent();
}

function showCurrent() {
  const current = new URLSearchParams(location.search).get("saved");
  for (const chip of strip.querySelectorAll("[data-search]")) {
    chip.classList.toggle("chip-on", chip.dataset.search === current);
    if (chip.dataset.search === current) chip.setAttribute("aria-current", "true");
    else chip.removeAttribute("aria-current");
  }
}

vault.addEventListener("click", (event) => {
  if (!event.target.closest("[data-save-search]")) return;
  const query = results().dataset.question;
  askSearchName(query, "", async (name) => {
    const saved = await callApi("POST", "/api/searches", { name, query });
    showToast(`“${saved.name}” is saved.`);
    await refresh();
    await showView(`?${new URLSearchParams({ q: saved.query, saved: saved.id })}`);
    showCurrent();
  });
});
document.addEventListener("chyme:acted", ({ detail }) => {
  if (!detail.parts.includes("searches")) return;
  refresh();
  showView(location.search, "");
});
document.addEventListener("chyme:question", showCurrent);
addEventListener("popstate", showCurrent);
document.addEventListener("chyme:document", () => {
  if (!timer && strip.childElementCount) timer = setTimeout(refresh, COUNT_MS);
});

showCurrent();
if (strip.childElementCount) refresh();
