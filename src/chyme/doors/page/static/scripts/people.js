/* The pages of people: hearing them, naming them, and saying which voices are the same person's. */

import { editInPlace } from "./edit_in_place.js";
import { capitalise } from "./format.js";
import { oneAtATime } from "./one_at_a_time.js";
import { base } from "./page_context.js";
import { main, replaceElement } from "./replace.js";
import { callApi, fetchFragment } from "./server.js";
import { showProblem, showToast } from "./toasts.js";
import { stopSample, toggleSample } from "./voice_samples.js";

const page = document.querySelector("[data-people]");
const person = page.dataset.one; // whose page it is; missing on the page of all people
let goTo = null; // the row to be focused next, where the pressed button does nothing any more

/** Fetch the list and replace it, unless a name is being edited. */
const refresh = oneAtATime(async () => {
  if (page.querySelector("[data-editing]")) return;
  try {
    const fresh = await fetchFragment(person ? `/ui/people/${person}` : "/ui/people");
    stopSample();
    replaceElement(page.querySelector("[data-list]"), fresh.firstElementChild, { fallback: main, usesNextRow: true, goTo });
    goTo = null;
    showChosen();
  } catch (error) {
    if (person && error.status === 404) location.assign(`${base}/people`); // merged with another person
  }
});

async function undo() {
  try {
    const { done } = await callApi("POST", "/api/people/undo");
    showToast(capitalise(done));
  } catch (error) {
    showProblem(error);
  }
  refresh();
}

/** Ask for a change; `next` is the row to be focused after it. */
async function change(method, path, body, next) {
  try {
    const { done } = await callApi(method, path, body);
    if (next) goTo = next;
    showToast(capitalise(done), { label: "Undo", action: undo });
  } catch (error) {
    showProblem(error);
  } finally {
    refresh();
  }
}

/** The numbers of the ticked boxes: "choose" for people, "choose-voice" for voices. */
const chosen = (name) => [...page.querySelectorAll(`[data-${name}]:checked`)].map((box) => Number(box.getAttribute(`data-${name}`)));

function showChosen() {
  const count = chosen("choose").length;
  const mergeButton = page.querySelector("[data-merge]");
  if (mergeButton) {
    mergeButton.disabled = count < 2;
    mergeButton.textContent = count < 2 ? "Same person" : `These ${count} are one person`;
  }
  const splitButton = page.querySelector("[data-split]");
  if (splitButton) splitButton.disabled = !chosen("choose-voice").length;
}

/** Merge the chosen people into the first of them in the list, whose name stays. */
function merge() {
  const [first, ...others] = chosen("choose");
  for (const box of page.querySelectorAll("input:checked")) box.checked = false;
  change("POST", `/api/people/${first}/merge`, { others }, { row: `data-person=${first}`, key: "rename" });
}

function rename(button) {
  const id = button.dataset.editName;
  const holder = page.querySelector(`[data-name-of="${id}"]`);
  const { form, input, close } = editInPlace(holder, button, { className: "name-form", editing: id, value: button.dataset.now, label: "Name", maxLength: 100, placeholder: "Name" });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const name = input.value.trim();
    close();
    if (name === button.dataset.now) return;
    const shown = holder.querySelector("h1, h2 a");
    if (shown && name) shown.textContent = name;
    change("PATCH", `/api/people/${id}`, { name: name || null });
  });
}

page.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if (button.matches(".listen")) toggleSample(button).catch(showProblem);
  else if (button.dataset.editName) rename(button);
  else if ("merge" in button.dataset) merge();
  else if ("undo" in button.dataset) undo();
  else if (button.dataset.forget) change("DELETE", `/api/people/${button.dataset.forget}`);
  else if (button.dataset.split) change("POST", `/api/people/${button.dataset.split}/split`, { voices: chosen("choose-voice") });
});
page.addEventListener("change", (event) => {
  if (event.target.dataset.move && event.target.value) {
    const newPerson = event.target.value === "new" ? null : Number(event.target.value);
    change("POST", `/api/voices/${event.target.dataset.move}/move`, { person: newPerson });
  }
  showChosen();
});
document.addEventListener("chyme:person", (event) => { if (!event.detail.path) refresh(); });
showChosen();
