/* The bench. What is worked out comes from the server, as text: here cells are framed, the point of the hill moves,
   and grids become the text that a link holds. */
const form = document.getElementById("numbers"), work = document.querySelector("[data-work]"), link = document.querySelector("[data-link]");

/* ── a cell: framed in every step, with what feeds it; its arithmetic ── */
const PAIRS = ["scores", "scaled", "capped", "biased", "masked", "exponentials", "weights"];
const SEVERAL = { query: ["query_rotated", "query_heads", "query"], key: ["key_rotated", "key_heads", "key"], value: ["value_heads", "value"] };
const stepOf = (td) => td.closest("table").dataset.step;
const fieldOf = (step) => step.slice(0, step.lastIndexOf("-"));
const headOf = (step) => +step.slice(step.lastIndexOf("-") + 1);
const tablesOf = (field) => [...document.querySelectorAll(`main table[data-step^="${field}-"]`)];
const cellAt = (step, i, j) => document.querySelector(`main table[data-step="${step}"] td[data-i="${i}"][data-j="${j}"]`);
const rowOf = (table, i) => [...(table?.querySelectorAll(`td[data-i="${i}"]`) ?? [])];
const columnOf = (table, j) => [...(table?.querySelectorAll(`td[data-j="${j}"]`) ?? [])];

/* the table of a field that a head uses: several heads of queries may share one of keys */
function tableOf(kind, head) {
  const tables = (SEVERAL[kind] ?? [kind]).map(tablesOf).find((found) => found.length) ?? [];
  return tables[Math.floor((head * tables.length) / Math.max(tablesOf("weights").length, tables.length))];
}

/* rows and columns that a cell is made of */
function sourcesOf(field, head, i, j) {
  const row = (kind, at = i) => rowOf(tableOf(kind, head), at), column = (kind) => columnOf(tableOf(kind, head), j);
  switch (field) {
    case "scores": return [[...row("query"), ...row("key", j)], []];
    case "row_max": return [row("masked"), []];
    case "weights": return [row("exponentials"), []];
    case "logsumexp": return [[...row("row_max"), ...row("exponentials")], []];
    case "blended": return [row("weights"), column("value")];
    case "output": return outputSources(row, column, i, j);
    default: return [[], []];
  }
}

function outputSources(row, column, i, j) {
  const parts = tablesOf("blended"), width = parts.length && rowOf(parts[0], i).length;
  if (!parts.length) return [row("weights"), column("value")];
  const isJoined = rowOf(tablesOf("output")[0], i).length === parts.length * width;
  return [isJoined ? [cellAt(parts[Math.floor(j / width)].dataset.step, i, j % width)] : parts.flatMap((part) => rowOf(part, i)), []];
}

function frame(td) {
  const step = stepOf(td), [field, head] = [fieldOf(step), headOf(step)], { i, j } = td.dataset;
  document.querySelectorAll("main :is(.here, .source-row, .source-column)").forEach((cell) => cell.classList.remove("here", "source-row", "source-column"));
  td.classList.add("here");
  if (PAIRS.includes(field)) for (const each of PAIRS) cellAt(`${each}-${head}`, i, j)?.classList.add("here");
  const [rows, columns] = sourcesOf(field, head, +i, +j);
  rows.forEach((cell) => cell.classList.add("source-row"));
  columns.forEach((cell) => cell.classList.add("source-column"));
  if (td.closest("table").dataset.row === "query") moveHill(head, +i);
}

const shown = new Map();
let wanted = "", resting = 0, state = link.href;   /* of the numbers that are shown */
async function tell(td) {
  const step = stepOf(td), { i, j } = td.dataset, isPair = PAIRS.includes(fieldOf(step));
  const at = `${isPair ? `${headOf(step) + 1},` : ""}${+i + 1},${+j + 1}`, key = isPair ? at : `${step} ${at}`;
  wanted = key;
  if (!shown.has(key)) {
    const query = new URL(state).searchParams;
    query.set("at", at); query.set("field", step);
    const answer = await fetch(`/bench/cell?${query}`);
    if (!answer.ok) return;
    shown.set(key, (await answer.json()).lines);
  }
  if (wanted !== key) return;
  const row = td.closest("table").dataset.row === "key" ? "Key" : "Query";
  document.querySelector("[data-name]").textContent = isPair ? `Query ${+i + 1}, key ${+j + 1}` : `${row} ${+i + 1}, dimension ${+j + 1}`;
  document.querySelector("[data-arithmetic]").replaceChildren(...shown.get(key).flatMap(([name, text]) => {
    const [dt, dd] = [document.createElement("dt"), document.createElement("dd")];
    dt.textContent = name; dd.innerHTML = text;   /* escaped by the server, which sets indices in it */
    return [dt, dd];
  }));
}
for (const kind of ["pointerover", "focusin"])
  work.addEventListener(kind, (event) => {
    const td = event.target.closest("section td[data-i]");
    if (!td) return;
    frame(td);
    clearTimeout(resting);
    resting = setTimeout(() => tell(td), kind === "focusin" ? 0 : 60);
  });

