/* A field that is edited where it is shown: a form takes its place until it is cancelled or the value is saved. */

import { create } from "./dom.js";

/**
 * Show the form in `holder` and focus its field. `button` is what opened it; `onClose` is called when the form is gone.
 * Returns the form, its field, the nodes it hides, and `close(focusesButton = true)`.
 */
export function editInPlace(holder, button, { className, editing, value, label, maxLength, placeholder = "" }, onClose = () => {}) {
  const hidden = [...holder.childNodes];
  const input = create("input", { className: "input", value, maxLength, placeholder });
  input.setAttribute("aria-label", label);
  const save = create("button", { className: "btn btn-primary btn-s", type: "submit", textContent: "Save" });
  const cancel = create("button", { className: "btn btn-s", type: "button", textContent: "Cancel" });
  const form = create("form", { className }, input, save, cancel);
  form.dataset.editing = editing;
  holder.replaceChildren(form);
  input.focus();
  input.select();
  const close = (focusesButton = true) => {
    holder.replaceChildren(...hidden);
    if (focusesButton) button.focus({ preventScroll: true });
    onClose();
  };
  cancel.addEventListener("click", () => close());
  form.addEventListener("keydown", (event) => { if (event.key === "Escape") { event.stopPropagation(); close(); } });
  return { form, input, hidden, close };
}
