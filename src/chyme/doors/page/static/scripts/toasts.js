/* Short messages at the edge of the page, with or without a button. */

import { byId, create } from "./dom.js";
import { printable } from "./format.js";

const MOST_TOASTS = 3;

/** Remove offers to undo: "Undo" takes back the last change, which is another one by now. */
export function removeUndoToasts() {
  for (const toast of document.querySelectorAll("[data-undoes-last]")) toast.remove();
}

/**
 * Show a message. With `label` and `action` it has a button.
 * `specificUndo`: the action takes back this very change, whatever was done since.
 */
export function showToast(text, { label, action, red = false, seconds = 6, specificUndo = false } = {}) {
  const region = byId("toasts");
  if (!region) return;
  const undoesLast = label === "Undo" && !specificUndo;
  if (undoesLast) removeUndoToasts();
  text = printable(text);
  for (const toast of [...region.children]) {
    if (toast.firstChild.textContent === text) toast.remove(); // the same message is shown once
  }
  const toast = create("div", { className: red ? "toast toast-red" : "toast" }, create("span", { textContent: text }));
  if (undoesLast) toast.dataset.undoesLast = "";
  const dismiss = () => toast.remove();
  if (label && action) {
    const button = create("button", { type: "button", className: "toast-action", textContent: label });
    button.addEventListener("click", () => { dismiss(); action(); });
    toast.append(button);
  }
  const close = create("button", { type: "button", textContent: "×" });
  close.setAttribute("aria-label", "Dismiss");
  close.addEventListener("click", dismiss);
  toast.append(close);
  region.append(toast);
  while (region.children.length > MOST_TOASTS) region.firstElementChild.remove();
  let timer = setTimeout(dismiss, (label ? Math.max(seconds, 10) : seconds) * 1000);
  toast.addEventListener("pointerenter", () => clearTimeout(timer));
  toast.addEventListener("focusin", () => clearTimeout(timer));
  toast.addEventListener("pointerleave", () => { timer = setTimeout(dismiss, 3000); });
  return toast;
}

/** Show an error, unless a toast has shown it already. */
export function showProblem(error) {
  const text = error.message || String(error);
  if (error.isShown) return undefined;
  if (/nothing (left )?to undo/.test(text)) return showToast("There is nothing left to undo.");
  return showToast(text, { red: true, seconds: 10 });
}
