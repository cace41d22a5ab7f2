/* The page of an invitation: takes the code from the link, where no server sees it, and from the address bar. */

import { byId } from "./dom.js";

function takeCode() {
  const code = location.hash.slice(1);
  if (!code) return;
  byId("code").value = code;
  byId("code-field").hidden = true;
  history.replaceState(null, "", location.pathname);
  byId("name").focus();
}

takeCode();
addEventListener("hashchange", takeCode); // a second link opened in the same tab
