/* Selecting files in the vault's list, and what can be done with them: digest again, download, delete. */

import { askAbout } from "./ask_about.js";
import { openDialog } from "./dialogs.js";
import { byId } from "./dom.js";
import { encodePath, formatCount, formatNumber } from "./format.js";
import { registerKey } from "./keyboard.js";
import { base } from "./page_context.js";
import { callApi } from "./server.js";
import { openSharing } from "./sharing.js";
import { showProblem, showToast } from "./toasts.js";
import { cardOf, vault } from "./vault_cards.js";
import { refreshListSoon } from "./vault_changes.js";
import { isSearching, results, showView } from "./vault_view.js";

const bar = byId("actions");
const runDialog = byId("run");
const digesterSelect = byId("run-digester");
const plan = runDialog.querySelector("[data-plan]");
const startButton = runDialog.querySelector("[data-start]");
const selected = new Set(); // paths, since cards come and go
let isAllSelected = false; // all that the question finds, visible or not
let lastPath = null; // where a range begins
let planRequest = null; // the newest one: older ones show nothing any more

const checkboxes = () => [...vault.querySelectorAll("[data-select]")];
const pathOf = (box) => box.closest("[data-path]").dataset.path;
const totalFound = () => Number(results().dataset.all);

function show() {
  const count = isAllSelected ? totalFound() : selected.size;
  bar.hidden = !count;
  document.body.classList.toggle("selecting", Boolean(count));
  bar.querySelector("[data-count]").textContent = formatNumber(count);
  bar.querySelector("[data-select-all]").hidden = isAllSelected || totalFound() <= selected.size;
  bar.querySelector("[data-all]").textContent = formatNumber(totalFound());
  const download = bar.querySelector("[data-download]");
  download.hidden = isAllSelected || selected.size !== 1;
  if (!download.hidden) download.href = `${base}/api/raw/${encodePath([...selected][0])}?download=true`;
  bar.querySelector("[data-delete]").setAttribute("aria-disabled", String(isAllSelected));
  for (const box of checkboxes()) box.checked = isAllSelected || selected.has(pathOf(box));
}

function clear() {
  selected.clear();
  isAllSelected = false;
  lastPath = null;
  show();
}

/** Select or unselect a file; with `isRange` all from the last one on. */
function select(box, isSelected, isRange) {
  if (isAllSelected) clear();
  const boxes = checkboxes();
  const from = isRange && lastPath ? boxes.findIndex((candidate) => pathOf(candidate) === lastPath) : -1;
  const to = boxes.indexOf(box);
  const range = from < 0 ? [box] : boxes.slice(Math.min(from, to), Math.max(from, to) + 1);
  for (const each of range) {
    if (isSelected) selected.add(pathOf(each));
    else selected.delete(pathOf(each));
  }
  lastPath = pathOf(box);
  show();
}

function toggleFocused(event) {
  const box = document.activeElement?.closest?.("[data-path]")?.querySelector("[data-select]");
  if (!box) return false;
  select(box, event.shiftKey || !selected.has(pathOf(box)), event.shiftKey);
  return true;
}

vault.addEventListener("click", (event) => {
  if (event.target.matches("[data-select]")) select(event.target, event.target.checked, event.shiftKey);
});
document.addEventListener("chyme:cards", () => { if (selected.size || isAllSelected) show(); });
registerKey("x", "Select the file; with Shift, all from the last one", toggleFocused);
registerKey("X", "", toggleFocused);
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || bar.hidden || document.querySelector("dialog[open]") || event.target.matches?.("input[type=search]")) return;
  event.preventDefault();
  clear();
}, true);
bar.querySelector("[data-clear]").addEventListener("click", clear);
bar.querySelector("[data-select-all]").addEventListener("click", () => { isAllSelected = true; show(); });
document.addEventListener("chyme:question", clear); // so that only visible files are deleted

/* ---- asking ---- */

bar.querySelector("[data-ask]").addEventListener("click", () => {
  const { question } = results().dataset;
  if (isAllSelected) location.assign(`${base}/ask${question ? `?q=${encodeURIComponent(question)}` : ""}`);
  else askAbout([...selected]);
});

/* ---- deleting ---- */

bar.querySelector("[data-delete]").addEventListener("click", async () => {
  if (isAllSelected) {
    showToast("You cannot delete everything that a search finds at once; select the files themselves.");
    return;
  }
  const paths = [...selected];
  clear();
  const trashed = [];
  try {
    for (const path of paths) {
      trashed.push((await callApi("DELETE", `/api/files/${encodePath(path)}`)).trashed);
      cardOf(path)?.remove();
    }
  } catch (error) {
    showProblem(error);
  }
  if (!trashed.length) return;
  refreshListSoon();
  const message = trashed.length === 1 ? "1 file is in the trash." : `${trashed.length} files are in the trash.`;
  showToast(message, { label: "Undo", action: () => restore(trashed), specificUndo: true });
});

async function restore(trashed) {
  try {
    for (const entry of trashed) await callApi("POST", `/api/trash/${encodeURIComponent(entry.id)}/restore`);
    showToast(trashed.length === 1 ? "The file is back." : "The files are back.");
  } catch (error) {
    showProblem(error);
  }
  if (isSearching()) showView(location.search, "");
  else refreshListSoon();
}

/* ---- sharing ---- */

bar.querySelector("[data-share]").addEventListener("click", () => {
  const { question } = results().dataset;
  if (isAllSelected && !question) showToast("A whole vault cannot be shared by a link; search or filter first.");
  else if (isAllSelected) openSharing({ query: question }, totalFound());
  else openSharing({ paths: [...selected] }, selected.size);
});

/* ---- digesting again ---- */

function requestBody() {
  const body = { mode: runDialog.querySelector("[name=run-reset]:checked").value };
  const { question } = results().dataset;
  if (digesterSelect.value) body.digesters = [digesterSelect.value];
  if (!isAllSelected) body.paths = [...selected];
  else if (question) body.query = question;
  else body.all = true;
  return body;
}

/** Show what would be done. */
async function showPlan() {
  const mine = (planRequest = {});
  startButton.disabled = true;
  plan.textContent = "Counting what this takes…";
  try {
    const { digests, files, asks_models: calls } = await callApi("POST", "/api/digest", { ...requestBody(), dry_run: true });
    if (mine !== planRequest) return;
    const models = calls ? ` A model is asked for ${formatNumber(calls)} of them.` : "";
    plan.textContent = digests ? `${formatCount(digests, "digest")} of ${formatCount(files, "file")} will be made again.${models}` : "There is nothing to do for this selection.";
    startButton.disabled = !digests;
  } catch (error) {
    if (mine === planRequest) plan.textContent = error.message;
  }
}

bar.querySelector("[data-run]").addEventListener("click", async () => {
  openDialog(runDialog);
  showPlan();
  if (digesterSelect.options.length > 1) return;
  try {
    const { digesters } = await callApi("GET", "/api/digesters");
    for (const digester of digesters) digesterSelect.add(new Option(digester.label, digester.name));
  } catch (error) {
    showProblem(error);
  }
});
runDialog.addEventListener("change", showPlan);
runDialog.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
startButton.addEventListener("click", async () => {
  startButton.disabled = true;
  try {
    await callApi("POST", "/api/digest", requestBody());
    runDialog.close();
    clear();
    showToast("Started.", { label: "Show", action: () => location.assign(`${base}/activity`) });
  } catch (error) {
    plan.textContent = error.message;
    startButton.disabled = false;
  }
});

show();
