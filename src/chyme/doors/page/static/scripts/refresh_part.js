/* Parts of a page that are fetched again when something has changed. */

import { create } from "./dom.js";
import { hasHtml, rememberHtml, replaceContent } from "./replace.js";
import { fetchFragment } from "./server.js";

/** Fetch what a part shows, and replace it if that has changed. */
export async function refreshPart(part, address) {
  let fresh;
  try {
    fresh = await fetchFragment(address);
  } catch (error) {
    return; // the next event tries again
  }
  const html = create("div", {}, fresh.cloneNode(true)).innerHTML;
  if (hasHtml(part, html)) return;
  rememberHtml(part, html);
  replaceContent(part, fresh);
}
