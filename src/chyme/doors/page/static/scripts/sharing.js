/* The dialog that makes a link to files; chyme:share asks for it, with {paths} or {query} and how many files that are. */

import "./actions.js";
import { openDialog } from "./dialogs.js";
import { byId } from "./dom.js";
import { formatCount } from "./format.js";
import { callApi } from "./server.js";

const dialog = byId("share");
const part = (name) => dialog.querySelector(`[data-share-${name}]`);
let wanted = null; // what the link is to show

function showForm(isForm) {
  part("form").hidden = !isForm;
  part("made").hidden = isForm;
}

export function openSharing(selection, count) {
  wanted = selection;
  part("what").textContent = `The link shows ${formatCount(count, "file")}, read only, and nothing else of the vault.`;
  byId("share-label").value = "";
  byId("share-private").checked = false;
  part("private").hidden = true;
  part("problem").hidden = true;
  byId("share-address").value = "";
  showForm(true);
  openDialog(dialog);
}

async function makeLink() {
  const body = {
    ...wanted,
    days: Number(byId("share-days").value),
    label: byId("share-label").value.trim(),
    private: byId("share-private").checked,
  };
  part("make").disabled = true;
  try {
    const { address } = await callApi("POST", "/api/shares", body);
    byId("share-address").value = address;
    showForm(false);
    byId("share-address").focus();
    byId("share-address").select();
  } catch (error) {
    part("problem").textContent = error.message;
    part("problem").hidden = false;
    if (error.status === 409) part("private").hidden = false; // some are private, and nobody has agreed yet
  } finally {
    part("make").disabled = false;
  }
}

dialog.querySelector("form").addEventListener("submit", (event) => {
  event.preventDefault();
  if (!part("form").hidden) makeLink();
});
