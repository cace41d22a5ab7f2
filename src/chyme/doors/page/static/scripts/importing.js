/* Bringing an export of another program: uploaded, counted, and imported when that is wanted. */

import { byId, create, dispatch } from "./dom.js";
import { formatNumber, printable } from "./format.js";
import { base } from "./page_context.js";
import { callApi, parseJson, problemOf } from "./server.js";
import { showToast } from "./toasts.js";
import { currentFolder } from "./uploads.js";

const POLL_MS = 700;
const MOST_PROBLEMS = 10; // that are shown; the others are counted
const dialog = byId("add");
const form = byId("add-import");
const source = byId("import-source");
const fileInput = byId("import-file");
const problem = byId("add-problem");
const status = form.querySelector("[data-import-progress]");
const problems = form.querySelector("[data-import-problems]");
const actions = form.querySelector("[data-import-actions]");
const startButton = form.querySelector("[data-import-start]");
const cancelButton = form.querySelector("[data-import-cancel]");
const submitButton = form.querySelector("[type=submit]");
let current = null; // the import that is shown
let timer = 0;

function showFailure(text) {
  problem.textContent = text;
  problem.hidden = false;
}

function countsOf({ added, updated, unchanged, deleted_here: deletedHere, left_out: leftOut, failed }, isDone) {
  return [
    [added, isDone ? "added" : "new"],
    [updated, isDone ? "updated" : "to update"],
    [unchanged, "there already"],
    [deletedHere, "deleted here before"],
    [leftOut, "left out"],
    [failed, "failed"],
  ].filter(([count]) => count).map(([count, label]) => `${formatNumber(count)} ${label}`).join(", ") || "nothing so far";
}

function show(run) {
  current = run;
  const isOpen = ["checking", "checked", "running"].includes(run.state);
  const isMoving = run.state === "checking" || run.state === "running";
  const word = { checking: "Counting", checked: "Counted", running: "Importing", done: "Imported", failed: "Failed", cancelled: "Cancelled" }[run.state];
  const line = create("p", {}, create("b", { textContent: word }), ` ${printable(run.name)}: ${countsOf(run.summary, run.state === "done" || run.state === "running")}`);
  const bar = create("progress", { className: "progress" });
  bar.setAttribute("aria-label", word);
  status.replaceChildren(line, ...(isMoving ? [bar] : []));
  status.hidden = false;
  problems.replaceChildren(...run.summary.problems.slice(0, MOST_PROBLEMS).map((text) => create("li", { className: "wrap", textContent: printable(text) })));
  problems.hidden = !run.summary.problems.length;
  actions.hidden = !isOpen;
  startButton.hidden = run.state !== "checked";
  if (run.state === "failed") showFailure(run.problem);
  clearTimeout(timer);
  if (isMoving) timer = setTimeout(poll, POLL_MS);
}

async function poll() {
  const before = current.state;
  try {
    show(await callApi("GET", `/api/imports/${current.id}`));
  } catch (error) {
    showFailure(error.message);
    return;
  }
  if (current.state === "done" && before !== "done") {
    showToast(`Imported: ${countsOf(current.summary, true)}.`);
    dispatch("chyme:added", {});
  }
}

function upload(file) {
  const query = new URLSearchParams({ source: source.value, name: file.name, folder: currentFolder(), dry_run: "true" });
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest(); // fetch does not say how much has been sent
    request.open("POST", `${base}/api/imports?${query}`);
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.setRequestHeader("Accept", "application/json");
    const bar = create("progress", { className: "progress", max: 1, value: 0 });
    bar.setAttribute("aria-label", `How much of ${file.name} has arrived`);
    status.replaceChildren(create("p", { textContent: "Uploading" }), bar);
    status.hidden = false;
    request.upload.addEventListener("progress", (event) => { if (event.lengthComputable) bar.value = event.loaded / event.total; });
    request.addEventListener("loadend", () => {
      const response = parseJson(request.responseText);
      if (request.status === 202) resolve(response);
      else reject(new Error(request.status ? problemOf(request.status, response) : "The connection broke."));
    });
    request.send(file);
  });
}

async function act(button, work) {
  problem.hidden = true;
  button.disabled = true;
  try {
    show(await work());
  } catch (error) {
    status.hidden = true;
    showFailure(error.message);
  } finally {
    button.disabled = false;
  }
}

source.addEventListener("change", () => {
  fileInput.accept = source.selectedOptions[0].dataset.accept;
  fileInput.value = "";
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  const file = fileInput.files[0];
  if (!file) showFailure("Choose the exported file first.");
  else if (file.size > Number(dialog.dataset.most)) showFailure(`It is larger than ${dialog.dataset.mostLabel}, the upload limit (upload_bytes); use chyme import in a terminal.`);
  else act(submitButton, () => upload(file));
});
startButton.addEventListener("click", () => act(startButton, () => callApi("POST", `/api/imports/${current.id}/start`)));
cancelButton.addEventListener("click", () => act(cancelButton, () => callApi("POST", `/api/imports/${current.id}/cancel`)));
document.addEventListener("chyme:importing", async () => {
  if (current) return;
  try {
    const { imports } = await callApi("GET", "/api/imports");
    const open = imports.find((run) => ["checking", "checked", "running"].includes(run.state));
    if (open) show(open);
  } catch (error) {
    showFailure(error.message);
  }
});