/* ── the hill: the factor moves the filled point, and so does the query that is looked at ── */
function moveHill(head, query) {
  const drawing = work.querySelector(".hill");
  if (!drawing) return;
  if (head !== undefined) drawing.dataset.at = `${head} ${query}`;
  const [h, q] = drawing.dataset.at.split(" ").map(Number), scores = JSON.parse(drawing.dataset.rows)[h]?.[q] ?? [];
  if (!scores.length) return;
  const factor = document.getElementById("factor"), width = document.getElementById("width");
  const [now, was] = [drawing.querySelector(".now"), drawing.querySelector(".was")];
  const said = point(drawing, now, scores, factor.value), before = was && point(drawing, was, scores, drawing.dataset.root, +now.nextElementSibling.getAttribute("y") + 36);
  drawing.querySelector("title").textContent = `The slope p(1−p) over the weight p. Now: weight ${said}.${was ? ` Not scaled: weight ${before}.` : ""}`;
  work.querySelector("[data-query]").textContent = q + 1;
  document.querySelector('output[for="factor"]').textContent = Number(factor.value).toFixed(2);
  document.querySelector('output[for="width"]').textContent = width.value;
}
function point(drawing, circle, scores, factor, lowest = 0) {
  const [x0, x1, w, h] = drawing.dataset.axis.split(" ").map(Number);
  const by = scores.map((score) => score * factor), top = Math.max(...by);
  const rest = by.reduce((sum, x) => sum + Math.exp(x - top), 0) - 1, p = 1 / (1 + rest);
  const odds = rest <= 0 ? x1 : Math.min(x1, -Math.log(rest)), label = circle.nextElementSibling;
  const x = 8 + ((odds - x0) / (x1 - x0)) * (w - 16), y = h - 34 - ((p * (1 - p)) / 0.25) * (h - 66);
  const left = odds < 0 ? Math.max(x - 13, 110) : Math.min(x + 13, w - 120);
  circle.setAttribute("cx", x); circle.setAttribute("cy", y); label.setAttribute("y", Math.max(y - 14, lowest));
  label.setAttribute("text-anchor", odds < 0 ? "end" : "start");
  for (const text of [label, ...label.children]) text.setAttribute("x", left);
  return (label.lastElementChild.textContent = `${p.toFixed(3)}, slope ${(p * (1 - p)).toFixed(3)}`);
}
work.addEventListener("input", ({ target }) => {   /* a width of keys is a factor of its root */
  const factor = document.getElementById("factor"), width = document.getElementById("width");
  if (target === factor) width.value = Math.round(factor.value ** 2);
  else if (target === width) factor.value = Math.sqrt(width.value);
  else return;
  moveHill();
});

/* ── grids to type in: each is the text below it ── */
const TIED = { rows: ["k", "v"], columns: ["q", "k"] };   /* a key has a value; a query meets keys of its width */
const areaOf = (letter) => document.getElementById(letter);
const inputsIn = (letter) => [...document.querySelectorAll(`[data-letter="${letter}"] tbody tr`)].map((tr) => [...tr.querySelectorAll("input")]);
const rowsIn = (letter) => inputsIn(letter).map((row) => row.map((input) => input.value.replace(/\s+/g, "")));
const setRows = (letter, rows) => {
  areaOf(letter).value = rows.flat().some(Boolean) ? rows.map((row) => row.map((text) => text || "_").join(" ")).join("\n") : "";
};
const letterOf = (element) => element.closest("[data-letter]").dataset.letter;
const sizeOf = (rows, axis) => (axis === "rows" ? rows.length : rows[0]?.length ?? 0);

function resize(letter, axis, by) {
  const rows = rowsIn(letter), size = sizeOf(rows, axis), most = +form.dataset[axis === "rows" ? "mostRows" : "mostColumns"];
  const others = TIED[axis].includes(letter) ? TIED[axis].filter((each) => sizeOf(rowsIn(each), axis) === size) : [letter];
  if (size + by < 1 || size + by > most) { told(`A matrix has 1 to ${most} ${axis} here.`); return; }
  for (const each of others) setRows(each, resized(rowsIn(each), axis, by));
  rework({ grids: true });
}
function resized(rows, axis, by) {
  if (axis === "rows") return by < 0 ? rows.slice(0, -1) : [...rows, rows[0].map(() => "0")];
  return rows.map((row) => (by < 0 ? row.slice(0, -1) : [...row, "0"]));
}

