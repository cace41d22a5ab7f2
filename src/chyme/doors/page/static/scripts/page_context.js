/* What the server says about this page. */

const root = document.documentElement;

/** The prefix of this vault's addresses: empty when it is the only one. */
export const base = root.dataset.base || "";

export const mayWrite = !root.hasAttribute("data-reader");

/** The newest event that this page shows already. */
export const newestEvent = root.dataset.after || null;
