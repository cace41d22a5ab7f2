/* Which files a question is about: handed from the vault's list to the page that asks, in this tab only. */

import { base } from "./page_context.js";

const KEY = `chyme:ask-about:${base}`;
const MOST = 1000;

/** Go to the page that asks, about these files. */
export function askAbout(paths) {
  sessionStorage.setItem(KEY, JSON.stringify(paths.slice(0, MOST)));
  location.assign(`${base}/ask`);
}

/** The files chosen before; null when a question is about all of them. */
export function chosenPaths() {
  try {
    const paths = JSON.parse(sessionStorage.getItem(KEY));
    return Array.isArray(paths) && paths.length ? paths : null;
  } catch (error) {
    return null;
  }
}

export const chooseAll = () => sessionStorage.removeItem(KEY);
