/*
 * Buttons that ask the server for something, confirm what cannot be undone, and show what came of it:
 *   data-post="/api/…" (data-method="DELETE"), data-body="{json}", data-toast="{files} files …" with values of the response,
 *   data-confirm="Question?" data-confirm-text="What it means" data-confirm-label="Delete", data-refresh="names of parts"
 * And buttons that copy: data-copy="id of what is copied".
 */

import { askConfirmation } from "./dialogs.js";
import { byId, dispatch } from "./dom.js";
import { formatNumber } from "./format.js";
import { callApi } from "./server.js";
import { showProblem, showToast } from "./toasts.js";

const fillIn = (text, response) => text.replace(/\{(\w+)\}/g, (_, name) => {
  const value = response ? response[name] : null;
  return typeof value === "number" ? formatNumber(value) : String(value ?? "");
});

async function act(button) {
  const { post, body, method, toast, refresh, confirm, confirmText, confirmLabel } = button.dataset;
  if (confirm && !(await askConfirmation(confirm, confirmText || "", confirmLabel || "Yes"))) {
    button.focus();
    return;
  }
  button.setAttribute("aria-disabled", "true"); // `disabled` would take the focus away
  try {
    const response = await callApi(method || "POST", post, body ? JSON.parse(body) : undefined);
    if (toast) showToast(fillIn(toast, response));
    dispatch("chyme:acted", { parts: (refresh || "").split(" ").filter(Boolean) });
  } catch (error) {
    showProblem(error);
  } finally {
    button.removeAttribute("aria-disabled");
  }
}

async function copy(button) {
  const source = byId(button.dataset.copy);
  try {
    await navigator.clipboard.writeText((source.value || source.textContent).trim());
    showToast("Copied");
  } catch (error) {
    if (source.select) source.select();
    else getSelection().selectAllChildren(source);
    showToast("Selected; copy it with your keyboard");
  }
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-post], [data-copy]");
  if (!button || button.getAttribute("aria-disabled") === "true") return;
  if (button.dataset.copy) copy(button);
  else act(button);
});
