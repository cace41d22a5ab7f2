/* Shows sentences with their citations. Whatever they say is text: only the links of citations lead anywhere. */

import { create } from "./dom.js";

function citationLink(citation, number) {
  const link = create("a", { className: "ask-place", href: citation.link, title: citation.quote });
  link.append(create("span", { className: "ask-number", textContent: String(number) }), citation.label);
  return create("li", {}, link);
}

/** One sentence as a list item: with its places, or struck and why. */
export function showSentence(sentence) {
  if (!sentence.supported) {
    const said = create("del", { textContent: sentence.text, dir: "auto" });
    return create("li", { className: "ask-struck" }, create("span", { className: "visually-hidden", textContent: "Not supported: " }), said,
      create("span", { className: "ask-reason", textContent: ` Struck: ${sentence.reason}.` }));
  }
  const places = create("ul", { className: "ask-places" }, ...sentence.citations.map((citation, index) => citationLink(citation, index + 1)));
  places.setAttribute("aria-label", "Places");
  return create("li", {}, create("span", { className: "ask-said", textContent: sentence.text, dir: "auto" }), places);
}

/** The elements of a whole answer. */
export function showAnswer(answer) {
  const shown = [];
  if (!answer.found) shown.push(create("p", { className: "ask-nothing", textContent: "It is not in your files." }));
  const sentences = create("ol", { className: "ask-sentences" }, ...answer.sentences.map(showSentence));
  if (answer.means === "quotations") sentences.classList.add("ask-quoted");
  if (answer.sentences.length) shown.push(sentences);
  if (answer.model && answer.means === "model") shown.push(create("p", { className: "muted small", textContent: `Written by ${answer.model}, each sentence held against its places.` }));
  for (const note of answer.notes) shown.push(create("p", { className: "muted small", textContent: note }));
  return shown;
}
