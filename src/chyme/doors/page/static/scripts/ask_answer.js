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

/** What stands below the sentences of an answer: that there is none, who wrote them, and notes. */
export function showEnd(answer) {
  const shown = answer.found ? [] : [create("p", { className: "ask-nothing", textContent: "It is not in your files." })];
  const notes = answer.means === "model" ? [`Written by ${answer.model}, each sentence held against its places.`, ...answer.notes] : answer.notes;
  return [...shown, ...notes.map((note) => create("p", { className: "muted small", textContent: note }))];
}

/** The list for sentences; those of a quotation look like one. */
export const sentenceList = (means) => create("ol", { className: means === "quotations" ? "ask-sentences ask-quoted" : "ask-sentences" });

/** The elements of a whole answer. */
export function showAnswer(answer) {
  const sentences = sentenceList(answer.means);
  sentences.append(...answer.sentences.map(showSentence));
  return answer.sentences.length ? [sentences, ...showEnd(answer)] : showEnd(answer);
}
