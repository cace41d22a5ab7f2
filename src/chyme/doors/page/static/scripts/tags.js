/* The tags page: renaming, merging and banning tags, with an undo in every toast. */

import "./actions.js";
import { openDialog } from "./dialogs.js";
import { byId, create } from "./dom.js";
import { formatCount } from "./format.js";
import { registerKey } from "./keyboard.js";
import { mayWrite } from "./page_context.js";
import { refreshPart } from "./refresh_part.js";
import { callApi } from "./server.js";
import { chosen, focusNext, list, prepareList, refreshList, search } from "./tags_list.js";
import { showProblem, showToast } from "./toasts.js";

const refreshSimilar = () => refreshPart(byId("tags-similar"), "/ui/tags/similar");

function refresh() {
  refreshList();
  refreshPart(byId("tags-decided"), "/ui/tags/decided");
  refreshSimilar();
}

/** Ask for a decision about tags, and return whether it was made. */
async function decide(what, body) {
  try {
    const { done, files } = await callApi("POST", `/api/tags/${what}`, body);
    showToast(`${done} (${formatCount(files, "file")})`, { label: "Undo", action: () => decide("undo") });
    refresh();
    return true;
  } catch (error) {
    showProblem(error);
    return false;
  }
}

/** The same, and focus this tag afterwards. */
async function decideAndFocus(tag, what, body) {
  focusNext(tag);
  const isDecided = await decide(what, body);
  if (!isDecided) focusNext(null);
  return isDecided;
}

/* ---- choosing ---- */

function showChosen() {
  const bar = byId("tags-chosen");
  if (!bar) return;
  bar.hidden = chosen.size === 0;
  byId("tags-count").textContent = `${formatCount(chosen.size, "tag")} chosen`;
  byId("merge").disabled = chosen.size < 2;
}

function clearChosen() {
  chosen.clear();
  prepareList();
  showChosen();
}

list.addEventListener("change", (event) => {
  const row = event.target.closest(".tag-row");
  if (!row) return;
  if (event.target.checked) chosen.set(row.dataset.tag, Number(row.dataset.files));
  else chosen.delete(row.dataset.tag);
  showChosen();
});

/* ---- renaming ---- */

let renamedTag = "";

function openRenameDialog(tag) {
  renamedTag = tag;
  byId("rename-title").textContent = `Rename “${tag}”`;
  byId("rename-new").value = tag;
  openDialog(byId("rename-dialog"));
  byId("rename-new").select();
}

async function rename() {
  const name = byId("rename-new").value.trim();
  byId("rename-dialog").close();
  if (!name || name.toLowerCase() === renamedTag) return;
  const found = await callApi("GET", `/api/tags?prefix=${encodeURIComponent(name)}&limit=100`).catch(() => null);
  const existing = found && found.tags.find((tag) => tag.name === name.toLowerCase());
  if (existing) openMergeDialog(new Map([[existing.name, existing.files], [renamedTag, 0]]));
  else decideAndFocus(name.toLowerCase(), "rename", { old: renamedTag, new: name });
}

/* ---- merging ---- */

let mergedTags = [];

/** Ask which of the tags stays; the one with most files is proposed. */
function openMergeDialog(tags) {
  mergedTags = [...tags.keys()];
  const [proposed] = [...tags.entries()].sort(([, files], [, otherFiles]) => otherFiles - files)[0];
  const group = byId("merge-into");
  group.querySelectorAll("label").forEach((label) => label.remove());
  for (const tag of mergedTags) {
    const radio = create("input", { type: "radio", name: "into", value: tag, checked: tag === proposed });
    group.append(create("label", { className: "check" }, radio, create("span", { textContent: tag })));
  }
  openDialog(byId("merge-dialog"));
  group.querySelector(":checked").focus();
}

async function merge() {
  const into = byId("merge-into").querySelector(":checked").value;
  byId("merge-dialog").close();
  if (await decideAndFocus(into, "merge", { into, others: mergedTags.filter((tag) => tag !== into) })) clearChosen();
}

/* ---- buttons ---- */

document.addEventListener("click", (event) => {
  const row = event.target.closest(".tag-row");
  if (event.target.closest("[data-rename]")) openRenameDialog(row.dataset.tag);
  else if (event.target.closest("[data-ban]")) decide("ban", { tag: row.dataset.tag });
  else if (event.target.closest("[data-merge-pair]")) {
    const pair = event.target.closest(".pair").dataset;
    openMergeDialog(new Map([[pair.one, 1], [pair.other, 0]]));
  }
});

if (mayWrite) {
  byId("merge").addEventListener("click", () => openMergeDialog(chosen));
  byId("clear").addEventListener("click", clearChosen);
  byId("rename-form").addEventListener("submit", (event) => { event.preventDefault(); rename(); });
  byId("merge-form").addEventListener("submit", (event) => { event.preventDefault(); merge(); });
}
document.addEventListener("chyme:acted", refresh);
registerKey("f", "Find a tag", () => { search.focus(); search.select(); });
refreshSimilar();
