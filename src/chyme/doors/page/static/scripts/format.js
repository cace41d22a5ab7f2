/* Text for people, and paths for addresses. */

/** Show characters that turn the line around or are invisible as \uXXXX; the server shows names the same way. */
export const printable = (text) => text.replace(
  /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
  (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
);

/** Encode a file's path as part of an address. */
export const encodePath = (path) => path.split("/").map(encodeURIComponent).join("/");

/** The last part of a path. */
export const fileName = (path) => path.split("/").pop();

export const capitalise = (text) => text.charAt(0).toUpperCase() + text.slice(1);

export const formatNumber = (number) => Number(number).toLocaleString("en");

/** "1 file", "1,200 files". */
export const formatCount = (count, noun) => `${formatNumber(count)} ${noun}${count === 1 ? "" : "s"}`;

/** Format seconds roughly: "about 5 min". */
export function formatDuration(seconds) {
  if (seconds < 50) return "under a minute";
  if (seconds < 5400) return `about ${Math.max(1, Math.round(seconds / 60))} min`;
  if (seconds < 36 * 3600) return `about ${Math.round(seconds / 3600)} h`;
  return `about ${Math.round(seconds / 86400)} days`;
}

/** Format seconds as on a player: 1:02:03. */
export function formatTime(seconds) {
  const whole = Math.floor(seconds || 0);
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor(whole / 60) % 60;
  const twoDigits = (number) => String(number).padStart(2, "0");
  return hours ? `${hours}:${twoDigits(minutes)}:${twoDigits(whole % 60)}` : `${minutes}:${twoDigits(whole % 60)}`;
}
