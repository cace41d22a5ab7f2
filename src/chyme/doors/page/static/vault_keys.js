/* The keys that walk through the vault's list. */
(function () {
  "use strict";

  const { results } = chyme.list;
  const vault = document.getElementById("vault");
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
    document.getElementById("search").focus();
    return true;
  });
})();
