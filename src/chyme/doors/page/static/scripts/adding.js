/* Adding files, links and notes: in the dialog, by dropping them anywhere, or by pasting. */

import { openDialog } from "./dialogs.js";
import { byId, dispatch } from "./dom.js";
import { callApi } from "./server.js";
import { showProblem, showToast } from "./toasts.js";
import { currentFolder, uploadFiles } from "./uploads.js";

const dialog = byId("add");
const overlay = byId("drop");
const fileInput = byId("add-input");
const problem = byId("add-problem");
const tabs = [...dialog.querySelectorAll("[role=tab]")];
const kindOf = (tab) => tab.id.replace("add-tab-", "");

function showTab(kind) {
  for (const tab of tabs) {
    const isShown = kindOf(tab) === kind;
    tab.setAttribute("aria-selected", String(isShown));
    tab.tabIndex = isShown ? 0 : -1;
    byId(tab.getAttribute("aria-controls")).hidden = !isShown;
  }
  problem.hidden = true;
}

function showFolder() {
  for (const element of document.querySelectorAll("[data-add-folder]")) element.textContent = currentFolder() || "the vault’s top folder";
}

function open(kind = "files") {
  showFolder();
  showTab(kind);
  openDialog(dialog);
  ({ files: fileInput, link: byId("add-url"), note: byId("add-text"), import: byId("import-source") })[kind].focus();
}

document.addEventListener("chyme:add", () => open());
document.addEventListener("click", (event) => { if (event.target.closest?.("[data-add]")) open(); });
byId("add-tab-import").addEventListener("click", () => dispatch("chyme:importing"));
for (const tab of tabs) {
  tab.addEventListener("click", () => open(kindOf(tab)));
  tab.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const next = tabs[(tabs.indexOf(tab) + by + tabs.length) % tabs.length];
    showTab(kindOf(next));
    next.focus();
  });
}
fileInput.addEventListener("change", () => { uploadFiles(fileInput.files); fileInput.value = ""; });

/* ---- dropping ---- */

let depth = 0; // dragenter and dragleave come for every element below the pointer
const hasFilesOrLink = (event) => event.dataTransfer && [...event.dataTransfer.types].some((type) => type === "Files" || type === "text/uri-list");

addEventListener("dragenter", (event) => {
  if (!hasFilesOrLink(event)) return;
  event.preventDefault();
  depth += 1;
  showFolder();
  overlay.hidden = false;
});
addEventListener("dragover", (event) => { if (hasFilesOrLink(event)) { event.preventDefault(); event.dataTransfer.dropEffect = "copy"; } });
addEventListener("dragleave", () => { depth = Math.max(0, depth - 1); if (!depth) overlay.hidden = true; });
addEventListener("drop", async (event) => {
  depth = 0;
  overlay.hidden = true;
  if (!hasFilesOrLink(event)) return;
  event.preventDefault();
  const url = event.dataTransfer.getData("text/uri-list").split("\n").find((line) => /^https?:/.test(line));
  const folders = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.()).filter((entry) => entry?.isDirectory);
  const files = [...event.dataTransfer.files];
  if (folders.length) {
    for (const entry of folders) await uploadEntry(entry, currentFolder()).catch(showProblem);
    const folderNames = new Set(folders.map((entry) => entry.name));
    uploadFiles(files.filter((file) => !folderNames.has(file.name)));
  } else if (files.length) uploadFiles(files);
  else if (url) addLink(url.trim()).catch(showProblem);
});

/** Upload a dropped file, or all files of a dropped folder into a folder of the same name. */
async function uploadEntry(entry, folder) {
  if (entry.isFile) {
    uploadFiles([await new Promise((resolve, reject) => entry.file(resolve, reject))], folder);
    return;
  }
  const reader = entry.createReader();
  const subfolder = folder ? `${folder}/${entry.name}` : entry.name;
  for (;;) {
    const entries = await new Promise((resolve, reject) => reader.readEntries(resolve, reject)); // some at a time
    if (!entries.length) return;
    for (const child of entries) await uploadEntry(child, subfolder);
  }
}

/* ---- pasting ---- */

addEventListener("paste", (event) => {
  const target = event.target;
  if (target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA)$/.test(target.tagName))) return;
  const data = event.clipboardData;
  if (!data) return;
  if (data.files.length) {
    event.preventDefault();
    uploadFiles([...data.files].map(nameByTime));
    return;
  }
  const text = data.getData("text/plain").trim();
  if (!text) return;
  event.preventDefault();
  if (/^https?:\/\/\S+$/.test(text)) {
    open("link");
    byId("add-url").value = text;
  } else {
    open("note");
    byId("add-text").value = text;
  }
});

/** Rename a picture from the clipboard, which browsers always call image.png. */
function nameByTime(file) {
  if (!/^image\.\w+$/.test(file.name)) return file;
  const now = new Date();
  const time = new Date(now - now.getTimezoneOffset() * 60000).toISOString().slice(0, 19).replace("T", " ").replaceAll(":", ".");
  return new File([file], `Pasted ${time}.${file.name.split(".").pop()}`, { type: file.type });
}

/* ---- links and notes ---- */

async function addLink(url) {
  const { created, path } = await callApi("POST", "/api/links", { url, folder: currentFolder() });
  showToast(created ? "Link added." : "This link is in the vault already.");
  dispatch("chyme:added", { path });
}

async function addNote(title, text) {
  const { path } = await callApi("POST", "/api/notes", { text, ...(title ? { title } : {}), folder: currentFolder() });
  showToast("Note added.");
  dispatch("chyme:added", { path });
}

async function submit(event, add) {
  event.preventDefault();
  problem.hidden = true;
  const button = event.target.querySelector("[type=submit]");
  button.disabled = true;
  try {
    await add();
    event.target.reset();
    dialog.close();
  } catch (error) {
    problem.textContent = error.message;
    problem.hidden = false;
  } finally {
    button.disabled = false;
  }
}

byId("add-link").addEventListener("submit", (event) => submit(event, () => {
  const url = byId("add-url").value.trim();
  return addLink(/^[a-z][a-z0-9+.-]*:/i.test(url) ? url : `https://${url}`);
}));
byId("add-note").addEventListener("submit", (event) => submit(event, () => addNote(byId("add-title-input").value.trim(), byId("add-text").value)));
