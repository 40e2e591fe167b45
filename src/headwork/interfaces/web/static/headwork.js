/* Enhancement only: every page reads, and every form posts, without it. Nothing here works anything out. */
const root = document.documentElement;

/* ── light and dark ── */
const themeSwitch = document.querySelector("[data-theme-switch]");
const isDark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
const nameSwitch = () => (themeSwitch.textContent = isDark() ? "Light" : "Dark");
themeSwitch.hidden = false; nameSwitch();
themeSwitch.onclick = () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  document.cookie = `theme=${root.dataset.theme}; Path=/; Max-Age=31536000; SameSite=Strict`;
  nameSwitch();
};

/* ── keys: grids move like a spreadsheet, left and right only from the edge of the text ── */
const inputsOf = (row) => [...row.cells].map((cell) => cell.querySelector("input") ?? (cell.hasAttribute("tabindex") ? cell : null));
document.addEventListener("keydown", (event) => {
  const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
  const cell = event.target.closest?.("td");
  if (!step || !cell || event.ctrlKey || event.metaKey || event.altKey) return;
  const input = event.target.matches("input") ? event.target : null;
  const whole = input && input.selectionEnd - input.selectionStart === input.value.length;
  if (input && step[1] < 0 && input.selectionStart > 0 && !whole) return;
  if (input && step[1] > 0 && input.selectionEnd < input.value.length && !whole) return;
  const rows = cell.parentElement.parentElement.rows, row = rows[cell.parentElement.sectionRowIndex + step[0]];
  const target = row && inputsOf(row)[cell.cellIndex + step[1]];
  if (target) { event.preventDefault(); target.focus(); target.select?.(); }
});
document.addEventListener("focusin", ({ target }) => {
  if (target.matches("[data-grid] input, .entry input")) target.select();
  const table = target.closest("table[role=grid]");
  if (table && target.matches("td")) { table.querySelectorAll('[tabindex="0"]').forEach((td) => (td.tabIndex = -1)); target.tabIndex = 0; }
});

/* ── an answer marks its row of the given matrices that have a row for each query ── */
const markRow = (row, on) => document.querySelectorAll(`.given table[data-row="query"] td[data-i="${row}"]`).forEach((td) => td.classList.toggle("source-row", on));
for (const [kind, on] of [["focusin", true], ["focusout", false]])
  document.addEventListener(kind, ({ target }) => { if (target.dataset?.sourceRow) markRow(target.dataset.sourceRow, on); });

