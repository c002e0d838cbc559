"use strict";
(() => {
  const make = (name, options = {}) => Object.assign(document.createElement(name), options);

  /* A table that goes on to the right, or begins further left, says so. */
  for (const box of document.querySelectorAll(".scroll")) {
    const note = make("p", { className: "note goes-on", hidden: true });
    box.before(note);
    const look = () => {
      const left = box.scrollLeft > 1, right = box.scrollLeft + box.clientWidth < box.scrollWidth - 1;
      note.hidden = !left && !right;
      note.textContent = right ? "the table goes on to the right →" : "← the table begins further left";
    };
    box.addEventListener("scroll", look, { passive: true });
    new ResizeObserver(look).observe(box);
    new ResizeObserver(look).observe(box.firstElementChild);
  }

  /* A link to something inside a closed case opens it. */
  const reveal = () => {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let place = target; place; place = place.parentElement) if (place.localName === "details") place.open = true;
    if (target.localName === "details") target.querySelector("summary").focus({ preventScroll: true });
    target.scrollIntoView({ block: "start" });
  };
  addEventListener("hashchange", reveal);
  reveal();

  /* What the judge said about the marks under the pointer or the finger. */
  const tip = document.getElementById("tip");
  let lit = [];
  const hide = () => {
    tip.hidden = true;
    for (const mark of lit) mark.classList.remove("on");
    lit = [];
  };
  const show = (place) => {
    hide();
    const names = place.dataset.c.split(" ");
    const said = names.map((name) => document.getElementById(name)).filter(Boolean).map((item) => {
      const copy = item.cloneNode(true);
      copy.removeAttribute("id");
      return copy;
    });
    if (!said.length) return;
    const within = place.closest(".response");
    lit = within ? [...within.querySelectorAll("mark[data-c]")].filter((mark) => mark.dataset.c.split(" ").some((name) => names.includes(name))) : [];
    for (const mark of lit) mark.classList.add("on");
    const list = make("ul", { className: "claims" });
    list.append(...said);
    tip.replaceChildren(list);
    tip.hidden = false;
    const box = place.getClientRects()[0] || place.getBoundingClientRect();
    const room = document.documentElement.clientWidth;
    const left = Math.max(8, Math.min(box.left, room - tip.offsetWidth - 8));
    const below = box.bottom + 8 + tip.offsetHeight < innerHeight || box.top < tip.offsetHeight + 8;
    tip.style.left = `${left + scrollX}px`;
    tip.style.top = `${(below ? box.bottom + 8 : box.top - tip.offsetHeight - 8) + scrollY}px`;
  };
  const marked = (event) => event.target instanceof Element && event.target.closest(".response [data-c]");
  document.addEventListener("pointerover", (event) => {
    if (event.pointerType !== "mouse") return;
    const place = marked(event);
    if (place) show(place);
    else if (!tip.hidden && !tip.contains(event.target)) hide();
  });
  document.addEventListener("click", (event) => {
    const place = marked(event);
    if (place) {
      event.preventDefault();
      show(place);
    } else if (!tip.contains(event.target)) hide();
  });
  document.addEventListener("focusin", (event) => {
    const place = marked(event);
    if (place) show(place);
    else hide();
  });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
})();
