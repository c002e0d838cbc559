"use strict";
(() => {
  const at = (id) => document.getElementById(id);
  const stored = (name, value) => {
    try {
      if (value === undefined) return localStorage.getItem(name);
      localStorage.setItem(name, value);
    } catch { /* a browser that keeps nothing */ }
    return null;
  };

  /* A page that waits for something asks again. */
  const renewed = Number(document.documentElement.dataset.renewed);
  if (renewed) setTimeout(() => location.reload(), 1000 * renewed);

  /* Light or dark: by the system, until one is chosen. */
  const theme = at("theme");
  const dark = () => (document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const named = () => { theme.textContent = dark() ? "Light" : "Dark"; };
  theme.hidden = false;
  named();
  theme.addEventListener("click", () => {
    document.documentElement.dataset.theme = dark() ? "light" : "dark";
    document.cookie = `theme=${document.documentElement.dataset.theme}; path=/; max-age=31536000; samesite=strict`;
    named();
  });

  /* A list's filters take effect at once; empty ones don't stand in the address, but that of cases without a tag. */
  const filters = document.querySelector("form.filters");
  if (filters) {
    filters.addEventListener("formdata", (event) => {
      const kept = [...filters.querySelectorAll("[type=hidden]")].map((one) => one.name);
      for (const [name, value] of [...event.formData]) if (!value && !kept.includes(name)) event.formData.delete(name);
    });
    for (const list of filters.querySelectorAll("select")) {
      list.options[0].disabled = false;
      list.addEventListener("change", () => filters.requestSubmit());
    }
  }

  /* A run that is being written: how many cases are new, without a list that jumps. */
  for (const place of document.querySelectorAll("[data-live]")) {
    const note = Object.assign(document.createElement("p"), { className: "note" });
    note.setAttribute("role", "status");
    place.append(note);
    const ask = async () => {
      if (!document.hidden) {
        try {
          const state = await (await fetch(place.dataset.live)).json();
          const more = state.done + state.failed - Number(place.dataset.done);
          if (more > 0 || state.state !== "running") {
            const link = Object.assign(document.createElement("a"), { href: location.href, textContent: "show" });
            note.replaceChildren(more > 0 ? `${more.toLocaleString("en")} new, ` : `${state.state}, `, link);
          }
          if (state.state !== "running") return;
        } catch { /* asked again */ }
      }
      setTimeout(ask, 2000);
    };
    setTimeout(ask, 2000);
  }

  /* A claim and its evidence: what the judge quotes is marked in the sources. */
  const page = document.querySelector(".case-page");
  const unmark = () => {
    for (const mark of document.querySelectorAll("mark.evidence, mark.differs")) mark.replaceWith(...mark.childNodes);
    for (const one of document.querySelectorAll(".claim.on, .source.on")) one.classList.remove("on");
    page?.normalize();
  };
  const plain = (text) => text.replace(/\s+/g, " ").trim().toLowerCase();
  const markIn = (place, quote, className) => {
    const walker = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
    const nodes = [];
    let text = "";
    for (let node; (node = walker.nextNode());) {
      nodes.push([text.length, node]);
      text += node.data.replace(/\s/g, " ");
    }
    const from = text.toLowerCase().indexOf(quote);
    if (from < 0) return null;
    const to = from + quote.length;
    let first = null;
    for (const [start, node] of nodes) {
      const a = Math.max(from - start, 0), b = Math.min(to - start, node.data.length);
      if (a >= b) continue;
      const part = node.splitText(a);
      part.splitText(b - a);
      const mark = Object.assign(document.createElement("mark"), { className });
      part.replaceWith(mark);
      mark.append(part);
      first ||= mark;
    }
    return first;
  };
  const quotesOf = (claim) => [...claim.querySelector(".said").textContent.matchAll(/“([^”]{8,}?)(?: …)?”/g)]
    .map((found) => plain(found[1].replace(/^… /, "")));
  const keepFocus = (focus) => {
    const url = new URL(location.href);
    if (focus) url.searchParams.set("focus", focus);
    else url.searchParams.delete("focus");
    history.replaceState(null, "", url);
  };
  const choose = (claim, scroll) => {
    unmark();
    if (!claim) {
      keepFocus(null);
      return;
    }
    for (let place = claim; place; place = place.parentElement) if (place.localName === "details") place.open = true;
    claim.classList.add("on");
    const said = claim.querySelector(".said").textContent;
    const quotes = quotesOf(claim);
    let first = null;
    for (const source of page.querySelectorAll(".source")) {
      for (const quote of quotes) {
        const mark = markIn(source.querySelector(".source-text"), quote, "evidence");
        if (!mark) continue;
        source.open = true;
        source.classList.add("on");
        first ||= mark;
      }
    }
    for (const [, own, other] of said.matchAll(/([^,;:“”]+) ≠ ([^,;:“”]+)/g)) {
      markIn(claim.querySelector("p"), plain(own), "differs");
      for (const mark of page.querySelectorAll("mark.evidence")) markIn(mark, plain(other), "differs");
    }
    keepFocus(claim.id.replace(/^[cg]\d+-/, "claim-"));
    if (scroll) (first || claim).scrollIntoView({ block: "center" });
  };
  const claims = () => [...page.querySelectorAll(".claim")];
  /* A place in a source: the claims that rest on it. */
  const chooseResting = (source, caret) => {
    const before = document.createRange();
    before.setStart(source, 0);
    before.setEnd(caret.offsetNode, caret.offset);
    const at = before.toString().length, text = source.textContent.replace(/\s/g, " ").toLowerCase();
    const resting = claims().filter((claim) => quotesOf(claim).some((quote) => {
      const from = text.indexOf(quote);
      return from >= 0 && from <= at && at <= from + quote.length;
    }));
    unmark();
    for (const claim of resting) {
      for (let place = claim; place; place = place.parentElement) if (place.localName === "details") place.open = true;
      claim.classList.add("on");
    }
    resting[0]?.scrollIntoView({ block: "nearest" });
  };
  if (page) {
    page.addEventListener("click", (event) => {
      if (event.target.closest("a, button, summary, .response mark.m")) return;
      const claim = event.target.closest(".claim");
      if (claim) choose(claim, false);
      const source = event.target.closest(".source-text");
      const caret = source && document.caretPositionFromPoint?.(event.clientX, event.clientY);
      if (caret) chooseResting(source, caret);
    });
    const focus = new URLSearchParams(location.search).get("focus")?.match(/^claim-(\d+)$/);
    if (focus) choose(claims().find((one) => one.id.endsWith(`-${focus[1]}`)), true);
  }

  /* Keys. */
  const keys = at("keys");
  const on = () => stored("keys") !== "off";
  if (keys) {
    const say = () => { keys.textContent = on() ? "Turn the keys off" : "Turn the keys on"; };
    keys.hidden = false;
    say();
    keys.addEventListener("click", () => { stored("keys", on() ? "off" : "on"); say(); });
  }
  const rows = () => [...document.querySelectorAll("#rows tbody tr")];
  const step = (by) => {
    const to = at(by > 0 ? "after" : "before");
    if (page) return to && to.click();
    const all = rows(), now = all.findIndex((row) => row.classList.contains("on"));
    const next = all[Math.max(0, Math.min(all.length - 1, now + by))];
    if (!next) return undefined;
    all[now]?.classList.remove("on");
    next.classList.add("on");
    next.querySelector("a").focus();
    next.scrollIntoView({ block: "nearest" });
    return undefined;
  };
  const up = () => (at("back") || document.querySelector(".trail a:last-of-type"))?.click();
  const does = {
    j: () => step(1),
    k: () => step(-1),
    "/": () => at("find")?.focus(),
    f: () => filters?.querySelector("select")?.focus(),
    s: () => page?.querySelector(".sources-section")?.scrollIntoView(),
    c: () => at("compare")?.click(),
    u: up,
    "?": () => { location.href = "/help"; },
  };
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      if (event.target.matches?.("input, select, textarea")) event.target.blur();
      if (page) choose(null, false);
      return;
    }
    if (!on() || event.ctrlKey || event.metaKey || event.altKey || event.target.matches?.("input, select, textarea, [contenteditable]")) return;
    if (document.querySelector("[data-labelling]") && "ynub".includes(event.key)) return;
    if (page && /^[1-9]$/.test(event.key)) choose(claims().find((one) => one.id.endsWith(`-${event.key}`)), true);
    else if (!(event.key in does)) return;
    else does[event.key]();
    event.preventDefault();
  });
})();
