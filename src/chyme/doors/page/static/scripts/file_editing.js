/* Editing a file's title, date and tags in place, and undoing that. */

import { create } from "./dom.js";
import { editInPlace } from "./edit_in_place.js";
import { fileAddress, onButton, page, path } from "./file_context.js";
import { forgetWaiting, refresh, replaceWaiting } from "./file_parts.js";
import { capitalise, fileName } from "./format.js";
import { registerKey } from "./keyboard.js";
import { mayWrite } from "./page_context.js";
import { callApi } from "./server.js";
import { showProblem, showToast } from "./toasts.js";

/** An error's message without the file's path, which is clear on its page. */
const messageOf = (error) => (error.message.startsWith(`${path}: `) ? capitalise(error.message.slice(path.length + 2)) : error.message);

/** Say below a field why its value was refused; the value stays in it to be corrected. */
function showRefusal(form, input, error) {
  let notice = form.querySelector("[data-refused]");
  if (!notice) {
    notice = create("p", { className: "refused small", id: `refused-${form.dataset.editing || "tag"}` });
    notice.dataset.refused = "";
    notice.setAttribute("role", "alert");
    form.append(notice);
    input.addEventListener("input", () => {
      notice.remove();
      input.removeAttribute("aria-invalid");
      input.removeAttribute("aria-describedby");
    }, { once: true });
  }
  notice.textContent = messageOf(error);
  input.setAttribute("aria-invalid", "true");
  input.setAttribute("aria-describedby", notice.id);
  input.focus({ preventScroll: true });
}

const openForms = new Map(); // form → function that closes it

async function undo() {
  for (const closeForm of openForms.values()) closeForm(); // their values are older than the undone change
  try {
    const { undone } = await callApi("POST", `${fileAddress}/undo`);
    showToast(`Undone: ${undone.slice(path.length + 2)}`);
  } catch (error) {
    showProblem(Object.assign(new Error(messageOf(error)), { isShown: error.isShown }));
  }
  refresh();
}

/** Ask for a change and return whether it was made; `onRefused` is called with the error if not. */
async function change(body, message, onRefused) {
  try {
    await callApi("PATCH", fileAddress, body);
    showToast(message, { label: "Undo", action: undo });
  } catch (error) {
    onRefused(error);
    return false;
  }
  refresh();
  return true;
}

function clearField(button) {
  callApi("POST", `${fileAddress}/clear`, { field: button.dataset.clear })
    .then(() => showToast(`The machine’s ${button.dataset.clear} is used again`, { label: "Undo", action: undo }))
    .catch(showProblem).finally(refresh);
}

onButton("[data-undo]", undo);
onButton("[data-clear]", clearField);

/* ---- title and date ---- */

function editField(button) {
  const field = button.dataset.edit;
  const holder = button.closest("[data-field]");
  const isTitle = field === "title";
  const { form, input, hidden, close } = editInPlace(holder, button, {
    className: "edit-form",
    editing: field,
    value: button.dataset.now || (isTitle ? holder.querySelector("[data-value]").textContent : ""),
    label: isTitle ? "Title" : "Date, as in 2026-04-03, 2026-04 or 2026",
    maxLength: isTitle ? 200 : 10,
    placeholder: isTitle ? "" : "2026-04-03",
  }, () => { openForms.delete(form); replaceWaiting(); });
  openForms.set(form, () => close(form.contains(document.activeElement)));
  let isSent = false;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const value = input.value.trim();
    if (isSent) return;
    if (value === (button.dataset.now || "")) {
      close();
      return;
    }
    isSent = true;
    const message = value ? `The ${field} is “${value}” now` : `The ${field} was removed`;
    const isChanged = await change({ [field]: value || null }, message, (error) => (form.isConnected ? showRefusal(form, input, error) : showProblem(error)));
    isSent = false;
    if (!isChanged || !form.isConnected) return;
    const shown = hidden.find((node) => node instanceof Element && node.matches("[data-value]"));
    if (shown) shown.textContent = value || (isTitle ? fileName(path) : "none");
    forgetWaiting(); // those are from before the change, and newer ones come
    close();
  });
}

onButton("[data-edit]", editField);
if (mayWrite) {
  registerKey("e", "Edit the title", () => {
    const button = page.querySelector('[data-edit="title"]');
    if (!button) return false;
    editField(button);
  });
}

/* ---- tags ---- */

function removeTag(button) {
  const chip = button.closest("[data-tag]");
  const tag = button.dataset.untag;
  const neighbour = chip.nextElementSibling || chip.previousElementSibling;
  chip.hidden = true;
  const nextButton = neighbour && neighbour.querySelector(".tag-away");
  (nextButton || page.querySelector("#new-tag")).focus({ preventScroll: true });
  change({ remove_tags: [tag] }, `Not tagged “${tag}” any more`, (error) => { chip.hidden = false; showProblem(error); });
}

onButton("[data-untag]", removeTag);

page.addEventListener("submit", (event) => {
  if (!event.target.matches("[data-add-tag]")) return;
  event.preventDefault();
  const input = event.target.querySelector("input");
  const tag = input.value.trim();
  if (!tag) return;
  input.value = "";
  const chip = create("li", { className: "chip tag", textContent: tag });
  const list = page.querySelector(".tag-list");
  const placeholders = [...list.querySelectorAll(".muted")];
  for (const placeholder of placeholders) placeholder.remove();
  list.append(chip);
  change({ add_tags: [tag] }, `Tagged “${tag}”`, (error) => {
    chip.remove();
    if (!list.children.length) list.append(...placeholders);
    if (!input.isConnected || input.value) showProblem(error);
    else {
      input.value = tag;
      showRefusal(event.target, input, error);
    }
  });
});

page.addEventListener("focusin", async (event) => {
  if (event.target.id !== "new-tag" || event.target.dataset.known) return;
  event.target.dataset.known = "1";
  try {
    const { tags } = await callApi("GET", "/api/tags");
    const options = (tags || []).slice(0, 500).map((tag) => create("option", { value: tag.name }));
    page.querySelector("#known-tags").replaceChildren(...options);
  } catch (error) {
    /* a tag can be typed without suggestions */
  }
});
