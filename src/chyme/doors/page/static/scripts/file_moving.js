/* Renaming a file and putting it into the trash, and undoing both. */

import { create } from "./dom.js";
import { fileAddress, onButton, page, path } from "./file_context.js";
import { setLeaving } from "./file_parts.js";
import { encodePath, fileName } from "./format.js";
import { base } from "./page_context.js";
import { callApi } from "./server.js";
import { showProblem, showToast } from "./toasts.js";

const RENAMED = "chyme-said"; // a message for the page under the new name

async function remove() {
  let trashed;
  try {
    ({ trashed } = await callApi("DELETE", fileAddress));
  } catch (error) {
    showProblem(error);
    return;
  }
  const restore = async () => {
    try {
      const { restored } = await callApi("POST", `/api/trash/${encodeURIComponent(trashed.id)}/restore`);
      location.replace(`${base}/file/${encodePath(restored.path)}`);
    } catch (error) {
      showProblem(error);
    }
  };
  const message = `“${fileName(path)}” is in the trash`;
  showTrashed(message, restore);
  showToast(message, { label: "Undo", action: restore });
}

/** Show, in the place of the page, that the file is in the trash. */
function showTrashed(message, restore) {
  const folder = path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : "";
  const heading = create("h1", { textContent: message, tabIndex: -1 });
  const restoreButton = create("button", { className: "btn btn-primary", type: "button", textContent: "Bring it back" });
  const link = create("a", { className: "btn", textContent: folder ? "To its folder" : "To the vault" });
  link.href = `${base}/${folder ? `?folder=${encodeURIComponent(folder)}` : ""}`;
  restoreButton.addEventListener("click", restore);
  page.replaceWith(create("div", { className: "empty" }, heading, create("div", { className: "row" }, restoreButton, link)));
  heading.focus();
}

async function rename(isUndo) {
  setLeaving(true);
  try {
    const renamed = await callApi("POST", `${fileAddress}/rename${isUndo ? "-back" : ""}`);
    sessionStorage.setItem(RENAMED, JSON.stringify({ text: `It is called “${fileName(renamed.path)}” now`, back: isUndo ? "" : renamed.path }));
    location.replace(`${base}/file/${encodePath(renamed.path)}`); // the old address leads nowhere, so it leaves the history
  } catch (error) {
    setLeaving(false);
    showProblem(error);
  }
}

/** Show the message that was left for this page; `back` is the path whose renaming can be undone. */
function showRenamed() {
  let message = null;
  try {
    message = JSON.parse(sessionStorage.getItem(RENAMED));
  } catch (error) {
    /* without storage there is no message */
  }
  if (!message || (message.back && message.back !== path)) return;
  sessionStorage.removeItem(RENAMED);
  showToast(message.text, message.back ? { label: "Undo", action: () => rename(true) } : {});
}

onButton("[data-delete]", remove);
onButton("[data-rename]", () => rename(false));
showRenamed();
