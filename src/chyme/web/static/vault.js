/* The vault's list: moving between views without a reload, search as you type, endless sheets, cards that live. */
(function () {
  "use strict";

  const vault = document.getElementById("vault");
  const search = document.getElementById("search");
  if (!vault || !search) return;
  const FILL = "2500px 0px"; // what is this near is there
  const DROP = "9000px 0px"; // what is this far takes no memory
  const TYPING_MS = 120;
  const SETTLED_MS = 350;
  const AT_ONCE = 60;
  const HITS_MS = 2000; // between one look at what a question finds and the next
  const results = () => document.getElementById("results");
  const searching = () => new URLSearchParams(location.search).has("q") || new URLSearchParams(location.search).has("similar");
  const cardOf = (path) => vault.querySelector(`[data-path="${CSS.escape(path)}"]`);

  /* ---- moving between views ---- */

  let under = null; // the request that may still change what is shown: older ones never do

  async function ask(path) {
    if (under) under.abort();
    const mine = (under = new AbortController());
    results()?.classList.add("waiting");
    try {
      const found = await chyme.fragment(path, mine.signal);
      return mine === under ? found : null;
    } catch (error) {
      if (error.name !== "AbortError") chyme.problem(error);
      return null;
    } finally {
      if (mine === under) {
        under = null;
        results()?.classList.remove("waiting");
      }
    }
  }

  /** Show what an address of this page stands for. */
  async function go(query, history_ = "push") {
    const kept = focusName();
    const open = vault.querySelector("#filters:popover-open");
    if (history_) keep();
    if (history_ === "push") history.pushState(null, "", `${chyme.base}/${query}`);
    else if (history_ === "replace") history.replaceState(null, "", `${chyme.base}/${query}`);
    moved();
    const body = await ask(`/ui/vault${query}`);
    if (!body) return false;
    vault.replaceChildren(body);
    const q = new URLSearchParams(query).get("q") || "";
    document.title = q ? `${q} · chyme` : "chyme";
    if (document.activeElement !== search && search.value.trim() !== q) search.value = q;
    if (open) vault.querySelector("#filters")?.showPopover();
    refocus(kept);
    if (history_ === "push" && scrollY > 0) scrollTo(0, 0);
    dress(vault);
    watch();
    if (vault.querySelector("[data-count-later]")) count();
    return true;
  }

  /** Whoever keeps something about the files that are shown hears when others are asked for; their order is no matter. */
  function moved() {
    const now = asked_();
    if (now !== shownFor) document.dispatchEvent(new CustomEvent("chyme:asked"));
    shownFor = now;
  }

  function asked_() {
    const told = new URLSearchParams(location.search);
    for (const name of ["sort", "dir", "view", "cursor"]) told.delete(name);
    return told.toString();
  }

  let shownFor = asked_();
  let counting = 0;

  /** In a large vault the counts come after the files; and they change with them. */
  function countSoon() {
    const often = vault.querySelector("[data-count-later]") ? 10000 : 1500;
    if (!counting) counting = setTimeout(() => { counting = 0; count(); }, often);
  }

  async function count() {
    const columns_ = vault.querySelector("[data-choices]");
    if (!columns_) return;
    let found;
    try {
      found = await chyme.fragment(columns_.dataset.choices);
    } catch (error) {
      return; // it can be done without
    }
    if (!columns_.isConnected) return;
    const kept = focusName();
    const open = vault.querySelector("#filters:popover-open");
    for (const what of [".kinds", "#filters"]) {
      const old = vault.querySelector(what);
      const fresh = found.querySelector(what);
      if (old && fresh && old.outerHTML !== fresh.outerHTML) old.replaceWith(fresh);
    }
    if (open && !vault.querySelector("#filters:popover-open")) vault.querySelector("#filters").showPopover();
    if (!vault.contains(document.activeElement)) refocus(kept);
  }

  /** What had the focus, by what it is called: it is made anew with the view. */
  function focusName() {
    const focused = document.activeElement;
    if (!vault.contains(focused)) return null;
    return { tag: focused.tagName, name: calledBy(focused), path: focused.closest("[data-path]")?.dataset.path };
  }

  const calledBy = (element) => element.getAttribute("aria-label") || (element.firstElementChild ? element.firstChild.textContent.trim() || element.querySelector(".clip")?.textContent : element.textContent) || element.textContent;

  function refocus(kept) {
    if (!kept) return;
    const within = kept.path ? cardOf(kept.path) : vault;
    const again = within && [...within.querySelectorAll(kept.tag.toLowerCase())].find((one) => calledBy(one) === kept.name);
    const to = again || document.getElementById("main");
    to.focus({ preventScroll: true });
  }

  vault.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const link = event.target.closest("a[data-go]");
    if (link) {
      event.preventDefault();
      go(new URL(link.href).search);
    }
    const view = event.target.closest("[data-set-view]");
    if (view) {
      document.cookie = `chyme-view=${view.dataset.setView}; path=/; max-age=31536000; samesite=lax`;
      const told = new URLSearchParams(location.search);
      told.delete("view");
      told.delete("cursor");
      go(told.size ? `?${told}` : "", "replace");
    }
    const facet = event.target.closest("[data-facet-more]");
    if (facet) {
      facet.closest(".facet").classList.add("facet-all");
      facet.remove();
    }
    const retry = event.target.closest("[data-retry]");
    if (retry) again(retry);
    if (event.target.closest("[data-show-new]")) go(location.search, "");
  });
  vault.addEventListener("change", (event) => {
    if (event.target.matches("[data-sort]")) go(event.target.value === "?" ? "" : event.target.value);
  });
  addEventListener("popstate", async (event) => {
    search.value = new URLSearchParams(location.search).get("q") || "";
    clearTimeout(keeping);
    if (await go(location.search, "")) restore(event.state);
  });

  /* ---- the place one was at: kept with the address, for going back and for a reload ---- */

  const MOST_SHEETS = 40;
  let keeping = 0;
  history.scrollRestoration = "manual"; // the browser would scroll before the sheets are there

  function keep() {
    clearTimeout(keeping);
    const bar = document.querySelector(".top").getBoundingClientRect().bottom;
    const first = scrollY > 0 && [...vault.querySelectorAll("#results [data-path]")].find((one) => one.getBoundingClientRect().bottom > bar);
    const place = first ? { path: first.dataset.path, top: first.getBoundingClientRect().top, y: scrollY, sheets: vault.querySelectorAll(".sheet").length } : null;
    if (place || history.state) history.replaceState(place, "");
  }

  async function restore(place) {
    if (!place) { scrollTo(0, 0); return; }
    const wanted = Math.min(place.sheets, MOST_SHEETS);
    for (let link; vault.querySelectorAll(".sheet").length < wanted && (link = vault.querySelector(".more"));) {
      if (link.dataset.busy) await new Promise((later_) => setTimeout(later_, 50));
      else if (!(await more(link))) break;
    }
    scrollTo(0, place.y);
    for (let times = 0; times < 3; times += 1) { // heights are guessed until somebody looks
      const card = cardOf(place.path);
      if (card) scrollBy(0, card.getBoundingClientRect().top - place.top);
      await new Promise(requestAnimationFrame);
    }
  }

  addEventListener("scroll", () => { clearTimeout(keeping); keeping = setTimeout(keep, 200); }, { passive: true });
  addEventListener("pagehide", keep);

  /* ---- search as you type ---- */

  let soon = 0;
  let later = 0;

  function withWords(words) {
    const told = new URLSearchParams(location.search);
    for (const name of ["cursor", "similar", "q"]) told.delete(name);
    const asked = new URLSearchParams(words ? { q: words } : {});
    for (const [name, value] of told) asked.append(name, value);
    return asked.size ? `?${asked}` : "";
  }

  function typed() {
    const words = search.value.trim();
    clearTimeout(soon);
    clearTimeout(later);
    if (under) under.abort();
    if (!words) {
      if (searching()) soon = setTimeout(() => go(withWords(""), "replace"), TYPING_MS);
      return;
    }
    soon = setTimeout(async () => {
      const query = withWords(words);
      if (searching()) history.replaceState(null, "", `${chyme.base}/${query}`);
      else {
        keep();
        history.pushState(null, "", `${chyme.base}/${query}`);
      }
      moved();
      const hits = await ask(`/ui/hits${query}&typing=true`);
      if (!hits) return;
      const total = hits.querySelector("[data-found]")?.dataset.found;
      results().replaceChildren(hits);
      tell(total);
      dress(results());
      watch();
    }, TYPING_MS);
    later = setTimeout(settle, SETTLED_MS);
  }

  function settle() {
    clearTimeout(soon);
    clearTimeout(later);
    const words = search.value.trim();
    go(withWords(words), searching() || !words ? "replace" : "push");
  }

  search.addEventListener("input", typed);
  search.form.addEventListener("submit", (event) => { event.preventDefault(); settle(); });
  search.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    if (event.key === "ArrowDown") {
      const first = vault.querySelector("#results .tile-link");
      if (first) { event.preventDefault(); first.focus(); }
    } else if (event.key === "Escape") {
      event.preventDefault();
      if (search.value) { search.value = ""; typed(); } else search.blur();
    }
  });

  function tell(total) {
    const shown = vault.querySelector("[data-total]:not(.sheet)");
    if (!shown || total === undefined) return;
    const text = Number(total).toLocaleString("en");
    if (shown.textContent !== text) shown.textContent = text;
    vault.querySelector("[data-total-word]").textContent = total === "1" ? "file" : "files";
    results().dataset.all = total;
  }

  /* ---- endless: sheets come when they are near, and go when they are far ---- */

  const coming = new IntersectionObserver(near, { rootMargin: FILL });
  const leaving = new IntersectionObserver(far, { rootMargin: DROP });
  let watched = [];

  function watch() {
    for (const one of watched) { coming.unobserve(one); leaving.unobserve(one); }
    watched = [...vault.querySelectorAll(".sheet, .more")];
    for (const one of watched) {
      coming.observe(one);
      if (one.matches(".sheet")) leaving.observe(one);
    }
  }

  function near(entries) {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      if (target.matches(".more")) more(target);
      else if (target.hasAttribute("data-empty")) fill(target);
    }
  }

  function far(entries) {
    for (const { isIntersecting, target } of entries) {
      if (isIntersecting || target.hasAttribute("data-empty") || !target.isConnected || target.contains(document.activeElement)) continue;
      const height = target.getBoundingClientRect().height;
      if (!height) continue;
      target.setAttribute("data-empty", "");
      if (target.tagName === "TBODY") {
        const gap = document.createElement("tr");
        gap.className = "gap";
        gap.append(document.createElement("td"));
        gap.firstChild.style.height = `${height}px`;
        target.replaceChildren(gap);
      } else {
        target.style.height = `${height}px`;
        target.replaceChildren();
      }
    }
  }

  async function more(link) {
    if (link.dataset.busy) return false;
    link.dataset.busy = "1";
    coming.unobserve(link);
    try {
      const found = await chyme.fragment(link.dataset.src);
      if (!link.isConnected) return false;
      const sheet = found.querySelector(".sheet");
      const next = found.querySelector(".more");
      if (sheet) {
        [...vault.querySelectorAll(".sheet")].pop().after(sheet);
        dress(sheet);
      }
      if (next) link.replaceWith(next);
      else link.remove();
      watch();
      return true;
    } catch (error) {
      delete link.dataset.busy; // a click on it tries again
      chyme.problem(error);
      return false;
    }
  }

  vault.addEventListener("click", (event) => {
    const link = event.target.closest(".more");
    if (link) { event.preventDefault(); more(link); }
  });

  async function fill(sheet) {
    sheet.removeAttribute("data-empty");
    try {
      const found = (await chyme.fragment(sheet.dataset.src)).querySelector(".sheet");
      if (!sheet.isConnected || !found) return;
      sheet.replaceChildren(...found.children);
      sheet.style.height = "";
      dress(sheet);
    } catch (error) {
      sheet.setAttribute("data-empty", "");
    }
  }

  /* ---- cards that live ---- */

  const made = new WeakMap(); // a card → the HTML it came as
  const steps = JSON.parse(vault.dataset.steps); // what each digester is called
  const doing = new Map(); // path → {digester, fraction}
  const changed = new Set();
  let flushing = 0;
  let stale = false; // there may be files that the list does not show
  let renewing = 0;

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
    const before = shownFor;
    const src = `/ui/hits${location.search}&offset=0`;
    for (const sheet of concerned.length || !unknown ? concerned : [null]) {
      let found;
      try {
        found = await chyme.fragment(sheet ? sheet.dataset.src : src);
      } catch (error) {
        return; // the next event tries again
      }
      if (before !== shownFor || under) return; // something else was asked for meanwhile
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
    for (const later_ of [...vault.querySelectorAll(".sheet")].slice(1)) later_.remove();
    vault.querySelector(".more")?.remove();
    const next = found.querySelector(".more");
    if (next) results().append(next);
    tell(sheet.dataset.total);
    countSoon();
    watch();
  }

  addEventListener("scroll", () => { if (stale && !renewing) renewing = setTimeout(renew, 500); }, { passive: true });

  for (const kind of ["file", "digest", "document"]) {
    document.addEventListener(`chyme:${kind}`, (event) => note(event.detail.path));
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
  document.addEventListener("chyme:reset", () => go(location.search, ""));

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

  /* ---- keys ---- */

  const links = () => [...vault.querySelectorAll("#results .tile-link")];

  function step(by) {
    const all = links();
    const now = all.indexOf(document.activeElement?.closest?.("[data-path]")?.querySelector(".tile-link"));
    const next = all[now < 0 ? 0 : Math.min(all.length - 1, Math.max(0, now + by))];
    if (!next) return false;
    next.focus();
    next.scrollIntoView({ block: "nearest" });
    return true;
  }

  function columns() {
    const tiles = vault.querySelectorAll(".tiles > .tile");
    if (!tiles.length) return 1;
    let count = 0;
    while (count < tiles.length && tiles[count].offsetTop === tiles[0].offsetTop) count += 1;
    return Math.max(1, count);
  }

  const inResults = () => Boolean(results()?.contains(document.activeElement));
  chyme.keys("ArrowDown", "Next row, from a file", () => inResults() && step(columns()));
  chyme.keys("ArrowUp", "Row before", () => inResults() && step(-columns()));
  chyme.keys("ArrowRight", "Next file", () => inResults() && vault.querySelector(".tiles") !== null && step(1));
  chyme.keys("ArrowLeft", "File before", () => inResults() && vault.querySelector(".tiles") !== null && step(-1));
  chyme.keys("j", "Next file", () => step(1));
  chyme.keys("k", "File before", () => step(-1));
  chyme.keys("Escape", "Leave", () => {
    if (!inResults()) return false;
    search.focus();
    return true;
  });

  chyme.vault = { go, note, cardOf, searching, renewSoon };
  dress(vault);
  watch();
  if (vault.querySelector("[data-count-later]")) count();
  if (history.state?.path) restore(history.state);
  if (search.value && document.activeElement !== search && new URLSearchParams(location.search).get("q") !== search.value.trim()) settle();
})();
