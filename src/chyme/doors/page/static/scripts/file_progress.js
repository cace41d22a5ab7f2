/* How far the digesters are with this file. */

import { byId } from "./dom.js";
import { page, path } from "./file_context.js";

/** The label of a digester, which is on its card. */
const labelOf = (digester) => byId(`digest-${digester}`)?.firstChild.textContent.trim() || digester;

document.addEventListener("chyme:status", ({ detail }) => {
  const steps = (detail.work || []).filter((step) => step.path === path);
  if (!steps.length) return;
  const text = page.querySelector("[data-working]");
  if (text) text.textContent = ` · ${steps.map((step) => `${labelOf(step.digester)} ${Math.round((step.fraction || 0) * 100)} %`).join(", ")}`;
  const total = page.querySelector("[data-settled]");
  if (total) total.value = Number(total.dataset.settled) + steps.reduce((sum, step) => sum + (step.fraction || 0), 0);
  for (const step of steps) {
    const bar = page.querySelector(`[data-fraction="${CSS.escape(step.digester)}"]`);
    if (bar && step.fraction) bar.value = step.fraction;
  }
});
