/* The frame around every page: its keys and the list of them, light and dark, the menu, the choice of a vault. */
(function () {
  "use strict";

  /* ---- keys ---- */

  const known = new Map(); // "x" or "g v" → {text, fn}
  let first = "";
  let firstTimer = 0;

  function keys(key, text, fn) {
    known.set(key, { text, fn });
  }

  function typing(target) {
    return target instanceof HTMLElement &&
      (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) &&
      !(target instanceof HTMLInputElement && /^(checkbox|radio|button|range)$/.test(target.type));
  }

  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (typing(event.target) || document.querySelector("dialog[open]")) return;
    const wanted = known.get(first ? `${first} ${event.key}` : event.key);
    clearTimeout(firstTimer);
    if (wanted) {
      first = "";
      if (wanted.fn(event) !== false) event.preventDefault();
    } else if (!first && [...known.keys()].some((key) => key.startsWith(`${event.key} `))) {
      first = event.key;
      firstTimer = setTimeout(() => { first = ""; }, 1200);
    } else first = "";
  });

  function help() {
    document.getElementById("more")?.close();
    const list = document.querySelector("[data-keys]");
    if (!list) return;
    list.replaceChildren();
    for (const [key, { text }] of known) {
      const term = document.createElement("dt");
      for (const part of key.split(" ")) {
        const cap = document.createElement("kbd");
        cap.textContent = { ArrowDown: "↓", ArrowUp: "↑", ArrowLeft: "←", ArrowRight: "→", Escape: "Esc" }[part] || part;
        term.append(cap, " ");
      }
      const what = document.createElement("dd");
      what.textContent = text;
      if (text) list.append(term, what);
    }
    chyme.open(document.getElementById("help"));
  }

  /* ---- light and dark ---- */

  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);

  function showTheme() {
    for (const button of document.querySelectorAll("[data-theme-toggle]")) {
      button.querySelector("use").setAttribute("href", `/static/icons.svg#${isDark() ? "sun" : "moon"}`);
      const label = button.querySelector("[data-theme-label]");
      if (label) label.textContent = isDark() ? "Light" : "Dark";
    }
  }

  function toggleTheme() {
    const next = isDark() ? "light" : "dark";
    root.dataset.theme = next;
    try {
      localStorage.setItem("chyme-theme", next);
    } catch (error) {
      /* it holds for this page, then */
    }
    showTheme();
  }

  dark.addEventListener("change", showTheme);
  showTheme();

  /* ---- the frame's own keys ---- */

  const search = document.getElementById("search");
  keys("/", "Search", () => { if (!search) return false; search.focus(); search.select(); });
  if (chyme.mayWrite) keys("n", "Add files, a link or a note", () => document.dispatchEvent(new CustomEvent("chyme:add")));
  for (const [letter, path, name] of [["v", "/", "vault"], ["p", "/people", "people"], ["t", "/tags", "tags"], ["a", "/activity", "activity"], ["s", "/settings", "settings"]]) {
    keys(`g ${letter}`, `Go to ${name}`, () => location.assign(chyme.base + path));
  }
  keys("?", "Show these keys", help);

  const vaults = document.getElementById("vault-switch");
  if (vaults) vaults.addEventListener("change", () => location.assign(vaults.value));
  document.addEventListener("click", (event) => {
    const on = event.target instanceof Element ? event.target : null;
    if (!on) return;
    if (on.closest("[data-help]")) help();
    else if (on.closest("[data-more]")) chyme.open(document.getElementById("more"));
    else if (on.closest("[data-theme-toggle]")) toggleTheme();
  });

  chyme.keys = keys;
})();
