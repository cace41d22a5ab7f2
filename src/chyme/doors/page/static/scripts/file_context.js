/* What the scripts of a file's page share. */

import { encodePath } from "./format.js";

export const page = document.querySelector("[data-file]");
export const path = page.dataset.path;
export const find = (selector) => page.querySelector(selector);
export const fileAddress = `/api/files/${encodePath(path)}`;

/** Call `action` when a button is pressed. The page listens, since buttons come and go with their parts. */
export function onButton(selector, action) {
  page.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button && button.matches(selector) && button.getAttribute("aria-disabled") !== "true") action(button);
  });
}
