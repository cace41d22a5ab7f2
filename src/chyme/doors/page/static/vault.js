/* The vault's list: moving between its views without a reload, its counts, and the focus that outlives both. */
(function () {
  "use strict";

  const { cardOf, calledBy, dress, watch, keep, restore } = chyme.list;
  const vault = document.getElementById("vault");
  const search = document.getElementById("search");
  const results = () => document.getElementById("results");
  const searching = () => new URLSearchParams(location.search).has("q") || new URLSearchParams(location.search).has("similar");

  /* ---- moving between views ---- */

  let under = null; // the request that may still change what is shown: older ones never do
  let shownFor = asked();

  const halt = () => under?.abort();

  async function ask(path) {
    halt();
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
    if (history_) keep();
    if (history_ === "push") history.pushState(null, "", `${chyme.base}/${query}`);
    else if (history_ === "replace") history.replaceState(null, "", `${chyme.base}/${query}`);
    moved();
    const body = await ask(`/ui/vault${query}`);
    if (!body) return false;
    const kept = focusName(); // now: it may have moved while the answer was awaited
    const open = vault.querySelector("#filters:popover-open");
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
    const now = asked();
    if (now !== shownFor) document.dispatchEvent(new CustomEvent("chyme:asked"));
    shownFor = now;
  }

  function asked() {
    const told = new URLSearchParams(location.search);
    for (const name of ["sort", "dir", "view", "cursor"]) told.delete(name);
    return told.toString();
  }

  /** What it returns tells later whether something else was asked for since now, or is under way. */
  function meanwhile() {
    const before = shownFor;
    return () => before !== shownFor || under !== null;
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
  });
  vault.addEventListener("change", (event) => {
    if (event.target.matches("[data-sort]")) go(event.target.value === "?" ? "" : event.target.value);
  });
  addEventListener("popstate", async (event) => {
    search.value = new URLSearchParams(location.search).get("q") || "";
    if (await go(location.search, "")) restore(event.state);
  });

  /* ---- counts ---- */

  let counting = 0;

  /** In a large vault the counts come after the files; and they change with them. */
  function countSoon() {
    const often = vault.querySelector("[data-count-later]") ? 10000 : 1500;
    if (!counting) counting = setTimeout(() => { counting = 0; count(); }, often);
  }

  async function count() {
    const columns = vault.querySelector("[data-choices]");
    if (!columns) return;
    let found;
    try {
      found = await chyme.fragment(columns.dataset.choices);
    } catch (error) {
      return; // it can be done without
    }
    if (!columns.isConnected) return;
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

  function tell(total) {
    const shown = vault.querySelector("[data-total]:not(.sheet)");
    if (!shown || total === undefined) return;
    const text = Number(total).toLocaleString("en");
    if (shown.textContent !== text) shown.textContent = text;
    vault.querySelector("[data-total-word]").textContent = total === "1" ? "file" : "files";
    results().dataset.all = total;
  }

  /* ---- the focus ---- */

  /** What had the focus, by what it is called: it is made anew with the view. */
  function focusName() {
    const focused = document.activeElement;
    if (!vault.contains(focused)) return null;
    return { tag: focused.tagName, name: calledBy(focused), path: focused.closest("[data-path]")?.dataset.path };
  }

  function refocus(kept) {
    if (!kept) return;
    const within = kept.path ? cardOf(kept.path) : vault;
    const again = within && [...within.querySelectorAll(kept.tag.toLowerCase())].find((one) => calledBy(one) === kept.name);
    const to = again || document.getElementById("main");
    to.focus({ preventScroll: true });
  }

  Object.assign(chyme.list, { results, searching, ask, halt, go, moved, meanwhile, tell, countSoon, focusName, refocus });
  if (vault.querySelector("[data-count-later]")) count();
  if (history.state?.path) restore(history.state);
})();