/* ── a block that is pasted fills the cells from this one on; the server reads it, as it reads answers ── */
const token = () => document.querySelector("input[name=token]")?.value ?? "";
const isBlock = (text) => /[\s;,&|\[\\]/.test(text.trim()) && !/^[\d.]+,\d+$/.test(text.trim());
const readBlock = async (text) => {
  const answer = await fetch("/read", { method: "POST", body: new URLSearchParams({ token: token(), block: text }) }).catch(() => null);
  return answer?.headers.get("content-type") === "application/json" ? answer.json() : { error: "This block could not be read. Reload the page, or paste fewer rows." };
};
document.addEventListener("paste", async (event) => {
  const input = event.target.closest?.("[data-grid] input"), text = event.clipboardData?.getData("text/plain") ?? "";
  if (!input || !isBlock(text)) return;
  event.preventDefault();
  const read = await readBlock(text);
  const said = input.form.querySelector(".said");
  if (read.error) { say(said, read.error); return; }
  const lines = [...input.form.querySelectorAll("[data-grid] tbody tr")].map((tr) => [...tr.querySelectorAll("input")]);
  const rows = fitted(read.rows, lines);
  const whole = rows.length === lines.length;
  const at = lines.findIndex((line) => line.includes(input)), column = whole ? 0 : lines[at].indexOf(input), top = whole ? 0 : at;
  const room = rows.every((row, r) => lines[top + r] && row.length + column <= lines[top + r].length);
  if (!room) { say(said, `The block has ${rows.length} rows of ${rows[0].length}, which is more than there are cells from here on.`); return; }
  rows.forEach((row, r) => row.forEach((value, c) => { lines[top + r][column + c].value = value; }));
  lines[top + rows.length - 1][column + rows.at(-1).length - 1].focus();
});
const fitted = (rows, lines) => {   /* everything in one line, row after row */
  const width = lines[0].length;
  if (rows.length !== 1 || rows[0].length !== width * lines.length) return rows;
  return lines.map((_, r) => rows[0].slice(r * width, (r + 1) * width));
};
const say = (place, text) => { const p = document.createElement("p"); p.className = "unreadable"; p.textContent = text; place.replaceChildren(p); };

/* ── a form of a question changes that question alone; what stays on the page stays where it is ── */
const following = {};   /* by question: the request whose answer it shows */
document.addEventListener("submit", async (event) => {
  const form = event.target, section = form.closest("[data-question]");
  if (!section || form.method !== "post") return;
  event.preventDefault();
  if (section.dataset.busy) return;
  section.dataset.busy = "1";
  const action = event.submitter?.hasAttribute("formaction") ? event.submitter.formAction : form.action;
  const isAnswer = /\/(answer|explanation)$/.test(action), focused = document.activeElement?.id;
  const fields = isAnswer ? [] : [...section.querySelectorAll("[data-answers] input:not([type=hidden]), [data-answers] textarea")];
  const kept = fields.map((field) => [field.name, field.value, field.checked]);
  following[section.id]?.abort();   /* what explains the answer before is not waited for any more */
  const { signal } = (following[section.id] = new AbortController());
  let answer, marks, rest;
  try {
    answer = await fetch(action, { method: "POST", body: new URLSearchParams(new FormData(form)), headers: { "Headwork-Part": "1" }, signal });
    [marks, rest] = await inTwo(answer);
  } catch { answer = null; }
  delete section.dataset.busy;
  if (!answer || ![200, 422].includes(answer.status) || !answer.headers.get("content-type")?.startsWith("text/html")) {
    const place = section.querySelector(".said") ?? section;
    say(place, answer ? "This could not be kept. Reload the page and send it again." : "Headwork does not answer: it may have been stopped. What you typed is still here.");
    return;
  }
  const made = document.createElement("template");
  made.innerHTML = marks;
  const fresh = made.content.querySelector("[data-question]"), awaited = rest && fresh.querySelector(".explanation");
  const shown = isAnswer ? null : section.querySelector(".explanation:not([aria-busy])");   /* of the same answer */
  section.replaceWith(fresh);
  if (awaited && shown) { awaited.replaceWith(shown); following[fresh.id].abort(); }
  else if (awaited) explain(awaited, rest, signal);
  for (const [name, value, checked] of kept) {   /* typed and not checked: a hint does not take it away */
    for (const field of fresh.querySelectorAll(`[data-answers] [name="${CSS.escape(name)}"]`)) {
      if (!["radio", "checkbox"].includes(field.type)) field.value = value;
      else if (field.value === value) field.checked = checked;
    }
  }
  const place = (focused && document.getElementById(focused)) || firstWrong(fresh) || fresh.querySelector(".hints li:last-child summary") || fresh.querySelector("h2");
  const target = isAnswer ? firstWrong(fresh) ?? next(fresh) ?? place : fresh.querySelector(".worked summary, .hints li:last-child summary") ?? place;
  target.focus({ preventScroll: isAnswer && target.matches("input") });
  reach();
  if (answer.headers.get("Headwork-Done")) closing();
});
const explain = async (place, rest, signal) => {   /* what follows the marks takes the place that was kept for it */
  const made = document.createElement("template");
  try { made.innerHTML = await rest; }
  catch { place.removeAttribute("aria-busy"); if (!signal.aborted) say(place, "Headwork does not answer: it may have been stopped. Your answer is kept."); return; }
  place.replaceWith(made.content);
};
const inTwo = async (answer) => {   /* the marks, of so many bytes, are there at once; then what explains them */
  const length = Number(answer.headers.get("Headwork-Marks"));
  if (!length) return [await answer.text(), null];
  const reader = answer.body.getReader();
  let bytes = new Uint8Array();
  const more = async () => {
    const { done, value = [] } = await reader.read();
    const joined = new Uint8Array(bytes.length + value.length);
    joined.set(bytes); joined.set(value, bytes.length); bytes = joined;
    return !done;
  };
  const text = (...place) => new TextDecoder().decode(bytes.slice(...place));
  while (bytes.length < length && await more());
  const rest = async () => { while (await more()); return text(length); };
  const later = rest();
  later.catch(() => {});   /* who waits for it says so */
  return [text(0, length), later];
};
const firstWrong = (section) => section.querySelector('[aria-invalid="true"]') ?? (section.querySelector(".unreadable") ? section.querySelector("[data-answers] input:not([type=hidden]), textarea") : null);
const next = (section) => (section.classList.contains("done") ? section.nextElementSibling?.querySelector("h2") ?? section.querySelector("h2") : null);
const closing = async () => {   /* what is said at the end comes with the whole page */
  const page = new DOMParser().parseFromString(await (await fetch(location.pathname)).text(), "text/html");
  const [old, now] = [document.querySelector("[data-closing]"), page.querySelector("[data-closing]")];
  if (old && now) old.replaceWith(now);
};

/* ── what the terminal finds of code shows without a reload, while the page is in view ── */
const look = async (place) => {
  const answer = await fetch(`${place.dataset.newest}?act=${encodeURIComponent(place.dataset.act)}`);
  if (answer.status !== 200) return;
  const made = document.createElement("template");
  made.innerHTML = await answer.text();
  const fresh = made.content.querySelector("[data-question]"), section = place.closest("[data-question]");
  section.className = fresh.className;
  section.querySelector("h2").replaceChildren(...fresh.querySelector("h2").childNodes);
  const found = fresh.querySelector("[data-newest]");   /* the place stays: a reader says what changes in it */
  place.dataset.act = found.dataset.act; place.replaceChildren(...found.childNodes);
  if (answer.headers.get("Headwork-Done")) closing();
};
if (document.querySelector("[data-newest]")) setInterval(() => {
  if (document.visibilityState === "visible") document.querySelectorAll("[data-newest]").forEach((place) => look(place).catch(() => {}));
}, 2000);

/* ── an explanation is kept while it is written ── */
let waiting = 0;
document.addEventListener("input", ({ target }) => {
  if (!target.matches("textarea[name=text]")) return;
  clearTimeout(waiting);
  waiting = setTimeout(() => keepDraft(target), 1500);
});
document.addEventListener("focusout", ({ target }) => { if (target.matches?.("textarea[name=text]") && waiting) keepDraft(target); });
const keepDraft = (area) => {
  clearTimeout(waiting); waiting = 0;
  if (area.value.trim() && area.value !== area.defaultValue)
    fetch(area.form.action.replace(/explanation$/, "draft"), { method: "POST", keepalive: true, body: new URLSearchParams({ token: token(), text: area.value }) }).catch(() => {});
};

/* ── a matrix that scrolls sideways can be reached with the keyboard ── */
const reach = () => document.querySelectorAll(".scroll:not(:has(input, td[tabindex]))").forEach((region) => {
  region.scrollWidth > region.clientWidth ? (region.tabIndex = 0) : region.removeAttribute("tabindex");
});
addEventListener("resize", reach); document.addEventListener("toggle", reach, true); reach();

/* ── a link into a closed block opens it ── */
const openTarget = () => { const target = document.getElementById(location.hash.slice(1)); if (target?.matches("details")) target.open = true; };
addEventListener("hashchange", openTarget); openTarget();

/* ── ? shows the keys ── */
let sheet = null;
document.addEventListener("keydown", async (event) => {
  if (event.key !== "?" || event.ctrlKey || event.metaKey || event.target.matches("input:not([type=radio], [type=checkbox], [type=range]), textarea, select")) return;
  event.preventDefault();
  if (sheet?.open) { sheet.close(); return; }
  if (!sheet) {
    const page = new DOMParser().parseFromString(await (await fetch("/keys")).text(), "text/html");
    sheet = document.createElement("dialog");
    sheet.className = "sheet"; sheet.setAttribute("aria-label", "Keys");
    const close = document.createElement("button");
    close.textContent = "Close"; close.onclick = () => sheet.close();
    sheet.append(...page.querySelector("[data-keys]").childNodes, close);
    document.body.append(sheet);
  }
  sheet.showModal();
});
