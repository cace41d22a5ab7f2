/* Uploading files, a few at a time, with a line for each that shows how far it is. */

import { byId, create, dispatch } from "./dom.js";
import { printable } from "./format.js";
import { base } from "./page_context.js";
import { parseJson, problemOf } from "./server.js";
import { showToast } from "./toasts.js";

const AT_ONCE = 3;
const MOST_LINES = 200; // older lines of finished uploads are removed; waiting and refused ones stay
const dialog = byId("add");
const list = dialog.querySelector("[data-uploads]");
const queue = [];
let running = 0;
let counts = { added: 0, created: 0, failed: 0 }; // since the queue was empty

/** The folder that is shown, into which things are added. */
export const currentFolder = () => new URLSearchParams(location.search).get("folder") || "";

export function uploadFiles(files, folder = currentFolder()) {
  const all = [...files];
  if (!all.length) return;
  for (const file of all) queue.push({ file, folder, line: addLine(file.name) });
  if (!dialog.open) moveListToPage();
  startNext();
}

function addLine(name) {
  const label = create("span", { className: "clip", textContent: printable(name) });
  const status = create("span", { className: "muted small", textContent: "Waiting" });
  const bar = create("progress", { className: "progress", max: 1, value: 0 });
  bar.setAttribute("aria-label", `How much of ${name} has arrived`);
  const row = create("li", { className: "upload" }, label, status, bar);
  list.append(row);
  for (const old of [...list.querySelectorAll("[data-done]")].slice(0, Math.max(0, list.children.length - MOST_LINES))) old.remove();
  return { row, status, bar };
}

function startNext() {
  while (running < AT_ONCE && queue.length) {
    running += 1;
    upload(queue.shift()).finally(() => { running -= 1; startNext(); });
  }
  if (!running && !queue.length) finish();
}

function upload({ file, folder, line }) {
  if (file.size > Number(dialog.dataset.most)) { // browsers do not read a refusal that comes while they are sending
    showFailure(line, `It is larger than ${dialog.dataset.mostLabel}, the upload limit (upload_bytes).`);
    return Promise.resolve();
  }
  return new Promise((resolve) => {
    const body = new FormData();
    body.append("file", file, file.name);
    const request = new XMLHttpRequest(); // fetch does not say how much has been sent
    request.open("POST", `${base}/api/upload?folder=${encodeURIComponent(folder)}`);
    request.setRequestHeader("Accept", "application/json");
    request.upload.addEventListener("progress", (event) => {
      if (!event.lengthComputable) return;
      line.bar.value = event.loaded / event.total;
      line.status.textContent = event.loaded < event.total ? `${Math.floor((event.loaded / event.total) * 100)}%` : "Storing";
    });
    request.addEventListener("loadend", () => {
      showResult(line, request);
      resolve();
    });
    request.send(body);
  });
}

function showResult(line, { status, responseText }) {
  const response = parseJson(responseText);
  const isOk = status >= 200 && status < 300;
  const problem = isOk ? response.files.map((file) => file.problem).find(Boolean) : status ? problemOf(status, response) : "The connection broke.";
  if (problem) {
    showFailure(line, problem);
    return;
  }
  line.row.dataset.done = "1";
  line.status.className = "small upload-done";
  line.status.textContent = response.files.every((file) => file.created) ? "Added" : "There already";
  line.bar.remove();
  counts.added += 1;
  if (response.files.some((file) => file.created)) counts.created += 1;
  for (const file of response.files) dispatch("chyme:added", { path: file.path });
}

function showFailure({ row, status, bar }, reason) {
  status.className = "badge badge-red";
  status.textContent = "Not added";
  bar.remove();
  row.append(create("span", { className: "upload-why", textContent: reason }));
  row.dataset.failed = "1";
  counts.failed += 1;
}

function finish() {
  const { failed, added, created } = counts;
  counts = { added: 0, created: 0, failed: 0 };
  if (added && !failed) showToast(!created ? "That was in the vault already." : created === 1 ? "1 file added." : `${created} files added.`);
  for (const row of list.querySelectorAll("[data-done]")) setTimeout(() => row.remove(), failed ? 0 : 1500);
  if (added && !failed && dialog.open) dialog.close();
  if (failed && !dialog.open) setTimeout(() => list.querySelectorAll("[data-failed]").forEach((row) => row.remove()), 20000);
}

/* ---- the list is in the dialog while that is open, and at the edge of the page otherwise ---- */

function moveListToPage() {
  list.classList.add("uploads-float");
  document.body.append(list);
}

function moveListToDialog() {
  list.classList.remove("uploads-float");
  dialog.querySelector(".dialog-body").append(list);
}

dialog.addEventListener("close", () => { if (list.children.length) moveListToPage(); });
dialog.addEventListener("toggle", () => { if (dialog.open) moveListToDialog(); });
