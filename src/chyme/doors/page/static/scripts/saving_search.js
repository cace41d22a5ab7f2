/* The dialog that asks for the name of a saved search. */

import { openDialog } from "./dialogs.js";
import { byId } from "./dom.js";

const dialog = byId("save-search");
const name = byId("search-name");
const problem = dialog.querySelector("[data-problem]");
let save = null; // what is done with the name; it may refuse it

/** Ask for a name, and call `action` with it until that works. */
export function askSearchName(query, current, action) {
  dialog.querySelector("[data-query]").textContent = query;
  name.value = current;
  problem.hidden = true;
  save = action;
  openDialog(dialog);
  name.focus();
  name.select();
}

dialog.querySelector("form").addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    await save(name.value.trim());
    dialog.close();
  } catch (error) {
    problem.textContent = error.message;
    problem.hidden = false;
    name.focus();
  }
});
