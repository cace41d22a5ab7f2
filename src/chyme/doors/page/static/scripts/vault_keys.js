/* Keys that move through the vault's list. */

import { byId } from "./dom.js";
import { registerKey } from "./keyboard.js";
import { vault } from "./vault_cards.js";
import { results } from "./vault_view.js";

/** Focus the file so many places further. */
function step(by) {
  const links = [...vault.querySelectorAll("#results .tile-link")];
  const index = links.indexOf(document.activeElement?.closest?.("[data-path]")?.querySelector(".tile-link"));
  const next = links[index < 0 ? 0 : Math.min(links.length - 1, Math.max(0, index + by))];
  if (!next) return false;
  next.focus();
  next.scrollIntoView({ block: "nearest" });
  return true;
}

/** How many cards are side by side. */
function countColumns() {
  const tiles = vault.querySelectorAll(".tiles > .tile");
  let count = 0;
  while (count < tiles.length && tiles[count].offsetTop === tiles[0].offsetTop) count += 1;
  return Math.max(1, count);
}

const isInResults = () => Boolean(results()?.contains(document.activeElement));
const isGrid = () => vault.querySelector(".tiles") !== null;

registerKey("ArrowDown", "Next row, from a file", () => isInResults() && step(countColumns()));
registerKey("ArrowUp", "Row before", () => isInResults() && step(-countColumns()));
registerKey("ArrowRight", "Next file", () => isInResults() && isGrid() && step(1));
registerKey("ArrowLeft", "File before", () => isInResults() && isGrid() && step(-1));
registerKey("j", "Next file", () => step(1));
registerKey("k", "File before", () => step(-1));
registerKey("Escape", "Leave", () => {
  if (!isInResults()) return false;
  byId("search").focus();
  return true;
});
