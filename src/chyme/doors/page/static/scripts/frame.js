/* The frame around every page: its keys, light and dark, the menu, the choice of a vault, and events from the server. */

import { openDialog } from "./dialogs.js";
import { byId, dispatch } from "./dom.js";
import { registerKey, showHelp } from "./keyboard.js";
import { base, mayWrite } from "./page_context.js";
import { listenToServer } from "./server_events.js";
import { toggleTheme } from "./theme_toggle.js";

const PAGES = [["v", "/", "vault"], ["q", "/ask", "ask"], ["p", "/people", "people"], ["t", "/tags", "tags"], ["a", "/activity", "activity"], ["s", "/settings", "settings"]];
const search = byId("search");
const vaults = byId("vault-switch");

registerKey("/", "Search", () => { if (!search) return false; search.focus(); search.select(); });
if (mayWrite) registerKey("n", "Add files, a link or a note", () => dispatch("chyme:add"));
for (const [letter, path, name] of PAGES) registerKey(`g ${letter}`, `Go to ${name}`, () => location.assign(base + path));
registerKey("?", "Show these keys", showHelp);

if (vaults) vaults.addEventListener("change", () => location.assign(vaults.value));
document.addEventListener("click", (event) => {
  const target = event.target instanceof Element ? event.target : null;
  if (!target) return;
  if (target.closest("[data-help]")) showHelp();
  else if (target.closest("[data-more]")) openDialog(byId("more"));
  else if (target.closest("[data-theme-toggle]")) toggleTheme();
});

// Later than this script: the page's others, which may still be loading, would miss events.
if (byId("status")) document.addEventListener("DOMContentLoaded", listenToServer);
