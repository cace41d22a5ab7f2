/* The player of a recording, and its transcript in step. */
(function () {
  "use strict";

  const page = document.querySelector("[data-file]");
  if (!page) return;
  let media = null;
  let lines = []; // {node, start, end, words: [[first, last, start, end]], text}
  let current = null;
  let spoken = null;
  let scrolled = 0; // when we scrolled ourselves: the person's own scrolling ends following
  const one = (selector) => page.querySelector(selector);

  function clock(seconds) {
    const whole = Math.floor(seconds || 0);
    const hours = Math.floor(whole / 3600);
    const minutes = Math.floor(whole / 60) % 60;
    const two = (number) => String(number).padStart(2, "0");
    return hours ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`;
  }

  const length = () => (media && Number.isFinite(media.duration) && media.duration) || Number(one("[data-player]").dataset.duration) || 0;

  /* ---- the player ---- */

  function playing() {
    const button = one("[data-play]");
    button.setAttribute("aria-label", media.paused ? "Play" : "Pause");
    button.querySelector("use").setAttribute("href", `/static/icons.svg#${media.paused ? "play" : "pause"}`);
  }

  function toggle() {
    if (media.paused) media.play().catch(() => chyme.toast("This browser cannot play it; download it instead.", { red: true }));
    else media.pause();
  }

  function seek(seconds, start) {
    media.currentTime = Math.min(Math.max(seconds, 0), length() || seconds);
    follow(true);
    if (start && media.paused) media.play().catch(() => {});
    step();
  }

  function step() {
    const now = media.currentTime;
    const all = length();
    one("[data-clock]").textContent = clock(now);
    const slider = one("[data-seek]");
    if (document.activeElement !== slider || !media.paused) slider.value = now;
    slider.setAttribute("aria-valuetext", `${clock(now)} of ${clock(all)}`);
    const played = one("[data-played]");
    if (played && all) played.setAttribute("width", String((now / all) * played.ownerSVGElement.viewBox.baseVal.width));
    say(now);
  }

  function frame() {
    if (!media || media.paused || media.ended) return;
    step();
    requestAnimationFrame(frame);
  }

  function connect() {
    const found = one("[data-media]");
    if (!found || found === media) return;
    media = found;
    media.addEventListener("play", () => { playing(); frame(); });
    media.addEventListener("pause", () => { playing(); step(); });
    media.addEventListener("seeked", step);
    media.addEventListener("durationchange", () => {
      one("[data-length]").textContent = clock(length());
      one("[data-seek]").max = length();
      step();
    });
    one("[data-play]").addEventListener("click", toggle);
    one("[data-seek]").addEventListener("input", (event) => seek(Number(event.target.value), false));
    one("[data-speed]").addEventListener("change", (event) => { media.playbackRate = Number(event.target.value); });
    const at = one("[data-player]").dataset.at;
    if (at !== undefined) arrive(Number(at));
  }

  /** Somebody comes from a search: the second they were shown, ready to be played. */
  function arrive(seconds) {
    const go = () => { media.currentTime = seconds; step(); };
    if (media.readyState >= 1) go();
    else media.addEventListener("loadedmetadata", go, { once: true });
    const line = at(seconds + 0.05);
    if (line) {
      line.node.classList.add("target");
      show(line);
    }
    say(seconds + 0.05);
  }

  /* ---- the transcript ---- */

  function read() {
    lines = [...page.querySelectorAll(".line")].map((node) => ({
      node, start: Number(node.dataset.start), end: Number(node.dataset.end), words: null, text: node.querySelector("p"),
    }));
    current = spoken = null;
    const list = one("[data-lines]");
    if (!list || list.dataset.connected) return;
    list.dataset.connected = "1";
    for (const kind of ["wheel", "touchmove"]) list.addEventListener(kind, () => follow(false), { passive: true });
    list.addEventListener("scroll", () => { if (Date.now() - scrolled > 600 && list.matches(":hover") && media && !media.paused) follow(false); }, { passive: true });
    list.addEventListener("pointerover", (event) => { const line = of(event.target); if (line) split(line); });
    list.addEventListener("click", chosen);
    one("[data-follow]").addEventListener("click", () => follow(one("[data-follow]").getAttribute("aria-pressed") !== "true"));
    one("[data-find]").addEventListener("input", find);
    one("[data-find]").addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); next(event.shiftKey ? -1 : 1); } });
  }

  const of = (node) => {
    const row = node.closest && node.closest(".line");
    return row ? lines.find((line) => line.node === row) : null;
  };

  /** The words of a line as elements, made when somebody needs them: a long recording has tens of thousands. */
  function split(line) {
    if (line.words) return;
    const text = line.text.textContent;
    const letters = [...text]; // the server counts characters, not halves of them
    line.words = [];
    const pieces = [];
    let from = 0;
    for (const [first, last, start, end] of JSON.parse(line.node.dataset.words || "[]")) {
      if (first > from) pieces.push(letters.slice(from, first).join(""));
      const word = document.createElement("span");
      word.className = "w";
      word.textContent = letters.slice(first, last).join("");
      line.words.push({ node: word, start, end });
      pieces.push(word);
      from = last;
    }
    pieces.push(letters.slice(from).join(""));
    if (line.words.length) line.text.replaceChildren(...pieces);
  }

  function chosen(event) {
    const line = of(event.target);
    if (!line || event.target.closest("a") || String(getSelection())) return;
    if (event.target.closest(".line-time")) {
      seek(line.start, true);
      return;
    }
    if (!event.target.closest("p")) return;
    split(line);
    const on = event.target.closest(".w") || (document.elementFromPoint(event.clientX, event.clientY) || line.node).closest(".w");
    const word = on && line.words.find((one) => one.node === on);
    seek(word ? word.start : line.start, true);
  }

  /** The last line that has begun. */
  function at(seconds) {
    let low = 0;
    let high = lines.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (lines[middle].start <= seconds) low = middle + 1;
      else high = middle;
    }
    return lines[low - 1] || null;
  }

  function say(now) {
    const line = at(now);
    const shown = line && now <= line.end + 1.5 ? line : null;
    if (shown !== current) {
      if (current) current.node.classList.remove("now");
      if (shown) {
        shown.node.classList.add("now");
        split(shown);
        if (one("[data-follow]").getAttribute("aria-pressed") === "true") show(shown);
      }
      current = shown;
    }
    const word = shown ? (shown.words || []).findLast((each) => each.start <= now && now < each.end + 0.4) : null;
    if (word !== spoken) {
      if (spoken) spoken.node.classList.remove("now");
      if (word) word.node.classList.add("now");
      spoken = word || null;
    }
  }

  function show(line) {
    const list = one("[data-lines]");
    scrolled = Date.now();
    const top = line.node.offsetTop - list.clientHeight / 3;
    list.scrollTo({ top, behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "instant" : "smooth" });
  }

  function follow(on) {
    const button = one("[data-follow]");
    if (!button) return;
    button.setAttribute("aria-pressed", String(on));
    if (on && current) show(current);
  }

  /* ---- finding in it ---- */

  let hits = [];
  let hit = -1;

  function find() {
    const wanted = one("[data-find]").value.trim().toLocaleLowerCase();
    hits = wanted ? lines.filter((line) => line.text.textContent.toLocaleLowerCase().includes(wanted)) : [];
    for (const line of lines) line.node.classList.toggle("hit", hits.includes(line));
    one("[data-found-count]").textContent = wanted ? (hits.length ? `${hits.length} found` : "none") : "";
    hit = -1;
    if (hits.length) next(1);
  }

  function next(by) {
    if (!hits.length) return;
    hit = (hit + by + hits.length) % hits.length;
    follow(false);
    show(hits[hit]);
  }

  read();
  connect();
  document.addEventListener("chyme:stage", () => { read(); connect(); });
  chyme.keys(" ", "Play or pause", (event) => {
    if (!media || event.target.closest("button, a, summary, video, [data-lines] button")) return false;
    toggle();
  });
  chyme.keys("ArrowLeft", "Five seconds back", (event) => { if (!media || event.target.matches("input, video")) return false; seek(media.currentTime - 5, false); });
  chyme.keys("ArrowRight", "Five seconds on", (event) => { if (!media || event.target.matches("input, video")) return false; seek(media.currentTime + 5, false); });
})();
