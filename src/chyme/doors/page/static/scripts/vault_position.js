/* The scroll position in the vault's list, stored with the address: for going back and for a reload. */

import { cardOf, vault } from "./vault_cards.js";
import { loadMore } from "./vault_sheets.js";

const MOST_SHEETS = 40;
let timer = 0;
history.scrollRestoration = "manual"; // the browser would scroll before the sheets are there

/** Store the first visible card and how many sheets are above it. */
export function savePosition() {
  clearTimeout(timer);
  const edge = document.querySelector(".top").getBoundingClientRect().bottom;
  const first = scrollY > 0 && [...vault.querySelectorAll("#results [data-path]")].find((card) => card.getBoundingClientRect().bottom > edge);
  const position = first ? { path: first.dataset.path, top: first.getBoundingClientRect().top, y: scrollY, sheets: vault.querySelectorAll(".sheet").length } : null;
  if (position || history.state) history.replaceState(position, "");
}

/** Load as many sheets as there were, and scroll to the card; without a position, to the top. */
export async function restorePosition(position) {
  if (!position) { scrollTo(0, 0); return; }
  const wanted = Math.min(position.sheets, MOST_SHEETS);
  for (let link; vault.querySelectorAll(".sheet").length < wanted && (link = vault.querySelector(".more"));) {
    if (link.dataset.busy) await new Promise((resolve) => setTimeout(resolve, 50));
    else if (!(await loadMore(link))) break;
  }
  scrollTo(0, position.y);
  for (let times = 0; times < 3; times += 1) { // heights of cards are estimates until they are visible
    const card = cardOf(position.path);
    if (card) scrollBy(0, card.getBoundingClientRect().top - position.top);
    await new Promise(requestAnimationFrame);
  }
}

addEventListener("scroll", () => { clearTimeout(timer); timer = setTimeout(savePosition, 200); }, { passive: true });
addEventListener("popstate", () => clearTimeout(timer)); // it belongs to the address that was left
addEventListener("pagehide", savePosition);
