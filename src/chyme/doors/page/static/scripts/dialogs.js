/* Dialogs: opening them, closing them by a button or a click beside them, and asking before something final. */

import { create } from "./dom.js";
import { printable } from "./format.js";

export function openDialog(dialog) {
  if (dialog && !dialog.open) dialog.showModal();
}

document.addEventListener("click", (event) => {
  const target = event.target instanceof Element ? event.target : null;
  if (!target) return;
  if (target.closest("[data-close]")) target.closest("dialog").close();
  else if (target instanceof HTMLDialogElement && target.matches(".dialog")) {
    const box = target.getBoundingClientRect(); // a click on the backdrop has the dialog as its target, too
    if (event.clientX < box.left || event.clientX > box.right || event.clientY < box.top || event.clientY > box.bottom) target.close();
  }
});

/** Ask before something that cannot be undone; resolves to whether the answer is yes. */
export function askConfirmation(title, text, label) {
  return new Promise((resolve) => {
    const cancel = create("button", { type: "button", className: "btn", textContent: "Cancel" });
    const confirm = create("button", { type: "button", className: "btn btn-danger", textContent: label });
    const body = create(
      "div",
      { className: "dialog-body" },
      create("h2", { textContent: printable(title) }),
      create("p", { textContent: text }),
      create("div", { className: "dialog-foot" }, cancel, confirm),
    );
    const dialog = create("dialog", { className: "dialog" }, body);
    dialog.setAttribute("aria-label", title);
    document.body.append(dialog);
    let isConfirmed = false;
    cancel.addEventListener("click", () => dialog.close());
    confirm.addEventListener("click", () => { isConfirmed = true; dialog.close(); });
    dialog.addEventListener("close", () => { dialog.remove(); resolve(isConfirmed); });
    dialog.showModal();
  });
}
