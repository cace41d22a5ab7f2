/* The player of a recording or a film. */

import { find } from "./file_context.js";
import { formatTime } from "./format.js";
import { registerKey } from "./keyboard.js";
import { showToast } from "./toasts.js";
import { followSpeech, readTranscript, showSpeech, showTarget } from "./transcript.js";

let media = null;

const duration = () => (media && Number.isFinite(media.duration) && media.duration) || Number(find("[data-player]").dataset.duration) || 0;
const isPlaying = () => Boolean(media && !media.paused);

function showButton() {
  const button = find("[data-play]");
  button.setAttribute("aria-label", media.paused ? "Play" : "Pause");
  button.querySelector("use").setAttribute("href", `/static/icons.svg#${media.paused ? "play" : "pause"}`);
}

function toggle() {
  if (media.paused) media.play().catch(() => showToast("This browser cannot play it; download it instead.", { red: true }));
  else media.pause();
}

function seek(seconds, startsPlaying) {
  media.currentTime = Math.min(Math.max(seconds, 0), duration() || seconds);
  followSpeech(true);
  if (startsPlaying && media.paused) media.play().catch(() => {});
  showPosition();
}

function showPosition() {
  const now = media.currentTime;
  const total = duration();
  find("[data-clock]").textContent = formatTime(now);
  const slider = find("[data-seek]");
  if (document.activeElement !== slider || !media.paused) slider.value = now;
  slider.setAttribute("aria-valuetext", `${formatTime(now)} of ${formatTime(total)}`);
  const played = find("[data-played]");
  if (played && total) played.setAttribute("width", String((now / total) * played.ownerSVGElement.viewBox.baseVal.width));
  showSpeech(now);
}

function showPositionWhilePlaying() {
  if (!media || media.paused || media.ended) return;
  showPosition();
  requestAnimationFrame(showPositionWhilePlaying);
}

function connectMedia() {
  const element = find("[data-media]");
  if (!element || element === media) return;
  media = element;
  media.addEventListener("play", () => { showButton(); showPositionWhilePlaying(); });
  media.addEventListener("pause", () => { showButton(); showPosition(); });
  media.addEventListener("seeked", showPosition);
  media.addEventListener("durationchange", () => {
    find("[data-length]").textContent = formatTime(duration());
    find("[data-seek]").max = duration();
    showPosition();
  });
  find("[data-play]").addEventListener("click", toggle);
  find("[data-seek]").addEventListener("input", (event) => seek(Number(event.target.value), false));
  find("[data-speed]").addEventListener("change", (event) => { media.playbackRate = Number(event.target.value); });
  const { at } = find("[data-player]").dataset;
  if (at !== undefined) goTo(Number(at));
}

/** Go to the second that a search has found, ready to be played. */
function goTo(seconds) {
  const setPosition = () => { media.currentTime = seconds; showPosition(); };
  if (media.readyState >= 1) setPosition();
  else media.addEventListener("loadedmetadata", setPosition, { once: true });
  showTarget(seconds + 0.05);
}

function connect() {
  readTranscript({ seek, isPlaying });
  connectMedia();
}

function seekBy(seconds, event) {
  if (!media || event.target.matches("input, video")) return false;
  seek(media.currentTime + seconds, false);
}

connect();
document.addEventListener("chyme:stage", connect);
registerKey(" ", "Play or pause", (event) => {
  if (!media || event.target.closest("button, a, summary, video, [data-lines] button")) return false;
  toggle();
});
registerKey("ArrowLeft", "Five seconds back", (event) => seekBy(-5, event));
registerKey("ArrowRight", "Five seconds on", (event) => seekBy(5, event));
