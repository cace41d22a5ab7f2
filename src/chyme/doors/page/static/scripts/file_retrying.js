/* Digesting a file or one of its digests again and saying how that ended; keeping the pages that a text links to. */

import { onButton, page, path } from "./file_context.js";
import { refresh } from "./file_parts.js";
import { encodePath, fileName } from "./format.js";
import { callApi } from "./server.js";
import { showProblem, showToast } from "./toasts.js";

const rerun = new Map(); // digester that was asked for → its label
let retry = null; // {hasBegun}: whether the retried file was seen being processed

/** Ask for it and return whether it was started. */
async function start(button, address, message) {
  button.setAttribute("aria-disabled", "true"); // `disabled` would take the focus away
  let response = null;
  try {
    response = await callApi("POST", address);
    showToast(response && response.skipped ? "chyme does not read this kind of file; you can find it by its name." : message);
  } catch (error) {
    showProblem(error);
  }
  button.removeAttribute("aria-disabled");
  refresh();
  return Boolean(response && !response.skipped);
}

async function retryFile(button) {
  retry = { hasBegun: false };
  if (!(await start(button, `/api/documents/${encodePath(path)}/reprocess`, "It is being tried again"))) retry = null;
}

async function rerunDigest(button) {
  const name = button.dataset.rerun;
  rerun.set(name, button.closest("[data-part]").querySelector("h3").firstChild.textContent.trim());
  const address = `/api/digest/${encodePath(path)}?digester=${encodeURIComponent(name)}&wait=false`;
  if (!(await start(button, address, "It is being made again"))) rerun.delete(name);
}

const reasonOf = (detail) => (detail ? `: ${detail.split("; ")[0].replace(`${fileName(path)}: `, "")}` : "");

function showOutcome(state, detail) {
  if (state === "failed") showToast(`It failed again${reasonOf(detail)}`, { red: true, seconds: 10 });
  else if (state === "needs-classification") showToast(`It could still not be classified${reasonOf(detail)}`, { red: true, seconds: 10 });
  else if (state === "completed") showToast("It is ready now");
  else return;
  retry = null;
}

document.addEventListener("chyme:document", ({ detail: event }) => {
  if (!retry || event.path !== path || !event.status) return;
  if (event.status === "processing") retry.hasBegun = true;
  else showOutcome(event.status, event.detail);
});

document.addEventListener("chyme:digest", ({ detail: event }) => {
  if (event.path !== path || !rerun.has(event.digester) || !/^(completed|skipped|failed)$/.test(event.status)) return;
  if (event.status === "failed") showToast(`${rerun.get(event.digester)} failed again${reasonOf(event.detail)}`, { red: true, seconds: 10 });
  rerun.delete(event.digester);
});

/** The same from the page's own state, in case the event was missed. */
function checkState() {
  const { state, why } = page.querySelector("[data-state]").dataset;
  if (!retry) return;
  if (/^(processing|stale)$/.test(state)) retry.hasBegun = true;
  else if (retry.hasBegun) showOutcome(state, why);
}

async function keepLinks(button) {
  button.setAttribute("aria-disabled", "true");
  try {
    const { links } = await callApi("POST", `/api/links/${encodePath(path)}`, {});
    const created = links.filter((link) => link.created).length;
    showToast(created === 1 ? "One link is kept" : `${created} links are kept`);
    button.closest("p").remove();
  } catch (error) {
    showProblem(error);
    button.removeAttribute("aria-disabled");
  }
}

document.addEventListener("chyme:parts", checkState);
onButton("[data-keep-links]", keepLinks);
onButton("[data-reprocess]", retryFile);
onButton("[data-rerun]", rerunDigest);
