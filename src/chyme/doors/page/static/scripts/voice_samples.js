/* Playing a few seconds of a person's voice. */

import { encodePath } from "./format.js";
import { base } from "./page_context.js";
import { callApi } from "./server.js";

const SECONDS = 6;
const audio = new Audio();
let playing = null; // the pressed button
let end = 0;

function showButton(button, isPlaying) {
  button.setAttribute("aria-pressed", String(isPlaying));
  button.querySelector("use").setAttribute("href", `/static/icons.svg#${isPlaying ? "pause" : "play"}`);
}

export function stopSample() {
  audio.pause();
  if (playing) showButton(playing, false);
  playing = null;
}

audio.addEventListener("timeupdate", () => { if (audio.currentTime >= end) stopSample(); });
audio.addEventListener("ended", stopSample);

/** The recording and the seconds that a button plays. The button of a person does not say them, so they are asked for. */
async function sampleOf({ src, from, until, listen }) {
  if (src) return { src, start: Number(from), until: Number(until) };
  const { voices } = await callApi("GET", `/api/people/${listen}`);
  const voice = voices.find((candidate) => candidate.start !== null) || voices[0];
  return { src: `${base}/api/raw/${encodePath(voice.path)}`, start: Number(voice.start || 0), until: Number(voice.end || 5) };
}

/** Play the sample of a button, or stop it if it is playing. */
export async function toggleSample(button) {
  const wasPlaying = playing === button;
  stopSample();
  if (wasPlaying) return;
  const { src, start, until } = await sampleOf(button.dataset);
  end = Math.min(until, start + SECONDS);
  playing = button;
  showButton(button, true);
  audio.src = `${src}#t=${start},${end}`;
  try {
    await audio.play();
  } catch (error) {
    stopSample();
    throw new Error("This browser cannot play the recording.");
  }
}
