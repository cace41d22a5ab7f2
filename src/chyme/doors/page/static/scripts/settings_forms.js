/* Forms that change settings: only what was changed is sent; problems are shown beside their fields. */

import { byId } from "./dom.js";
import { formatNumber } from "./format.js";
import { callApi, fetchFragment } from "./server.js";
import { replaceContent } from "./replace.js";
import { showProblem, showToast } from "./toasts.js";

const ADDRESS = "/ui/settings/forms";
const container = byId("settings-forms");
const fields = (form) => [...form.querySelectorAll("[data-type]")].filter((field) => !field.disabled);
const text = (count, noun) => `${formatNumber(count)} ${noun}${count === 1 ? "" : "s"}`;

/** The changed values of a form, by the names of their settings; null removes one. */
function changedValues(form) {
  const values = {};
  for (const field of fields(form)) {
    const { type } = field.dataset;
    if (type === "boolean") { if (field.checked !== field.defaultChecked) values[field.name] = field.checked; }
    else if (type === "remove") { if (field.checked && !values[field.name]) values[field.name] = null; }
    else if (type === "secret") { if (field.value) values[field.name] = field.value; }
    else if (field.tagName === "SELECT") { if (!field.selectedOptions[0]?.defaultSelected) values[field.name] = field.value; }
    else if (field.value !== field.defaultValue || field.validity.badInput) {
      values[field.name] = type === "number" && field.value !== "" ? Number(field.value) : field.value;
    }
  }
  return values;
}

function showProblems(form, error) {
  const problems = error.payload?.problems || {};
  const rest = [];
  let first = null;
  for (const [name, problem] of Object.entries(problems)) {
    const field = byId(`set-${name}`);
    const place = byId(`set-${name}-problem`);
    if (!field || !form.contains(field)) { rest.push(name ? `${name}: ${problem}` : problem); continue; }
    place.textContent = problem;
    place.hidden = false;
    field.setAttribute("aria-invalid", "true");
    field.setAttribute("aria-describedby", `set-${name}-about set-${name}-problem`);
    first ||= field;
  }
  const general = form.querySelector("[data-problem-of-form]");
  if (!Object.keys(problems).length) rest.push(error.message);
  general.textContent = rest.join(" ");
  general.hidden = !rest.length;
  form.querySelector("[data-outcome]").textContent = first || rest.length ? "Nothing was stored." : "";
  first?.focus();
}

function clearProblems(form) {
  for (const place of form.querySelectorAll(".setting-problem")) Object.assign(place, { textContent: "", hidden: true });
  for (const field of form.querySelectorAll("[aria-invalid]")) field.removeAttribute("aria-invalid");
  form.querySelector("[data-outcome]").textContent = "";
}

/** Do something for a form; its buttons wait, and problems are shown in it. */
async function run(form, work) {
  if (form.dataset.busy) return;
  form.dataset.busy = "yes";
  clearProblems(form);
  try {
    await work(form.querySelector("[data-outcome]"));
  } catch (error) {
    if (error.isShown) showProblem(error);
    else showProblems(form, error);
  } finally {
    delete form.dataset.busy;
  }
}

async function reload(form) {
  for (const field of fields(form)) { // what was typed is stored now, and keys must not stay in the page
    if (field.dataset.type === "secret") field.value = "";
    else if (/^(checkbox|radio)$/.test(field.type)) field.defaultChecked = field.checked = field.dataset.type === "boolean" && field.checked;
    else if ("defaultValue" in field) field.defaultValue = field.value;
  }
  replaceContent(container, await fetchFragment(ADDRESS));
}

const describe = ({ at_once: now, after_restart: later }) => [
  now.length ? `${now.join(", ")}: in use from now on.` : "",
  later.length ? `${later.join(", ")}: stored, in use after a restart.` : "",
].filter(Boolean).join(" ");

const saveSettings = (form) => run(form, async (outcome) => {
  const values = changedValues(form);
  if (!Object.keys(values).length) { outcome.textContent = "Nothing was changed."; return; }
  const stored = await callApi("PATCH", "/api/settings", { values, etag: form.dataset.etag });
  await reload(form);
  showToast(describe(stored));
});

const tryModel = (form) => run(form, async (outcome) => {
  outcome.textContent = "Asking once …";
  const tried = await callApi("POST", "/api/settings/try", { model: form.dataset.model, values: changedValues(form) });
  outcome.textContent = tried.ok ? `It works: ${tried.model}; ${tried.message}.` : `It does not work: ${tried.message}`;
});

const savePatterns = (form) => run(form, async () => {
  await callApi("PUT", "/api/private", { text: form.elements.text.value, etag: form.dataset.etag });
  form.elements.text.defaultValue = form.elements.text.value;
  await reload(form);
  showToast("The patterns are stored, and apply from now on.");
});

const countFiles = (form) => run(form, async (outcome) => {
  const found = await callApi("POST", "/api/private/preview", { text: form.elements.text.value });
  const examples = found.examples.length ? `, such as ${found.examples.join(", ")}` : "";
  const disclosed = found.disclosed ? ` ${text(found.disclosed, "file")} would not be private any more.` : "";
  outcome.textContent = `${text(found.files, "file")} of ${formatNumber(found.of)} would be private${examples}.${disclosed}`;
});

if (container) {
  container.addEventListener("submit", (event) => {
    event.preventDefault();
    (event.target.id === "private-form" ? savePatterns : saveSettings)(event.target);
  });
  container.addEventListener("click", (event) => {
    const button = event.target.closest("[data-try], [data-preview]");
    if (button) ("try" in button.dataset ? tryModel : countFiles)(button.form);
  });
}
