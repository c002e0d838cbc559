"use strict";
(() => {
  const groups = [...document.querySelectorAll(".tg")];
  const texts = groups.map((group) => group.textContent.toLowerCase());
  const find = document.getElementById("find");
  const count = document.getElementById("count");
  const lists = ["tag", "cluster", "blame", "presence"].map((id) => document.getElementById(id)).filter(Boolean);
  const fits = {
    tag: (group, value) => group.dataset.tag === value,
    cluster: (group, value) => group.dataset.wrong.includes(` ${value} `),
    blame: (group, value) => group.dataset.blame.includes(`|${value}|`),
    presence: (group, value) => group.dataset.presence === value,
  };
  const choose = () => {
    const text = find.value.trim().toLowerCase();
    const chosen = lists.filter((list) => list.value);
    let shown = 0;
    groups.forEach((group, at) => {
      group.hidden = !(texts[at].includes(text) && chosen.every((list) => fits[list.id](group, list.value)));
      shown += !group.hidden;
    });
    count.textContent = `${shown.toLocaleString("en")} of ${groups.length.toLocaleString("en")} groups`;
  };
  let waiting = 0;
  find.addEventListener("input", () => {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(choose);
  });
  for (const list of lists) list.addEventListener("change", choose);
  document.querySelector(".filters").hidden = false;
  choose();
})();
