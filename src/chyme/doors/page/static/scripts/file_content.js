/* The content of a digest, fetched when its details are opened. */

import { page, path } from "./file_context.js";
import { fetchFragment } from "./server.js";

const contentOf = (details) => details.querySelector("[data-held]");

/** Fetch the content, unless it is there; with `isForced` even then. */
async function loadContent(details, isForced = false) {
  const content = contentOf(details);
  if (!content || (details.dataset.loaded && !isForced)) return;
  details.dataset.loaded = "1";
  try {
    content.replaceChildren(await fetchFragment(`/ui/file/content?path=${encodeURIComponent(path)}&digester=${encodeURIComponent(details.dataset.holds)}`));
  } catch (error) {
    content.textContent = error.message;
    delete details.dataset.loaded;
  }
}

const openDetails = (part) => [...part.querySelectorAll("details[open][data-holds]")];

/** Return a function that fetches the open contents of a part again; the old ones stay until then, so nothing jumps. */
export function keepContent(part) {
  const old = new Map(openDetails(part).map((details) => [details.dataset.key, contentOf(details)]));
  return (fresh) => {
    for (const details of openDetails(fresh)) {
      const content = old.get(details.dataset.key);
      if (content) contentOf(details)?.replaceWith(content);
      loadContent(details, true);
    }
  };
}

page.addEventListener("toggle", (event) => {
  if (event.target.open && event.target.dataset.holds) loadContent(event.target);
}, true);
