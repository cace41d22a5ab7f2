// Buttons that ask the server for something, ask back where it cannot be undone, and tell what became of it.
//   data-post="/api/…" (data-method="DELETE"), data-body="{json}", data-toast="{files} files …" with values of the answer,
//   data-confirm="Question?" data-confirm-told="What it means" data-confirm-label="Delete", data-refresh="names of parts"
(() => {
  "use strict";

  const filled = (text, answer) => text.replace(/\{(\w+)\}/g, (_, name) => {
    const value = answer ? answer[name] : null;
    return typeof value === "number" ? value.toLocaleString("en") : String(value ?? "");
  });

  async function act(button) {
    const { post, body, method, toast, refresh, confirm, confirmTold, confirmLabel } = button.dataset;
    if (confirm && !(await chyme.confirm(confirm, confirmTold || "", confirmLabel || "Yes"))) {
      button.focus();
      return;
    }
    button.setAttribute("aria-disabled", "true"); // a disabled one would lose the focus
    try {
      const answer = await chyme.api(method || "POST", post, body ? JSON.parse(body) : undefined);
      if (toast) chyme.toast(filled(toast, answer));
      const parts = (refresh || "").split(" ").filter(Boolean);
      document.dispatchEvent(new CustomEvent("chyme:acted", { detail: { answer, parts } }));
    } catch (error) {
      chyme.problem(error);
    } finally {
      button.removeAttribute("aria-disabled");
    }
  }

  async function copy(button) {
    const source = document.getElementById(button.dataset.copy);
    try {
      await navigator.clipboard.writeText((source.value || source.textContent).trim());
      chyme.toast("Copied");
    } catch {
      if (source.select) source.select();
      else getSelection().selectAllChildren(source);
      chyme.toast("Selected; copy it with your keyboard");
    }
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-post], [data-copy]");
    if (!button || button.getAttribute("aria-disabled") === "true") return;
    if (button.dataset.copy) copy(button);
    else act(button);
  });

  const shown = new WeakMap(); // part → the fragment it shows, as text

  // Put a fragment in place of what a part shows; whoever stood on a button stands on the same one again.
  async function renew(part, address) {
    const holder = document.createElement("div");
    try {
      holder.append(await chyme.fragment(address));
    } catch {
      return; // the next event brings it
    }
    if (shown.get(part) === holder.innerHTML) return;
    shown.set(part, holder.innerHTML);
    const focused = part.contains(document.activeElement) ? document.activeElement.id : "";
    const open = [...part.querySelectorAll("details[id]")].map((one) => [one.id, one.open]);
    part.replaceChildren(...holder.childNodes);
    for (const [id, was] of open) {
      const one = document.getElementById(id);
      if (one) one.open = was;
    }
    if (focused) (document.getElementById(focused) || part.querySelector("a, button") || document.getElementById("main")).focus({ preventScroll: true });
  }

  chyme.renew = renew;
})();
