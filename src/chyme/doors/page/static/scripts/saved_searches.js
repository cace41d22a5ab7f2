/* The page of saved searches: renaming, feeds; the list is fetched again after every action and when files arrive. */

import "./actions.js";
import { askConfirmation, openDialog } from "./dialogs.js";
import { byId } from "./dom.js";
import { refreshPart } from "./refresh_part.js";
import { askSearchName } from "./saving_search.js";
import { callApi } from "./server.js";
import { showProblem, showToast } from "./toasts.js";

const ARRIVED_MS = 5000; // between two looks while files arrive
let timer = 0;

const refresh = () => { timer = 0; return refreshPart(byId("searches"), "/ui/searches/list"); };

function rename({ renameSearch, name, query }) {
  askSearchName(query, name, async (newName) => {
    const saved = await callApi("PATCH", `/api/searches/${renameSearch}`, { name: newName });
    showToast(`It is called “${saved.name}” now.`);
    await refresh();
  });
}

async function makeFeed({ makeFeed: id, again }) {
  if (again && !(await askConfirmation("Make a new address?", "The address your feed reader has now ends.", "Make it"))) return;
  try {
    const { address } = await callApi("POST", `/api/searches/${id}/feed`);
    byId("feed-address").value = address;
    openDialog(byId("feed"));
    byId("feed-address").select();
    await refresh();
  } catch (error) {
    showProblem(error);
  }
}

byId("searches").addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (button?.dataset.renameSearch) rename(button.dataset);
  else if (button?.dataset.makeFeed) makeFeed(button.dataset);
});
document.addEventListener("chyme:acted", refresh);
document.addEventListener("chyme:document", () => { if (!timer) timer = setTimeout(refresh, ARRIVED_MS); });
