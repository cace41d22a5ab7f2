/* Search as you type: hits while the words come, the whole view once they rest. */
(function () {
  "use strict";

  const { dress, watch, keep, results, searching, ask, halt, go, moved, tell, focusName, refocus } = chyme.list;
  const search = document.getElementById("search");
  const TYPING_MS = 120;
  const SETTLED_MS = 350;
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
    halt();
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
      const kept = focusName();
      results().replaceChildren(hits);
      refocus(kept);
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

  addEventListener("popstate", () => { clearTimeout(soon); clearTimeout(later); }); // who goes back has typed enough
  search.addEventListener("input", typed);
  search.form.addEventListener("submit", (event) => { event.preventDefault(); settle(); });
  search.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    if (event.key === "ArrowDown") {
      const first = document.querySelector("#results .tile-link");
      if (first) { event.preventDefault(); first.focus(); }
    } else if (event.key === "Escape") {
      event.preventDefault();
      if (search.value) { search.value = ""; typed(); } else search.blur();
    }
  });

  if (search.value && document.activeElement !== search && new URLSearchParams(location.search).get("q") !== search.value.trim()) settle();
})();
