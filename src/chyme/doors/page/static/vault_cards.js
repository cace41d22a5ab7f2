/* One file's card in the vault's list: found by its path, dressed with what the page knows, put in its older self's place. */
(function () {
  "use strict";

  const vault = document.getElementById("vault");
  const steps = JSON.parse(vault.dataset.steps); // what each digester is called
  const made = new WeakMap(); // a card → the HTML it came as
  const doing = new Map(); // path → {digester, fraction}
  const cardOf = (path) => vault.querySelector(`[data-path="${CSS.escape(path)}"]`);

  /** What something is called, to know it again when it is made anew. */
  const calledBy = (element) => element.getAttribute("aria-label") || (element.firstElementChild ? element.firstChild.textContent.trim() || element.querySelector(".clip")?.textContent : element.textContent) || element.textContent;

  /** Cards came in: remember how, and put on what the page knows about them. */
  function dress(within) {
    const cards = within.matches("[data-path]") ? [within] : within.querySelectorAll("[data-path]");
    for (const card of cards) {
      made.set(card, card.outerHTML);
      progress(card);
    }
    document.dispatchEvent(new CustomEvent("chyme:cards", { detail: within }));
  }

  function progress(card) {
    const bar = card.querySelector("progress");
    const words = card.querySelector("[data-doing]");
    if (!bar || !words) return;
    const now = doing.get(card.dataset.path);
    const name = now ? steps[now.digester] || now.digester : "Waiting";
    const part = now && now.fraction != null && now.fraction > 0 ? now.fraction : null;
    words.textContent = name + (part === null ? "" : ` ${Math.round(part * 100)}%`);
    if (part === null) bar.removeAttribute("value");
    else bar.value = part;
  }

  document.addEventListener("chyme:status", ({ detail }) => {
    const before = new Set(doing.keys());
    doing.clear();
    for (const one of detail.work || []) {
      doing.set(one.path, one);
      before.add(one.path);
    }
    for (const path of before) {
      const card = cardOf(path);
      if (card) progress(card);
    }
  });

  /** Put a card in the place of its older self, without a flicker and without taking the focus away. */
  function swap(old, fresh) {
    if (made.get(old) === fresh.outerHTML) {
      for (const button of old.querySelectorAll("[data-retry]")) button.disabled = false; // tried, and as it was
      return old;
    }
    const had = old.contains(document.activeElement) ? document.activeElement : null;
    const kept = had && { tag: had.tagName.toLowerCase(), name: calledBy(had) };
    const before = old.querySelector("img");
    const after = fresh.querySelector("img");
    made.set(fresh, fresh.outerHTML);
    if (before && after && before.getAttribute("src") === after.getAttribute("src")) after.replaceWith(before);
    old.replaceWith(fresh);
    progress(fresh);
    document.dispatchEvent(new CustomEvent("chyme:cards", { detail: fresh }));
    if (kept) {
      const same = [...fresh.querySelectorAll(kept.tag)].find((one) => calledBy(one) === kept.name);
      (same || fresh.querySelector(".tile-link")).focus({ preventScroll: true });
    }
    return fresh;
  }

  chyme.list = { cardOf, calledBy, dress, swap }; // what the list's scripts share: each adds to it for those after it
  dress(vault);
})();
