/* Saves what the bookmarklet sends behind the # of the address, and shows the bookmarklet. */

import { byId } from "./dom.js";
import { parseJson, problemOf } from "./server.js";

const KEPT = "chyme-capture"; // in sessionStorage, while the visitor signs in
const MAX_TEXT = 200000; // characters of a selection
const isSignedIn = byId("main").dataset.signedIn === "yes";
const form = byId("capture-form");
const show = (id) => { byId(id).hidden = false; };

function say(id, text) {
  byId(id).textContent = text;
  show(id);
}

/** What was sent; the address is cleared at once, so that neither text nor token stays in the history. */
function takeSent() {
  const kept = sessionStorage.getItem(KEPT);
  const sent = new URLSearchParams(location.hash.slice(1) || kept || "");
  sessionStorage.removeItem(KEPT);
  if (location.hash) history.replaceState(null, "", location.pathname);
  return sent;
}

async function save({ url, title, text, vault, token }) {
  const headers = { Accept: "application/json", "Content-Type": "application/json" };
  if (token) headers.Authorization = `Bearer ${token}`;
  let response;
  try {
    response = await fetch(`/v/${encodeURIComponent(vault)}/api/capture`, {
      method: "POST", headers, body: JSON.stringify({ url, title, text }), credentials: token ? "omit" : "same-origin",
    });
  } catch (error) {
    throw new Error("The server does not answer; is chyme still running?");
  }
  const payload = parseJson(await response.text());
  if (response.status === 401 || response.status === 404) throw new Error(token ? "This bookmarklet’s token is no longer valid. Make a new bookmarklet." : "You are signed out. Sign in, then save it again.");
  if (!response.ok) throw new Error(problemOf(response.status, payload));
  return payload;
}

async function saveAndSay(sent) {
  byId("capture-problem").hidden = true;
  const saved = await save(sent);
  form.hidden = true;
  byId("capture-title").textContent = saved.created ? "Saved" : "Saved before";
  const paths = [saved.link && saved.link.path, saved.note].filter(Boolean);
  say("capture-status", `${saved.created ? "In" : "It was already in"} the vault “${sent.vault}”: ${paths.join(", ")}`);
  if (isSignedIn && paths.length) {
    byId("capture-open").href = `/v/${encodeURIComponent(sent.vault)}/file/${paths[0].split("/").map(encodeURIComponent).join("/")}`;
    show("capture-saved");
  }
}

function showForm({ url, title, text }) {
  byId("capture-url").value = url;
  byId("capture-name").value = title;
  byId("capture-text").value = text;
  show("capture-form");
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = form.querySelector("[type=submit]");
  button.disabled = true;
  try {
    await saveAndSay({ url: byId("capture-url").value.trim(), title: byId("capture-name").value, text: byId("capture-text").value, vault: byId("capture-vault").value });
  } catch (error) {
    say("capture-problem", error.message);
  } finally {
    button.disabled = false;
  }
});

function showBookmarklet() {
  show("capture-make");
  const link = byId("bookmarklet");
  if (!link) return;
  const fixed = { vault: link.dataset.vault, ...(link.dataset.token ? { token: link.dataset.token } : {}) };
  const code = `(()=>{const s=String(getSelection()).slice(0,${MAX_TEXT});open(${JSON.stringify(`${location.origin}/capture#`)}+new URLSearchParams({url:location.href,title:document.title,text:s,...${JSON.stringify(fixed)}}),"_blank","width=560,height=640")})()`;
  link.href = `javascript:${encodeURIComponent(code)}`;
  link.addEventListener("click", (event) => event.preventDefault()); // it does nothing on this page
  byId("bookmarklet-text").value = link.href;
}

async function start() {
  const sent = takeSent();
  const page = Object.fromEntries(["url", "title", "text", "vault", "token"].map((name) => [name, sent.get(name) || ""]));
  if (sent.has("lost")) {
    say("capture-problem", "You are signed out, so what you shared was not saved. Sign in, then share it again.");
    if (!isSignedIn) show("capture-signin");
    return;
  }
  if (!page.url && !page.text) {
    showBookmarklet();
    return;
  }
  if (page.token && page.vault) {
    byId("capture-title").textContent = "Saving …";
    try {
      await saveAndSay(page);
    } catch (error) {
      byId("capture-title").textContent = "Not saved";
      say("capture-problem", error.message);
    }
    return;
  }
  if (!isSignedIn) {
    sessionStorage.setItem(KEPT, new URLSearchParams(page).toString());
    say("capture-status", "Sign in to save this page.");
    show("capture-signin");
    return;
  }
  if (!byId("capture-vault")) {
    say("capture-problem", "You may not change any vault here, so there is nothing to save into.");
    return;
  }
  byId("capture-title").textContent = "Save this page?";
  const choices = [...(byId("capture-vault").options || [])].map((option) => option.value);
  if (choices.includes(page.vault)) byId("capture-vault").value = page.vault;
  showForm(page);
}

start();
