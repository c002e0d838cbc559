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
  const AT = 0, ID = 1, QUERY = 2, KIND = 3, COMPONENT = 4, ABOUT = 5, READING = 6, SURE = 7, RULES = 8, SCORES = 9;
  const columns = read("columns");
  const rows = read("data");
  const searchable = rows.map((row) => `${row[ID]} ${row[QUERY]}`.toLowerCase());
  const collator = new Intl.Collator(undefined, { numeric: true });
  const state = { text: "", component: "", kind: "", rule: "", score: "", column: AT, down: false, shown: FIRST };
  const table = document.getElementById("rows");
  const find = document.getElementById("find");
  const count = document.getElementById("count");
  const further = document.getElementById("further");
  const ends = [document.getElementById("low"), document.getElementById("high")];
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
    const [low, high] = ends.map((end) => (end.value === "" ? NaN : Number(end.value)));
    const score = SCORES + Number(state.score);
    chosen = rows.filter((row, i) =>
      (!state.component || row[COMPONENT] === state.component)
      && (!state.kind || row[KIND] === state.kind)
      && (!state.rule || row[RULES].includes(Number(state.rule)))
      && (!state.score || (row[score] !== null && !(row[score] < low) && !(row[score] > high)))
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
    for (const row of rows) for (const value of [row[column]].flat()) counts.set(value, (counts.get(value) || 0) + 1);
    for (const [value, cases] of [...counts].sort((a, b) => b[1] - a[1])) {
      list.append(make("option", { value, textContent: `${name(value)} (${cases.toLocaleString("en")})` }));
    }
    list.addEventListener("change", () => { state[id] = list.value; choose(); });
  };
  choices("component", COMPONENT, (value) => value);
  choices("kind", KIND, (value) => columns.kinds[value]);
  choices("rule", RULES, (value) => columns.rules[value]);
  const metric = document.getElementById("score");
  columns.titles.forEach((title, i) => metric.append(make("option", { value: String(i), textContent: title })));
  metric.addEventListener("change", () => {
    state.score = metric.value;
    for (const end of ends) end.disabled = !metric.value;
    choose();
  });
  for (const end of ends) end.addEventListener("input", choose);
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
})();
