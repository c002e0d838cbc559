"use strict";
(() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const make = (name, options = {}, ...children) => {
    const element = Object.assign(document.createElement(name), options);
    element.append(...children);
    return element;
  };

  /* The table: all rows stay plain arrays; only a page of them is ever in the document. */
  const FIRST = 25, FURTHER = 100;
  const AT = 0, ID = 1, QUERY = 2, KIND = 3, COMPONENT = 4, ABOUT = 5, READING = 6, SURE = 7, SCORES = 8;
  const columns = read("columns");
  const rows = read("data");
  const searchable = rows.map((row) => `${row[ID]} ${row[QUERY]}`.toLowerCase());
  const collator = new Intl.Collator(undefined, { numeric: true });
  const state = { text: "", component: "", kind: "", column: AT, down: false, shown: FIRST };
  const table = document.getElementById("rows");
  const find = document.getElementById("find");
  const count = document.getElementById("count");
  const further = document.getElementById("further");
  let chosen = rows;

  const compare = (a, b) => {
    const x = a[state.column], y = b[state.column];
    if (x === y) return a[AT] - b[AT];
    if (x === null) return 1;
    if (y === null) return -1;
    const order = typeof x === "number" ? x - y : collator.compare(x, y);
    return state.down ? -order : order;
  };

  const scoreCell = (value, i) => {
    const cell = make("td", { className: "num" });
    if (value === null) {
      cell.append("–");
      return cell;
    }
    const [threshold, lowerIsBetter] = columns.thresholds[i];
    const bad = threshold !== null && (lowerIsBetter ? value > threshold + 1e-9 : value < threshold - 1e-9);
    if (bad) {
      const level = lowerIsBetter ? "high" : "low";
      cell.classList.add("bad");
      cell.append(`${columns.signs[level]} `, make("span", { className: "vh", textContent: `${level} ` }));
    }
    // what is bad isn't shown as its threshold
    cell.append(bad && value.toFixed(2) === threshold.toFixed(2) ? String(value) : value.toFixed(2));
    return cell;
  };

  /* A long id may break behind its separators; within a word only if that fills a line of its own. */
  const breakable = (name) => {
    const pieces = name.length > 16 ? name.match(/[^-_./:@#\s]{1,24}[-_./:@#\s]*|[-_./:@#\s]+/gu) || [name] : [name];
    return pieces.flatMap((piece, i) => i ? [make("wbr"), piece] : [piece]);
  };

  const rowOf = (row) => {
    const id = make("td", { className: "id" });
    const full = document.getElementById(`case-${row[AT]}`);
    id.append(...(full ? [make("a", { href: `#case-${row[AT]}`, dir: "auto" }, ...breakable(row[ID]))] : breakable(row[ID])));
    const kind = make("span", { className: `chip k-${row[KIND]}` });
    kind.append(`${columns.signs.kinds[row[KIND]]} ${columns.kinds[row[KIND]]}`);
    const why = make("td", { className: "why" });
    why.append(row[ABOUT]);
    if (row[READING]) why.append(make("span", { className: "note", textContent: row[READING] + (row[SURE] ? "" : " (not sure)") }));
    return make("tr", {}, id, make("td", { className: "q", dir: "auto", textContent: row[QUERY] }), make("td", {}, kind), why,
      ...row.slice(SCORES).map(scoreCell));
  };

  const fill = (from) => {
    const body = table.tBodies[0];
    const part = document.createDocumentFragment();
    for (const row of chosen.slice(from, state.shown)) part.append(rowOf(row));
    if (from) body.append(part);
    else body.replaceChildren(part);
    const visible = Math.min(state.shown, chosen.length);
    count.textContent = `${visible.toLocaleString("en")} of ${chosen.length.toLocaleString("en")} shown`
      + (chosen.length < rows.length ? ` (${rows.length.toLocaleString("en")} in all)` : "");
    further.hidden = visible >= chosen.length;
  };

  const choose = () => {
    const words = state.text.toLowerCase().split(/\s+/).filter(Boolean);
    chosen = rows.filter((row, i) =>
      (!state.component || row[COMPONENT] === state.component)
      && (!state.kind || row[KIND] === state.kind)
      && words.every((word) => searchable[i].includes(word)));
    chosen.sort(compare);
    state.shown = FIRST;
    fill(0);
  };

  const heads = [["case", ID], ["question", QUERY], ["kind", KIND], ["finding", COMPONENT],
    ...columns.titles.map((title, i) => [title, SCORES + i])];
  const head = make("tr");
  const tellOrder = () => [...head.cells].forEach((cell, i) => {
    if (heads[i][1] === state.column) cell.setAttribute("aria-sort", state.down ? "descending" : "ascending");
    else cell.removeAttribute("aria-sort");
  });
  for (const [title, column] of heads) {
    const button = make("button", { type: "button", textContent: title });
    button.addEventListener("click", () => {
      // the worst first: the smallest, or the largest where lower is better
      const worstDown = column >= SCORES && columns.thresholds[column - SCORES][1];
      state.down = state.column === column ? !state.down : worstDown;
      state.column = column;
      tellOrder();
      choose();
    });
    head.append(make("th", { scope: "col", className: column >= SCORES ? "num" : "" }, button));
  }
  table.tHead.append(head);

  const choices = (id, column, name) => {
    const list = document.getElementById(id);
    const counts = new Map();
    for (const row of rows) counts.set(row[column], (counts.get(row[column]) || 0) + 1);
    for (const [value, cases] of [...counts].sort((a, b) => b[1] - a[1])) {
      list.append(make("option", { value, textContent: `${name(value)} (${cases.toLocaleString("en")})` }));
    }
    list.addEventListener("change", () => { state[id] = list.value; choose(); });
  };
  choices("component", COMPONENT, (value) => value);
  choices("kind", KIND, (value) => columns.kinds[value]);
  let waiting = 0;
  find.addEventListener("input", () => {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(() => { state.text = find.value; choose(); });
  });
  further.addEventListener("click", () => {
    const from = state.shown;
    state.shown += FURTHER;
    fill(from);
  });
  document.querySelector(".filters").hidden = false;
  choose();

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
