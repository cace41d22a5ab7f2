/* Adding: drop anywhere, paste anything, or choose in the dialog. Every file tells how far it is. */
(function () {
  "use strict";

  const dialog = document.getElementById("add");
  const overlay = document.getElementById("drop");
  if (!dialog || !overlay) return;
  const input = document.getElementById("add-input");
  const list = dialog.querySelector("[data-uploads]");
  const problem = document.getElementById("add-problem");
  const tabs = [...dialog.querySelectorAll("[role=tab]")];
  const AT_ONCE = 3;
  const waiting = [];
  let running = 0;

  const folder = () => new URLSearchParams(location.search).get("folder") || "";

  function show(which) {
    for (const tab of tabs) {
      const on = tab.id === `add-tab-${which}`;
      tab.setAttribute("aria-selected", String(on));
      tab.tabIndex = on ? 0 : -1;
      document.getElementById(tab.getAttribute("aria-controls")).hidden = !on;
    }
    problem.hidden = true;
  }

  function nameFolder() {
    for (const one of document.querySelectorAll("[data-add-folder]")) one.textContent = folder() || "the vault’s top folder";
  }

  function open(which = "files") {
    nameFolder();
    show(which);
    chyme.open(dialog);
    const first = { files: input, link: document.getElementById("add-url"), note: document.getElementById("add-text") }[which];
    first.focus();
  }

  document.addEventListener("chyme:add", () => open());
  document.addEventListener("click", (event) => { if (event.target.closest?.("[data-add]")) open(); });
  for (const tab of tabs) {
    tab.addEventListener("click", () => open(tab.id.replace("add-tab-", "")));
    tab.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!by) return;
      event.preventDefault();
      const next = tabs[(tabs.indexOf(tab) + by + tabs.length) % tabs.length];
      show(next.id.replace("add-tab-", ""));
      next.focus();
    });
  }

  /* ---- files ---- */

  const MOST_LINES = 200; // of those that are done: what waits or was refused stays to be seen
  let sum = { added: 0, fresh: 0, failed: 0 }; // since all was quiet

  function send(files, into = folder()) {
    const some = [...files];
    if (!some.length) return;
    for (const file of some) waiting.push({ file, into, line: line(file.name) });
    if (!dialog.open) float();
    next();
  }

  function line(name) {
    const shown = document.createElement("li");
    shown.className = "upload";
    const label = document.createElement("span");
    label.className = "clip";
    label.textContent = chyme.printable(name);
    const part = document.createElement("span");
    part.className = "muted small";
    part.textContent = "Waiting";
    const bar = document.createElement("progress");
    bar.className = "progress";
    bar.max = 1;
    bar.value = 0;
    bar.setAttribute("aria-label", `How much of ${name} has arrived`);
    shown.append(label, part, bar);
    list.append(shown);
    for (const old of [...list.querySelectorAll("[data-done]")].slice(0, Math.max(0, list.children.length - MOST_LINES))) old.remove();
    return { shown, part, bar };
  }

  function next() {
    while (running < AT_ONCE && waiting.length) {
      running += 1;
      one(waiting.shift()).finally(() => { running -= 1; next(); });
    }
    if (!running && !waiting.length) finished();
  }

  function one({ file, into, line: { shown, part, bar } }) {
    if (file.size > Number(dialog.dataset.most)) { // a server that refuses in the middle is not heard by browsers
      fail(shown, part, bar, `It is larger than ${dialog.dataset.mostSaid}, the most that is taken (upload_bytes).`);
      return Promise.resolve();
    }
    return new Promise((done) => {
      const body = new FormData();
      body.append("file", file, file.name);
      const request = new XMLHttpRequest(); // fetch does not tell how much has been sent
      request.open("POST", `${chyme.base}/api/upload?folder=${encodeURIComponent(into)}`);
      request.setRequestHeader("Accept", "application/json");
      request.upload.addEventListener("progress", (event) => {
        if (!event.lengthComputable) return;
        bar.value = event.loaded / event.total;
        part.textContent = event.loaded < event.total ? `${Math.floor((event.loaded / event.total) * 100)}%` : "Storing";
      });
      request.addEventListener("loadend", () => {
        let told = null;
        try {
          told = JSON.parse(request.responseText);
        } catch (error) {
          told = null;
        }
        const wrong = request.status >= 200 && request.status < 300 ? refused(told) : (told && told.detail) || (request.status ? `The server answered ${request.status}.` : "The connection broke.");
        if (wrong) fail(shown, part, bar, wrong);
        else {
          shown.dataset.done = "1";
          part.className = "small upload-done";
          part.textContent = told.files.every((entry) => entry.created) ? "Added" : "There already";
          sum.added += 1;
          if (told.files.some((entry) => entry.created)) sum.fresh += 1;
          bar.remove();
          for (const entry of told.files) chyme.vault?.note(entry.path);
        }
        done();
      });
      request.send(body);
    });
  }

  const refused = (told) => told.files.map((entry) => entry.problem).find(Boolean) || null;

  function fail(shown, part, bar, why) {
    part.className = "badge badge-red";
    part.textContent = "Not added";
    bar.remove();
    const words = document.createElement("span");
    words.className = "upload-why";
    words.textContent = why;
    shown.append(words);
    shown.dataset.failed = "1";
    sum.failed += 1;
  }

  function float() {
    list.classList.add("uploads-float");
    document.body.append(list);
  }

  function finished() {
    const { failed, added, fresh } = sum;
    sum = { added: 0, fresh: 0, failed: 0 };
    if (added && !failed) chyme.toast(!fresh ? "That was in the vault already." : fresh === 1 ? "1 file added." : `${fresh} files added.`);
    for (const done of list.querySelectorAll("[data-done]")) setTimeout(() => { done.remove(); }, failed ? 0 : 1500);
    if (added && !failed && dialog.open) dialog.close();
    if (failed && !dialog.open) setTimeout(() => list.querySelectorAll("[data-failed]").forEach((one_) => one_.remove()), 20000);
  }

  dialog.addEventListener("close", () => {
    if (list.children.length) float();
  });
  dialog.addEventListener("toggle", () => { if (dialog.open) home(); });
  function home() {
    list.classList.remove("uploads-float");
    dialog.querySelector(".dialog-body").append(list);
  }

  input.addEventListener("change", () => { send(input.files); input.value = ""; });

  /* ---- dropping ---- */

  let depth = 0;
  const carries = (event) => event.dataTransfer && [...event.dataTransfer.types].some((type) => type === "Files" || type === "text/uri-list");
  addEventListener("dragenter", (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    depth += 1;
    nameFolder();
    overlay.hidden = false;
  });
  addEventListener("dragover", (event) => { if (carries(event)) { event.preventDefault(); event.dataTransfer.dropEffect = "copy"; } });
  addEventListener("dragleave", () => { depth = Math.max(0, depth - 1); if (!depth) overlay.hidden = true; });
  addEventListener("drop", async (event) => {
    depth = 0;
    overlay.hidden = true;
    if (!carries(event)) return;
    event.preventDefault();
    const address = event.dataTransfer.getData("text/uri-list").split("\n").find((one_) => /^https?:/.test(one_));
    const folders = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.()).filter((entry) => entry?.isDirectory);
    const files = [...event.dataTransfer.files];
    if (folders.length) {
      for (const entry of folders) await walk(entry, folder()).catch(chyme.problem);
      const inside = new Set(folders.map((entry) => entry.name));
      send(files.filter((file) => !inside.has(file.name)));
    } else if (files.length) send(files);
    else if (address) link(address.trim()).catch(chyme.problem);
  });

  /** The files of a dropped folder, each into the folder of the same name. */
  async function walk(entry, into) {
    if (entry.isFile) {
      send([await new Promise((found, wrong) => entry.file(found, wrong))], into);
      return;
    }
    const reader = entry.createReader();
    const inside = into ? `${into}/${entry.name}` : entry.name;
    for (;;) {
      const some = await new Promise((found, wrong) => reader.readEntries(found, wrong));
      if (!some.length) return;
      for (const one_ of some) await walk(one_, inside);
    }
  }

  /* ---- pasting ---- */

  addEventListener("paste", (event) => {
    const target = event.target;
    if (target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA)$/.test(target.tagName))) return;
    const data = event.clipboardData;
    if (!data) return;
    if (data.files.length) {
      event.preventDefault();
      send([...data.files].map(named));
      return;
    }
    const text = data.getData("text/plain").trim();
    if (!text) return;
    event.preventDefault();
    if (/^https?:\/\/\S+$/.test(text)) {
      open("link");
      document.getElementById("add-url").value = text;
    } else {
      open("note");
      document.getElementById("add-text").value = text;
    }
  });

  /** A picture from the clipboard is called image.png, like all the others. */
  function named(file) {
    if (!/^image\.\w+$/.test(file.name)) return file;
    const now = new Date();
    const moment = new Date(now - now.getTimezoneOffset() * 60000).toISOString().slice(0, 19).replace("T", " ").replaceAll(":", ".");
    return new File([file], `Pasted ${moment}.${file.name.split(".").pop()}`, { type: file.type });
  }

  /* ---- links and notes ---- */

  async function link(url) {
    const told = await chyme.api("POST", "/api/links", { url, folder: folder() });
    chyme.toast(told.created ? "Link added." : "This link is in the vault already.");
    chyme.vault?.note(told.path);
  }

  async function submit(event, work) {
    event.preventDefault();
    problem.hidden = true;
    const button = event.target.querySelector("[type=submit]");
    button.disabled = true;
    try {
      await work();
      event.target.reset();
      dialog.close();
    } catch (error) {
      problem.textContent = error.message;
      problem.hidden = false;
    } finally {
      button.disabled = false;
    }
  }

  document.getElementById("add-link").addEventListener("submit", (event) => submit(event, () => {
    const url = document.getElementById("add-url").value.trim();
    return link(/^[a-z][a-z0-9+.-]*:/i.test(url) ? url : `https://${url}`);
  }));
  document.getElementById("add-note").addEventListener("submit", (event) => submit(event, async () => {
    const title = document.getElementById("add-title-input").value.trim();
    const told = await chyme.api("POST", "/api/notes", { text: document.getElementById("add-text").value, ...(title ? { title } : {}), folder: folder() });
    chyme.toast("Note added.");
    chyme.vault?.note(told.path);
  }));
})();
