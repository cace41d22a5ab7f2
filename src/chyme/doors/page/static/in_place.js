/* A field that is edited where it is shown: a form in its place, which Escape, Cancel and a saved value take away again. */
(function () {
  "use strict";

  /** The form takes the place of what `holder` holds, and the focus; `left` is called when that is back. */
  chyme.inPlace = function (holder, button, { className, editing, value, label, maxLength, placeholder = "" }, left = () => {}) {
    const kept = [...holder.childNodes];
    const form = Object.assign(document.createElement("form"), { className });
    form.dataset.editing = editing;
    const input = Object.assign(document.createElement("input"), { className: "input", value, maxLength, placeholder });
    input.setAttribute("aria-label", label);
    const save = Object.assign(document.createElement("button"), { className: "btn btn-primary btn-s", type: "submit", textContent: "Save" });
    const cancel = Object.assign(document.createElement("button"), { className: "btn btn-s", type: "button", textContent: "Cancel" });
    form.append(input, save, cancel);
    holder.replaceChildren(form);
    input.focus();
    input.select();
    const back = (focus = true) => {
      holder.replaceChildren(...kept);
      if (focus) button.focus({ preventScroll: true });
      left();
    };
    cancel.addEventListener("click", () => back());
    form.addEventListener("keydown", (event) => { if (event.key === "Escape") { event.stopPropagation(); back(); } });
    return { form, input, kept, back };
  };
})();
