/* Editing a file's title, date and tags in place, and taking it back. */
(function () {
  "use strict";

  const { page, path, here, refresh, catchUp, forgetWaiting, pressed } = chyme.file;

  /** What went wrong, without the path: one knows where one is. */
  const plain = (error) => (error.message.startsWith(`${path}: `) ? capital(error.message.slice(path.length + 2)) : error.message);
  const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

  /** Say beneath a field why what stands in it was refused; it stays there to be mended. */
  function refuse(form, input, error) {
    let told = form.querySelector("[data-refused]");
    if (!told) {
      told = Object.assign(document.createElement("p"), { className: "refused small", id: `refused-${form.dataset.editing || "tag"}` });
      told.dataset.refused = "";
      told.setAttribute("role", "alert");
      form.append(told);
      input.addEventListener("input", () => {
        told.remove();
        input.removeAttribute("aria-invalid");
        input.removeAttribute("aria-describedby");
      }, { once: true });
    }
    told.textContent = plain(error);
    input.setAttribute("aria-invalid", "true");
    input.setAttribute("aria-describedby", told.id);
    input.focus({ preventScroll: true });
  }

  async function undo() {
    for (const form of page.querySelectorAll("[data-editing]")) form.leave(); // what it would say is of before
    try {
      const told = await chyme.api("POST", `${here}/undo`);
      chyme.toast(`Undone: ${told.undone.slice(path.length + 2)}`);
    } catch (error) {
      chyme.problem(Object.assign(new Error(plain(error)), { told: error.told }));
    }
    refresh();
  }

  /** Ask for a change; `no` is called with the reason when it is refused. */
  async function change(body, words, no) {
    try {
      await chyme.api("PATCH", here, body);
      chyme.toast(words, { label: "Undo", action: undo });
    } catch (error) {
      no(error);
      return false;
    }
    refresh();
    return true;
  }

  function clear(button) {
    chyme.api("POST", `${here}/clear`, { field: button.dataset.clear })
      .then(() => chyme.toast(`What the machine said of the ${button.dataset.clear} counts again`, { label: "Undo", action: undo }))
      .catch(chyme.problem).finally(refresh);
  }

  pressed("[data-undo]", undo);
  pressed("[data-clear]", clear);

  /* ---- title and date ---- */

  function edit(button) {
    const field = button.dataset.edit;
    const holder = button.closest("[data-field]");
    const title = field === "title";
    const { form, input, kept, back } = chyme.inPlace(holder, button, {
      className: "edit-form",
      editing: field,
      value: button.dataset.now || (title ? holder.querySelector("[data-value]").textContent : ""),
      label: title ? "Title" : "Date, as in 2026-04-03, 2026-04 or 2026",
      maxLength: title ? 200 : 10,
      placeholder: title ? "" : "2026-04-03",
    }, catchUp);
    form.leave = () => back(form.contains(document.activeElement));
    let sent = false;
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const value = input.value.trim();
      if (sent) return;
      if (value === (button.dataset.now || "")) {
        back();
        return;
      }
      sent = true;
      const words = value ? `The ${field} is “${value}” now` : `The ${field} is taken away`;
      const taken = await change({ [field]: value || null }, words, (error) => (form.isConnected ? refuse(form, input, error) : chyme.problem(error)));
      sent = false;
      if (!taken || !form.isConnected) return;
      const shown = kept.find((one) => one instanceof Element && one.matches("[data-value]"));
      if (shown) shown.textContent = value || (title ? path.split("/").pop() : "none");
      forgetWaiting(); // it was made before the change, and a newer one comes
      back();
    });
  }

  pressed("[data-edit]", edit);
  if (chyme.mayWrite) chyme.keys("e", "Edit the title", () => { const button = page.querySelector('[data-edit="title"]'); if (!button) return false; edit(button); });

  /* ---- tags ---- */

  function untag(button) {
    const chip = button.closest("[data-tag]");
    const tag = button.dataset.untag;
    const next = chip.nextElementSibling || chip.previousElementSibling;
    chip.hidden = true;
    const focus = next && next.querySelector(".tag-away");
    (focus || page.querySelector("#new-tag")).focus({ preventScroll: true });
    change({ remove_tags: [tag] }, `Not tagged “${tag}” any more`, (error) => { chip.hidden = false; chyme.problem(error); });
  }

  pressed("[data-untag]", untag);

  page.addEventListener("submit", (event) => {
    if (!event.target.matches("[data-add-tag]")) return;
    event.preventDefault();
    const input = event.target.querySelector("input");
    const tag = input.value.trim();
    if (!tag) return;
    input.value = "";
    const chip = Object.assign(document.createElement("li"), { className: "chip tag", textContent: tag });
    const list = page.querySelector(".tag-list");
    const none = [...list.querySelectorAll(".muted")];
    for (const one of none) one.remove();
    list.append(chip);
    change({ add_tags: [tag] }, `Tagged “${tag}”`, (error) => {
      chip.remove();
      if (!list.children.length) list.append(...none);
      if (!input.isConnected || input.value) chyme.problem(error);
      else {
        input.value = tag;
        refuse(event.target, input, error);
      }
    });
  });

  page.addEventListener("focusin", async (event) => {
    if (event.target.id !== "new-tag" || event.target.dataset.known) return;
    event.target.dataset.known = "1";
    try {
      const told = await chyme.api("GET", "/api/tags");
      const names = (told.tags || []).map((one) => one.tag || one.name || one);
      page.querySelector("#known-tags").replaceChildren(...names.slice(0, 500).map((name) => Object.assign(document.createElement("option"), { value: name })));
    } catch (error) {
      /* a tag can be typed without help */
    }
  });
})();
