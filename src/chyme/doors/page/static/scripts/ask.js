/* Asking: sends the question, shows sentences as they are checked, and keeps the conversation of this tab. */

import { chooseAll, chosenPaths } from "./ask_about.js";
import { sentenceList, showAnswer, showEnd, showSentence } from "./ask_answer.js";
import { streamAnswer } from "./ask_stream.js";
import { byId, create } from "./dom.js";
import { formatCount } from "./format.js";
import { registerKey } from "./keyboard.js";
import { base } from "./page_context.js";

const KEY = `chyme:ask:${base}`;
const MOST_KEPT = 20;
const form = byId("ask");
const input = byId("ask-question");
const list = byId("ask-turns");
const status = byId("ask-status");
const stop = form.querySelector("[data-stop]");
const send = form.querySelector("[data-send]");
const about = byId("ask-about");
const anew = byId("ask-new");
let answers = []; // the whole answers of this conversation, oldest first
let request = null;

function keep() {
  try {
    sessionStorage.setItem(KEY, JSON.stringify(answers.slice(-MOST_KEPT)));
  } catch (error) {
    sessionStorage.removeItem(KEY); // too much for the browser: it stays on the page
  }
  anew.hidden = !answers.length;
}

function showAbout() {
  const paths = chosenPaths();
  about.hidden = !paths;
  if (!paths) return;
  about.querySelector("[data-about]").textContent = `Only in ${formatCount(paths.length, "selected file")}`;
  about.querySelector("ul").replaceChildren(...paths.slice(0, 12).map((path) => create("li", { textContent: path })));
}

function addTurn(question) {
  const heading = create("h2", { className: "ask-asked", textContent: question, dir: "auto" });
  const turn = create("li", { className: "ask-turn" }, heading);
  list.append(turn);
  return turn;
}

const earlierTurns = () => answers.map((answer) => ({
  question: answer.question,
  sentences: answer.sentences.filter((sentence) => sentence.supported).slice(0, 8).map((sentence) => ({
    text: sentence.text.slice(0, 600), paths: [...new Set(sentence.citations.map((citation) => citation.path))],
  })),
})).slice(-6);

async function ask(question) {
  const turn = addTurn(question);
  const draft = create("p", { className: "ask-draft", dir: "auto" });
  draft.setAttribute("aria-hidden", "true");
  let sentences = sentenceList();
  turn.append(sentences, draft);
  request = new AbortController();
  send.hidden = true;
  stop.hidden = false;
  status.textContent = "Looking in the files…";
  turn.scrollIntoView({ block: "nearest" });
  try {
    const body = { question, turns: earlierTurns(), paths: chosenPaths() };
    await streamAnswer(body, request.signal, {
      begin(event) {
        if (!sentences.children.length) {
          sentences.replaceWith((sentences = sentenceList(event.means))); // quotations in place of a model that failed
          draft.textContent = "";
        }
        status.textContent = `Reading ${formatCount(event.files, "file")}…`;
      },
      draft(event) { draft.textContent = event.text; },
      sentence(event) {
        draft.textContent = "";
        sentences.append(showSentence(event));
      },
      answer(event) {
        answers.push(event);
        draft.remove();
        if (!sentences.children.length) sentences.remove();
        turn.append(...showEnd(event)); // the sentences stay as they are: a screen reader has read them
        const count = event.sentences.filter((sentence) => sentence.supported).length;
        status.textContent = event.found ? `Answered in ${formatCount(count, "sentence")}.` : "It is not in your files.";
        keep();
      },
    });
  } catch (error) {
    draft.remove();
    const isStopped = error.name === "AbortError";
    status.textContent = isStopped ? "Stopped." : "No answer.";
    turn.append(create("p", { className: isStopped ? "muted small" : "notice notice-red", textContent: isStopped ? "Stopped." : error.message }));
  } finally {
    request = null;
    send.hidden = false;
    stop.hidden = true;
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const question = input.value.trim();
  if (!question || request) return;
  input.value = "";
  ask(question);
});
input.addEventListener("keydown", (event) => {
  if (event.key === "Escape") request?.abort();
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  form.requestSubmit();
});
stop.addEventListener("click", () => { request?.abort(); input.focus(); });
anew.addEventListener("click", () => {
  request?.abort();
  answers = [];
  list.replaceChildren();
  sessionStorage.removeItem(KEY);
  anew.hidden = true;
  status.textContent = "A new conversation.";
  input.focus();
});
about.querySelector("[data-all]").addEventListener("click", () => { chooseAll(); showAbout(); input.focus(); });
registerKey("i", "Write a question", () => input.focus());
registerKey("Escape", "Stop the answer", () => { if (!request) return false; request.abort(); });

try {
  answers = JSON.parse(sessionStorage.getItem(KEY)) || [];
} catch (error) {
  answers = [];
}
if (!list.children.length) for (const answer of answers) addTurn(answer.question).append(...showAnswer(answer));
anew.hidden = !answers.length;
showAbout();
if (!list.children.length || input.value) input.focus();
