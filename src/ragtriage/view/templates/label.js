"use strict";
/* Labelling: an answer is on the disk before the next item is shown. */
(() => {
  const item = document.querySelector("[data-labelling]");
  if (!item) return;
  const buttons = [...item.querySelectorAll("[data-answer]")];
  const wait = (busy) => { for (const one of buttons) one.disabled = busy; };
  const say = (text) => {
    const said = Object.assign(document.createElement("p"), { className: "banner", textContent: text });
    document.getElementById("label-note").replaceChildren(said);
    said.scrollIntoView({ block: "nearest" });
  };
  const give = async (answer) => {
    if (buttons[0].disabled) return;
    wait(true);
    const { labelling, item: key, version } = item.dataset;
    try {
      const answered = await fetch(labelling, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ item: JSON.parse(key), answer, version }),
      });
      const json = answered.headers.get("content-type")?.startsWith("application/json");
      const told = json ? await answered.json() : { said: await answered.text() };
      if (told.to) {
        location.assign(told.to);
        return;
      }
      say(told.said);
    } catch {
      say("No answer came from the viewer, so the label may not be kept: see whether it still runs, and answer again.");
    }
    wait(false);
  };
  for (const one of buttons) one.addEventListener("click", () => give(one.dataset.answer));
  addEventListener("pageshow", () => wait(false));
  let keys = "on";
  try { keys = localStorage.getItem("keys") || keys; } catch { /* a browser that keeps nothing */ }
  if (keys === "off") return;
  const answers = { y: "yes", n: "no", u: "skip" };
  document.addEventListener("keydown", (event) => {
    if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || event.target.matches?.("input, select, textarea")) return;
    if (event.key in answers) give(answers[event.key]);
    else if (event.key === "b") document.getElementById("label-back")?.click();
    else return;
    event.preventDefault();
  });
})();
