/* The bench: what a cell is made of, and the slider of the hill. Its arithmetic comes from the server, as text. */
const steps = document.querySelector(".bench section"), panel = document.querySelector("[data-arithmetic]");
const PAIRS = ["scores", "scaled", "capped", "biased", "masked", "exponentials", "weights"];
const fieldOf = (step) => step.slice(0, step.lastIndexOf("-"));
const headOf = (step) => step.slice(step.lastIndexOf("-") + 1);
const cellAt = (step, i, j) => steps.querySelector(`table[data-step="${step}"] td[data-i="${i}"][data-j="${j}"]`);
const rowOf = (step, i) => [...steps.querySelectorAll(`table[data-step="${step}"] td[data-i="${i}"]`)];
const columnOf = (step, j) => [...steps.querySelectorAll(`table[data-step="${step}"] td[data-j="${j}"]`)];
const shown = new Map();
let wanted = "";

function frame(td) {
  const step = td.closest("table").dataset.step, [name, head] = [fieldOf(step), headOf(step)], { i, j } = td.dataset;
  steps.querySelectorAll(".here, .source-row, .source-column").forEach((cell) => cell.classList.remove("here", "source-row", "source-column"));
  td.classList.add("here");
  if (PAIRS.includes(name)) for (const each of PAIRS) cellAt(`${each}-${head}`, i, j)?.classList.add("here");
  const sources = { scores: [["query", i], ["key", j]], weights: [["exponentials", i]], exponentials: [], output: [["weights", i]], blended: [["weights", i]] }[name] ?? [];
  for (const [field, row] of sources) {
    const own = rowOf(`${field}-${head}`, row);
    (own.length ? own : rowOf(`${field}-0`, row)).forEach((cell) => cell.classList.add("source-row"));
  }
  if (["output", "blended"].includes(name)) columnOf(`value-${head}`, j).forEach((cell) => cell.classList.add("source-column"));
}

async function tell(td) {
  const step = td.closest("table").dataset.step, name = fieldOf(step), { i, j } = td.dataset;
  const isPair = PAIRS.includes(name);
  const at = `${isPair ? `${+headOf(step) + 1},` : ""}${+i + 1},${+j + 1}`, key = isPair ? at : `${step} ${at}`;
  wanted = key;
  if (!shown.has(key)) {
    const query = new URLSearchParams(new URL(document.querySelector("[data-plain]").dataset.state || location.href, location.href).search);
    query.set("at", at); query.set("field", step);
    const answer = await fetch(`/bench/cell?${query}`);
    if (!answer.ok) return;
    shown.set(key, (await answer.json()).lines);
  }
  if (wanted !== key) return;
  document.querySelector("[data-name]").textContent = isPair ? `Query ${+i + 1}, key ${+j + 1}` : `${td.closest("table").dataset.row === "key" ? "Key" : "Query"} ${+i + 1}, dimension ${+j + 1}`;
  panel.replaceChildren(...shown.get(key).flatMap(([name, text]) => {
    const [dt, dd] = [document.createElement("dt"), document.createElement("dd")];
    dt.textContent = name; dd.innerHTML = text;   /* escaped by the server, which sets indices in it */
    return [dt, dd];
  }));
}

if (panel) {
  document.querySelector("[data-plain]").hidden = true;
  let resting = 0;
  for (const kind of ["pointerover", "focusin"])
    steps.addEventListener(kind, (event) => {
      const td = event.target.closest("td[data-i]");
      if (!td) return;
      frame(td);
      clearTimeout(resting);
      resting = setTimeout(() => tell(td), kind === "focusin" ? 0 : 60);
    });
}

/* The factor moves the filled point along the hill; a width of keys is a factor of its root. */
const factor = document.getElementById("factor"), width = document.getElementById("width"), drawing = document.querySelector(".hill");
if (factor) {
  document.querySelector("[data-sliders]").hidden = false;
  const scores = drawing.dataset.scores.split(" ").map(Number);
  const [x0, x1, w, h] = drawing.dataset.axis.split(" ").map(Number);
  const move = () => {
    const by = scores.map((score) => score * factor.value), top = Math.max(...by);
    const rest = by.reduce((sum, x) => sum + Math.exp(x - top), 0) - 1, p = 1 / (1 + rest);
    const odds = rest <= 0 ? x1 : Math.min(x1, -Math.log(rest));
    const x = 8 + ((odds - x0) / (x1 - x0)) * (w - 16), y = h - 34 - ((p * (1 - p)) / 0.25) * (h - 66);
    const now = drawing.querySelector(".now"), label = now.nextElementSibling;
    const left = odds < 0 ? Math.max(x - 13, 110) : Math.min(x + 13, w - 120);
    now.setAttribute("cx", x); now.setAttribute("cy", y); label.setAttribute("y", y - 14);
    label.setAttribute("text-anchor", odds < 0 ? "end" : "start");
    for (const text of [label, ...label.children]) text.setAttribute("x", left);
    label.lastElementChild.textContent = `${p.toFixed(3)}, slope ${(p * (1 - p)).toFixed(3)}`;
    document.querySelector('output[for="factor"]').textContent = Number(factor.value).toFixed(2);
    document.querySelector('output[for="width"]').textContent = width.value;
  };
  factor.addEventListener("input", () => { width.value = Math.round(factor.value ** 2); move(); });
  width.addEventListener("input", () => { factor.value = Math.sqrt(width.value); move(); });
}
