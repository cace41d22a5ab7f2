/* A recording that is shared by a link: a time in its transcript plays from there. */

const media = document.querySelector("[data-media]");

document.addEventListener("click", (event) => {
  const button = event.target instanceof Element ? event.target.closest("[data-at]") : null;
  if (!button || !media) return;
  media.currentTime = Number(button.dataset.at);
  media.play();
});
