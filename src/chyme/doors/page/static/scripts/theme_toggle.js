/* Light or dark: the buttons for it and what they remember. */

const root = document.documentElement;
const systemDark = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : systemDark.matches);

/** The chosen theme: "light", "dark" or "" for the system's. */
export function chosenTheme() {
  try {
    return localStorage.getItem("chyme-theme") || "";
  } catch (error) {
    return root.dataset.theme || "";
  }
}

export function chooseTheme(theme) {
  if (theme) root.dataset.theme = theme;
  else delete root.dataset.theme;
  try {
    if (theme) localStorage.setItem("chyme-theme", theme);
    else localStorage.removeItem("chyme-theme");
  } catch (error) {
    /* without storage it is chosen for this page only */
  }
}

function showButtons() {
  for (const button of document.querySelectorAll("[data-theme-toggle]")) {
    button.querySelector("use").setAttribute("href", `/static/icons.svg#${isDark() ? "sun" : "moon"}`);
    const label = button.querySelector("[data-theme-label]");
    if (label) label.textContent = isDark() ? "Light" : "Dark";
  }
}

export function toggleTheme() {
  chooseTheme(isDark() ? "light" : "dark");
  showButtons();
}

systemDark.addEventListener("change", showButtons);
showButtons();
