/* Reads the events of an answer from the server as they arrive. */

import { base } from "./page_context.js";
import { parseJson, problemOf } from "./server.js";

/** Ask, and call the handler of each event; rejects when the server refuses or the stream ends early. */
export async function streamAnswer(body, signal, handlers) {
  let response;
  try {
    response = await fetch(`${base}/api/ask`, {
      method: "POST", signal, body: JSON.stringify(body),
      headers: { Accept: "text/event-stream", "Content-Type": "application/json" },
    });
  } catch (error) {
    throw error.name === "AbortError" ? error : new Error("The server does not answer; is chyme still running?");
  }
  if (response.status === 401) throw new Error("You are signed out; sign in and ask again.");
  if (!response.ok) throw new Error(problemOf(response.status, parseJson(await response.text())));
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  let isWhole = false;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const blocks = (text + part.value).split("\n\n");
    text = blocks.pop();
    for (const block of blocks) {
      const name = /^event: (\w+)$/m.exec(block)?.[1];
      const data = parseJson(/^data: (.*)$/m.exec(block)?.[1] ?? "null");
      if (name === "problem") throw new Error(data.detail);
      if (name && handlers[name]) handlers[name](data);
      isWhole ||= name === "answer";
    }
  }
  if (!isWhole) throw new Error("The answer ended early; ask again.");
}
