/* The transcript of a recording: it follows the player, its words can be clicked, and it can be searched. */

import { create } from "./dom.js";
import { find, page } from "./file_context.js";

let lines = []; // {node, start, end, words: [{node, start, end}] or null, text}
let currentLine = null;
let currentWord = null;
let scrolledAt = 0; // when this script scrolled: scrolling by the person ends following
let player = null; // {seek, isPlaying}

const isFollowing = () => find("[data-follow]").getAttribute("aria-pressed") === "true";

/** Read the lines of the transcript that is shown, and react to clicks and scrolling in it. */
export function readTranscript({ seek, isPlaying }) {
  player = { seek, isPlaying };
  lines = [...page.querySelectorAll(".line")].map((node) => ({
    node, start: Number(node.dataset.start), end: Number(node.dataset.end), words: null, text: node.querySelector("p"),
  }));
  currentLine = currentWord = null;
  const list = find("[data-lines]");
  if (!list || list.dataset.connected) return;
  list.dataset.connected = "1";
  for (const kind of ["wheel", "touchmove"]) list.addEventListener(kind, () => followSpeech(false), { passive: true });
  list.addEventListener("scroll", () => {
    if (Date.now() - scrolledAt > 600 && list.matches(":hover") && player.isPlaying()) followSpeech(false);
  }, { passive: true });
  list.addEventListener("pointerover", (event) => { const line = lineOf(event.target); if (line) splitWords(line); });
  list.addEventListener("click", playClicked);
  find("[data-follow]").addEventListener("click", () => followSpeech(!isFollowing()));
  find("[data-find]").addEventListener("input", findText);
  find("[data-find]").addEventListener("keydown", (event) => {
    if (event.key === "Enter") { event.preventDefault(); showMatch(event.shiftKey ? -1 : 1); }
  });
  markMatches(); // of what was typed before the transcript was replaced
}

function lineOf(node) {
  const row = node.closest && node.closest(".line");
  return row ? lines.find((line) => line.node === row) : null;
}

/** Make elements of the words of a line. Only when they are needed: a long recording has tens of thousands. */
function splitWords(line) {
  if (line.words) return;
  const characters = [...line.text.textContent]; // the server counts code points, not UTF-16 units
  line.words = [];
  const pieces = [];
  let position = 0;
  for (const [first, last, start, end] of JSON.parse(line.node.dataset.words || "[]")) {
    if (first > position) pieces.push(characters.slice(position, first).join(""));
    const node = create("span", { className: "w", textContent: characters.slice(first, last).join("") });
    line.words.push({ node, start, end });
    pieces.push(node);
    position = last;
  }
  pieces.push(characters.slice(position).join(""));
  if (line.words.length) line.text.replaceChildren(...pieces);
}

function playClicked(event) {
  const line = lineOf(event.target);
  if (!line || event.target.closest("a") || String(getSelection())) return;
  if (event.target.closest(".line-time")) {
    player.seek(line.start, true);
    return;
  }
  if (!event.target.closest("p")) return;
  splitWords(line);
  const node = event.target.closest(".w") || (document.elementFromPoint(event.clientX, event.clientY) || line.node).closest(".w");
  const word = node && line.words.find((candidate) => candidate.node === node);
  player.seek(word ? word.start : line.start, true);
}

/** The last line that has begun. */
function lineAt(seconds) {
  let low = 0;
  let high = lines.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lines[middle].start <= seconds) low = middle + 1;
    else high = middle;
  }
  return lines[low - 1] || null;
}

/** Highlight the line and the word that are spoken now. */
export function showSpeech(seconds) {
  const begun = lineAt(seconds);
  const line = begun && seconds <= begun.end + 1.5 ? begun : null;
  if (line !== currentLine) {
    if (currentLine) currentLine.node.classList.remove("now");
    if (line) {
      line.node.classList.add("now");
      splitWords(line);
      if (isFollowing()) scrollToLine(line);
    }
    currentLine = line;
  }
  const word = (line ? (line.words || []).findLast((candidate) => candidate.start <= seconds && seconds < candidate.end + 0.4) : null) || null;
  if (word !== currentWord) {
    if (currentWord) currentWord.node.classList.remove("now");
    if (word) word.node.classList.add("now");
    currentWord = word;
  }
}

/** Mark the line at these seconds as the one that a search has found. */
export function showTarget(seconds) {
  const line = lineAt(seconds);
  if (line) {
    line.node.classList.add("target");
    scrollToLine(line);
  }
  showSpeech(seconds);
}

function scrollToLine(line) {
  const list = find("[data-lines]");
  scrolledAt = Date.now();
  const top = line.node.offsetTop - list.clientHeight / 3;
  list.scrollTo({ top, behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "instant" : "smooth" });
}

/** Scroll along with what is spoken, or stop that. */
export function followSpeech(isOn) {
  const button = find("[data-follow]");
  if (!button) return;
  button.setAttribute("aria-pressed", String(isOn));
  if (isOn && currentLine) scrollToLine(currentLine);
}

/* ---- finding text ---- */

let matches = [];
let matchIndex = -1;

function markMatches() {
  const wanted = find("[data-find]").value.trim().toLocaleLowerCase();
  matches = wanted ? lines.filter((line) => line.text.textContent.toLocaleLowerCase().includes(wanted)) : [];
  for (const line of lines) line.node.classList.toggle("hit", matches.includes(line));
  find("[data-found-count]").textContent = wanted ? (matches.length ? `${matches.length} found` : "none") : "";
  matchIndex = -1;
}

function findText() {
  markMatches();
  showMatch(1);
}

function showMatch(by) {
  if (!matches.length) return;
  matchIndex = (matchIndex + by + matches.length) % matches.length;
  followSpeech(false);
  scrollToLine(matches[matchIndex]);
}
