/* Places in a file: boxes on a picture, and the passage that a search has found. */

import { create } from "./dom.js";
import { onButton, page } from "./file_context.js";

/* ---- boxes on a picture ---- */

function toggleLayer(button) {
  const isShown = button.getAttribute("aria-pressed") !== "true";
  button.setAttribute("aria-pressed", String(isShown));
  page.querySelector(`[data-layer="${button.dataset.show}"]`).toggleAttribute("hidden", !isShown);
}

function showLabel(event) {
  const box = event.target.closest && event.target.closest(".box");
  const output = page.querySelector("[data-label]");
  if (output) output.textContent = box ? box.getAttribute("aria-label") : "";
}
page.addEventListener("pointerover", showLabel);
page.addEventListener("focusin", showLabel);
page.addEventListener("pointerdown", showLabel);

page.addEventListener("keydown", (event) => {
  const box = event.target.closest(".box");
  if (!box) return;
  const next = { ArrowRight: box.nextElementSibling, ArrowDown: box.nextElementSibling, ArrowLeft: box.previousElementSibling, ArrowUp: box.previousElementSibling }[event.key];
  if (next) {
    event.preventDefault();
    box.setAttribute("tabindex", "-1");
    next.setAttribute("tabindex", "0");
    next.focus();
  }
});

onButton("[data-show]", toggleLayer);

/* ---- the passage that was found ---- */

/** The words of the question, without filters, operators and words that are left out. */
function questionWords() {
  const plain = page.dataset.question.replace(/\b\w+:\S+/g, " ").replace(/["*]/g, " ");
  return [...new Set(plain.split(/\s+/).filter((word) => word.length > 1 && !word.startsWith("-")))].slice(0, 20);
}

function markIn(root) {
  const words = questionWords();
  if (!words.length) return;
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])(?:${words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|")})`, "giu");
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const nodes = [];
  while (walker.nextNode()) nodes.push(walker.currentNode);
  for (const node of nodes) {
    const text = node.data;
    const pieces = [];
    let position = 0;
    for (const match of text.matchAll(pattern)) {
      pieces.push(text.slice(position, match.index), create("mark", { textContent: match[0] }));
      position = match.index + match[0].length;
    }
    if (pieces.length) node.replaceWith(...pieces, text.slice(position));
  }
}

/** Mark the words in the passages that were found, and return these. */
function markPassages() {
  const passages = page.querySelectorAll("[data-text] .found, .found[data-text]");
  for (const passage of passages) if (!passage.querySelector("mark")) markIn(passage);
  return passages;
}

const firstPassage = markPassages()[0];
(page.querySelector("#found") || firstPassage)?.scrollIntoView({ block: "center", behavior: "instant" });
document.addEventListener("chyme:stage", markPassages); // only marked: the page must not scroll by itself
