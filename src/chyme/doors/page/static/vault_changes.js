/* Files that change, come or go while the vault's list is shown: their cards are renewed, and one can be tried again. */
(function () {
  "use strict";

  const { cardOf, dress, swap, watch, results, searching, go, meanwhile, tell, countSoon } = chyme.list;
  const vault = document.getElementById("vault");
  const AT_ONCE = 60;
  const HITS_MS = 2000; // between one look at what a question finds and the next

  /* ---- files that changed ---- */

  const changed = new Set();
  let flushing = 0;

  function note(path) {
    if (!path) return;
    changed.add(path);
    if (!flushing) flushing = setTimeout(flush, 250);
  }

  async function flush() {
    const paths = [...changed];
    changed.clear();
    if (searching()) {
      await flushHits(paths);
      flushing = changed.size ? setTimeout(flush, HITS_MS) : 0;
      return;
    }
    countSoon();
    const shown = paths.filter(cardOf);
    if (shown.length < paths.length) renewSoon();
    const view = document.querySelector(".lines") ? "table" : "grid";
    try {
      for (let from = 0; from < shown.length; from += AT_ONCE) {
        const some = shown.slice(from, from + AT_ONCE);
        const asked = new URLSearchParams([["view", view], ...some.map((path) => ["path", path])]);
        const found = await chyme.fragment(`/ui/cards?${asked}`);
        for (const path of some) {
          const fresh = found.querySelector(`[data-path="${CSS.escape(path)}"]`);
          const old = cardOf(path);
          if (old && fresh) swap(old, fresh);
          else if (old) { old.remove(); renewSoon(); }
        }
      }
    } catch (error) {
      /* the next event tries again */
    }
    flushing = changed.size ? setTimeout(flush, 400) : 0;
  }

  /** What was found is asked for again: hits change where they stand, and what is new waits until somebody wants it. */
  async function flushHits(paths) {
    const sheets = [...vault.querySelectorAll(".sheet.hits:not([data-empty])")];
    const concerned = sheets.filter((sheet) => paths.some((path) => sheet.contains(cardOf(path))));
    const unknown = paths.some((path) => !cardOf(path));
    if (unknown && sheets.length && !concerned.includes(sheets[0])) concerned.unshift(sheets[0]);
    const overtaken = meanwhile();
    const src = `/ui/hits${location.search}&offset=0`;
    for (const sheet of concerned.length || !unknown ? concerned : [null]) {
      let found;
      try {
        found = await chyme.fragment(sheet ? sheet.dataset.src : src);
      } catch (error) {
        return; // the next event tries again
      }
      if (overtaken()) return; // something else was asked for meanwhile
      const fresh = [...found.querySelectorAll(".hit")];
      for (const path of paths) {
        const old = cardOf(path);
        const one = fresh.find((hit) => hit.dataset.path === path);
        if (old && one) swap(old, one);
        else if (old && sheet?.contains(old)) old.remove();
      }
      if (!sheet || sheet === sheets[0]) offer(fresh.filter((one) => paths.includes(one.dataset.path) && !cardOf(one.dataset.path)).length);
    }
  }

  function offer(count) {
    if (!count) return;
    const button = results().querySelector("[data-show-new]") || document.createElement("button");
    const sum = Number(button.dataset.showNew || 0) + count;
    button.type = "button";
    button.className = "btn btn-s show-new";
    button.dataset.showNew = sum;
    button.textContent = `${sum} new – show`;
    if (!button.isConnected) results().prepend(button);
  }

  for (const kind of ["file", "digest", "document"]) {
    document.addEventListener(`chyme:${kind}`, (event) => note(event.detail.path));
  }
  document.addEventListener("chyme:file", ({ detail }) => { if (detail.status === "moved") note(detail.detail); }); // where it was
  document.addEventListener("chyme:reset", () => go(location.search, ""));

  /* ---- files that came ---- */

  let stale = false; // there may be files that the list does not show
  let renewing = 0;

  function renewSoon() {
    stale = true;
    if (!renewing) renewing = setTimeout(renew, 500);
  }

  /** Fetch the first sheet again and let in what is new, where somebody looks at it. */
  async function renew() {
    renewing = 0;
    if (!stale || searching() || document.querySelector("dialog[open]:not(#add)")) return;
    const first = vault.querySelector(".sheet");
    if (!first) { stale = false; go(location.search, ""); return; }
    const bottom = first.getBoundingClientRect().bottom;
    const others = vault.querySelectorAll(".sheet").length > 1;
    if (others && bottom < innerHeight) return; // further down: when they come back up
    stale = false;
    let found;
    try {
      found = await chyme.fragment(first.dataset.src);
    } catch (error) {
      return;
    }
    const sheet = found.querySelector(".sheet");
    if (!sheet || !first.isConnected || first.hasAttribute("data-empty")) return;
    const known = new Map([...first.querySelectorAll("[data-path]")].map((card) => [card.dataset.path, card]));
    let here = first.firstElementChild;
    for (const fresh of [...sheet.children]) {
      const old = known.get(fresh.dataset.path);
      known.delete(fresh.dataset.path);
      const card = old ? (old === here && (here = here.nextElementSibling), swap(old, fresh)) : fresh;
      if (card.parentElement !== first || card.nextElementSibling !== here) first.insertBefore(card, here);
      if (!old) dress(card);
    }
    for (const gone of known.values()) gone.remove(); // they are further down, or nowhere
    for (const later of [...vault.querySelectorAll(".sheet")].slice(1)) later.remove();
    vault.querySelector(".more")?.remove();
    const next = found.querySelector(".more");
    if (next) results().append(next);
    tell(sheet.dataset.total);
    countSoon();
    watch();
  }

  addEventListener("scroll", () => { if (stale && !renewing) renewing = setTimeout(renew, 500); }, { passive: true });

  /* ---- what a click asks for ---- */

  async function again(button) {
    const path = button.closest("[data-path]").dataset.path;
    button.disabled = true;
    try {
      const told = await chyme.api("POST", `/api/documents/${chyme.at(path)}/reprocess`);
      chyme.toast(told.skipped ? "There is nothing to try again with this file." : "Trying again.");
      note(path);
    } catch (error) {
      chyme.problem(error);
      button.disabled = false;
    }
  }

  vault.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const retry = event.target.closest("[data-retry]");
    if (retry) again(retry);
    if (event.target.closest("[data-show-new]")) go(location.search, "");
  });

  chyme.vault = { go, note, cardOf, searching, renewSoon }; // for scripts beside the list, which take all of it or none
})();
