/* Where in a file something is: boxes on a picture, and the place that was found. */
(function () {
  "use strict";

  const { page, pressed } = chyme.file;

  /* ---- boxes on a picture ---- */

  function layer(button) {
    const on = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(on));
    page.querySelector(`[data-layer="${button.dataset.show}"]`).toggleAttribute("hidden", !on);
  }

  function label(event) {
    const box = event.target.closest && event.target.closest(".box");
    const output = page.querySelector("[data-label]");
    if (output) output.textContent = box ? box.getAttribute("aria-label") : "";
  }
  page.addEventListener("pointerover", label);
  page.addEventListener("focusin", label);
  page.addEventListener("pointerdown", label);

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

  pressed("[data-show]", layer);

  /* ---- the place that was found ---- */

  function words() {
    const plain = page.dataset.question.replace(/\b\w+:\S+/g, " ").replace(/["*]/g, " ");
    return [...new Set(plain.split(/\s+/).filter((word) => word.length > 1 && !word.startsWith("-")))].slice(0, 20);
  }

  function mark(root) {
    const wanted = words();
    if (!wanted.length) return;
    const pattern = new RegExp(`(?<![\\p{L}\\p{N}])(?:${wanted.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|")})`, "giu");
    const walk = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    const nodes = [];
    while (walk.nextNode()) nodes.push(walk.currentNode);
    for (const node of nodes) {
      const text = node.data;
      const pieces = [];
      let from = 0;
      for (const hit of text.matchAll(pattern)) {
        const marked = document.createElement("mark");
        marked.textContent = hit[0];
        pieces.push(text.slice(from, hit.index), marked);
        from = hit.index + hit[0].length;
      }
      if (pieces.length) node.replaceWith(...pieces, text.slice(from));
    }
  }

  function marked() {
    const spots = page.querySelectorAll("[data-text] .found, .found[data-text]");
    for (const spot of spots) if (!spot.querySelector("mark")) mark(spot);
    return spots;
  }

  const target = marked()[0];
  (page.querySelector("#found") || target)?.scrollIntoView({ block: "center", behavior: "instant" });
  document.addEventListener("chyme:stage", marked); // made again; nobody wants to be moved
})();