form.addEventListener("click", ({ target }) => {
  if (target.matches("[data-size]")) { const [axis, by] = target.dataset.size.split(" "); resize(letterOf(target), axis, +by); }
  if (target.matches("[data-as-text]")) {
    const isShown = document.getElementById(target.getAttribute("aria-controls")).classList.toggle("without-script");
    target.setAttribute("aria-expanded", String(!isShown));
    if (!isShown) areaOf(letterOf(target)).focus();
  }
});
form.addEventListener("input", ({ target }) => {
  if (target.matches(".entry input")) setRows(letterOf(target), rowsIn(letterOf(target)));
  link.href = `/bench?${typed()}`;
});
form.addEventListener("change", ({ target }) => { if (target.id !== "problem") rework({ grids: target.matches("[data-letter] textarea") }); });
form.addEventListener("paste", async (event) => {   /* into the first cell: the block is the matrix; elsewhere it fills from there on */
  const text = event.clipboardData?.getData("text/plain") ?? "", input = event.target;
  if (!input.matches(".entry input") || !isBlock(text)) return;
  event.preventDefault();
  const read = await readBlock(text);
  if (read.error) { told(read.error); return; }
  const letter = letterOf(input), [, top, left] = input.id.split("-").map(Number), isWhole = !top && !left && read.rows.length > 1;
  setRows(letter, isWhole ? read.rows : filled(rowsIn(letter), read.rows, top, left));
  rework({ grids: true, focus: `#${input.id}` });
});
function filled(rows, block, top, left) {
  const width = Math.max(rows[0].length, left + block[0].length), height = Math.max(rows.length, top + block.length);
  return Array.from({ length: height }, (_, r) => Array.from({ length: width }, (_, c) => block[r - top]?.[c - left] ?? rows[r]?.[c] ?? "0"));
}

/* ── what is changed is worked again, and the page keeps its place; the address follows ── */
const told = (text) => (text ? say(form.querySelector("[data-told]"), text) : form.querySelector("[data-told]").replaceChildren());
const said = (entries) => [...entries].filter(([, text]) => text !== "");
const typed = () => new URLSearchParams(said(new FormData(form)));
const questions = new Map([...new URLSearchParams(location.search)].filter(([name]) => ["mistake", "answer", "step", "blind"].includes(name)));
const asked = () => new URLSearchParams([...typed(), ...said(questions)]);

let turn = 0;
async function rework({ grids = false, focus = "" } = {}) {
  const query = asked(), mine = ++turn;
  work.ariaBusy = "true";
  const answer = await fetch(`/bench?${query}`).catch(() => null);
  const page = answer && new DOMParser().parseFromString(await answer.text(), "text/html");
  if (mine !== turn) return;
  work.ariaBusy = "false";
  const fresh = page?.querySelector("[data-work]");
  if (!fresh) { told(page ? page.querySelector("main .lead")?.textContent ?? page.body.textContent : "Headwork does not answer: it may have been stopped. What you typed is still here."); return; }
  told("");
  history.replaceState(null, "", `/bench?${query}`);
  link.href = page.querySelector("[data-link]").href;
  const places = focus ? [focus] : placesOf(document.activeElement), refused = fresh.querySelector("[role=alert]");
  if (grids) swapGrids(page);
  else page.querySelectorAll(".entry input").forEach(markCell);
  if (refused) told(`${refused.textContent} ${work.querySelector("section") ? "What stands below is from before." : ""}`);   /* beside what was typed */
  else showWork(fresh);
  if (document.activeElement === document.body) places.map((each) => document.querySelector(each)).find(Boolean)?.focus();
}
function showWork(fresh) {
  state = link.href;
  const unsent = work.querySelector("#answer")?.value;
  work.replaceChildren(...fresh.childNodes);
  if (unsent) work.querySelector("#answer")?.replaceChildren(unsent);
  begin();
}
function markCell({ id, ariaInvalid }) {
  const own = document.getElementById(id);
  if (own) own.ariaInvalid = ariaInvalid;
}
function swapGrids(page) {
  const opened = [...form.querySelectorAll(".as-text:not(.without-script)")].map((each) => each.id);
  form.querySelector("[data-grids]").replaceChildren(...page.querySelector("[data-grids]").childNodes);
  for (const id of opened) document.getElementById(id)?.classList.remove("without-script");
}
/* where an element may be found again once it has been made anew */
function placesOf(element) {
  if (element.id) return [`#${CSS.escape(element.id)}`];
  if (element.dataset.size) return [`[data-letter="${letterOf(element)}"] [data-size="${element.dataset.size}"]`];
  const own = element.closest("[data-work] form");
  return own ? [`form[action="${own.getAttribute("action")}"] ${element.localName}`, new URL(own.action).hash || "h2"] : [];
}
document.addEventListener("submit", (event) => {
  if (event.target.method !== "get") return;
  event.preventDefault();
  for (const { name, type, value } of event.target.elements)   /* what is asked is new; the numbers in hidden fields may be old */
    if (event.target !== form && name && (type !== "hidden" || name === "blind")) questions.set(name, value);
  const isButton = document.activeElement.matches("#numbers .primary");
  rework().then(() => { if (isButton) work.scrollIntoView(); });
});
work.addEventListener("change", ({ target }) => { if (target.id === "mistake") target.form.requestSubmit(); });

/* ── what there is without a script makes room ── */
function begin() {
  shown.clear();
  const panel = work.querySelector("[data-arithmetic]");
  if (panel) {
    work.querySelector("[data-plain]").hidden = true;
    const [head, i, j] = panel.dataset.at.split(" "), td = cellAt(`weights-${head}`, i, j);
    if (td) frame(td);
  }
  const sliders = work.querySelector("[data-sliders]");
  if (sliders) sliders.hidden = false;
  work.querySelectorAll("h2[id]").forEach((title) => { title.tabIndex = -1; });
  reach();
}
begin();
