/* A file goes elsewhere and comes back: renamed, or into the trash. */
(function () {
  "use strict";

  const file = chyme.file;
  const { page, path, here, pressed } = file;

  async function remove() {
    let gone;
    try {
      gone = (await chyme.api("DELETE", here)).trashed;
    } catch (error) {
      chyme.problem(error);
      return;
    }
    const name = path.split("/").pop();
    const folder = path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : "";
    const back = async () => {
      try {
        const told = await chyme.api("POST", `/api/trash/${encodeURIComponent(gone.id)}/restore`);
        location.replace(`${chyme.base}/file/${chyme.at(told.restored.path)}`);
      } catch (error) {
        chyme.problem(error);
      }
    };
    const shown = document.createElement("div");
    shown.className = "empty";
    const words = Object.assign(document.createElement("h1"), { textContent: `“${name}” is in the trash`, tabIndex: -1 });
    const undone = Object.assign(document.createElement("button"), { className: "btn btn-primary", type: "button", textContent: "Bring it back" });
    const leave = Object.assign(document.createElement("a"), { className: "btn", textContent: folder ? "To its folder" : "To the vault" });
    leave.href = `${chyme.base}/${folder ? `?folder=${encodeURIComponent(folder)}` : ""}`;
    undone.addEventListener("click", back);
    const row = Object.assign(document.createElement("div"), { className: "row" });
    row.append(undone, leave);
    shown.append(words, row);
    page.replaceWith(shown);
    words.focus();
    chyme.toast(`“${name}” is in the trash`, { label: "Undo", action: back });
  }

  async function rename(back) {
    file.leaving = true;
    try {
      const told = await chyme.api("POST", `${here}/rename${back ? "-back" : ""}`);
      sessionStorage.setItem("chyme-said", JSON.stringify({ text: `It is called “${told.path.split("/").pop()}” now`, back: back ? "" : told.path }));
      location.replace(`${chyme.base}/file/${chyme.at(told.path)}`); // under the old name there is nothing to go back to
    } catch (error) {
      file.leaving = false;
      chyme.problem(error);
    }
  }

  pressed("[data-delete]", remove);
  pressed("[data-rename]", () => rename(false));

  const said = sessionStorage.getItem("chyme-said");
  if (said && JSON.parse(said).back === path) {
    sessionStorage.removeItem("chyme-said");
    chyme.toast(JSON.parse(said).text, { label: "Undo", action: () => rename(true) });
  } else if (said && JSON.parse(said).back === "") {
    sessionStorage.removeItem("chyme-said");
    chyme.toast(JSON.parse(said).text);
  }
})();
