/* Requests to the server: JSON from the API, and HTML fragments of pages. */

import { create } from "./dom.js";
import { base } from "./page_context.js";
import { removeUndoToasts, showToast } from "./toasts.js";

const NO_ANSWER = "The server does not answer; is chyme still running?";
const openLogin = () => location.assign(`/login?next=${encodeURIComponent(location.pathname + location.search)}`);
let signedOutToast = null;

/** Offer the login, which leads back here. The page stays until then, so that typed text can be copied. */
function signedOutError(isUnsaved) {
  const text = isUnsaved ? "You are signed out, so this was not saved." : "You are signed out.";
  if (isUnsaved || !signedOutToast?.isConnected) {
    signedOutToast?.remove();
    signedOutToast = showToast(text, { red: true, label: "Sign in", action: openLogin, seconds: 600 });
  }
  return Object.assign(new Error(text), { isShown: true });
}

/** The value, or null if the text is no JSON. */
export function parseJson(text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    return null;
  }
}

/** The reason in an API's response that is no success. */
export const problemOf = (status, payload) => (payload && payload.detail) || `The server answered ${status}.`;

/** Call the API with `body` as JSON, and return the JSON it answers with. */
export async function callApi(method, path, body) {
  const options = { method, headers: { Accept: "application/json" } };
  if (body !== undefined) {
    options.headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  let response;
  try {
    response = await fetch(base + path, options);
  } catch (error) {
    throw new Error(NO_ANSWER);
  }
  if (response.status === 401) throw signedOutError(method !== "GET");
  const payload = parseJson(await response.text());
  if (!response.ok) throw Object.assign(new Error(problemOf(response.status, payload)), { status: response.status, payload });
  if (method !== "GET") removeUndoToasts();
  return payload;
}

/** Fetch a part of a page as a DocumentFragment. */
export async function fetchFragment(path, signal) {
  let response;
  try {
    response = await fetch(base + path, { headers: { Accept: "text/html" }, signal });
  } catch (error) {
    throw error.name === "AbortError" ? error : new Error(NO_ANSWER);
  }
  if (response.redirected && new URL(response.url).pathname === "/login") throw signedOutError(false);
  if (!response.ok) throw Object.assign(new Error(problemOf(response.status)), { status: response.status });
  return create("template", { innerHTML: await response.text() }).content;
}
