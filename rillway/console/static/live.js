// Keeps a page up to date: texts and rows from server-sent events. It sets texts only; what a row
// looks like is a <template> of the page.

const address = document.body.dataset.events;
const SHOWN_ENTRIES = 200;
const LIVE_MS = 10000;

export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function fields(pairs) {
  const template = document.getElementById("field");
  return pairs.map(([name, value]) => {
    const field = template.content.firstElementChild.cloneNode(true);
    field.children[0].textContent = name;
    field.children[1].textContent = value;
    return field;
  });
}

function fill(element, row) {
  element.dataset.key = row.key;
  if (element.dataset.state !== "gone") element.dataset.state = row.state || "";
  for (const cell of element.querySelectorAll("[data-cell]")) {
    setText(cell, row.cells[cell.dataset.cell] ?? "");
  }
  const link = element.querySelector("[data-href]");
  if (link && row.href && link.getAttribute("href") !== row.href) link.setAttribute("href", row.href);
  const spark = element.querySelector("[data-spark]");
  if (spark) spark.setAttribute("points", row.spark || "");
  const more = element.querySelector("[data-consumer-link]");
  if (more) more.setAttribute("href", `${location.pathname}?consumer=${encodeURIComponent(row.key)}`);
  const box = element.querySelector("[data-fields]");
  if (box && row.fields) box.replaceChildren(...fields(row.fields));
}

function newRow(name) {
  const template = document.querySelector(`template[data-row="${name}"]`);
  return template.content.firstElementChild.cloneNode(true);
}

function markEmpty(name, isEmpty) {
  const note = document.querySelector(`[data-empty="${name}"]`);
  if (note) note.hidden = !isEmpty;
}

// Rows keep their elements, so that focus and selection stay.
function update(name, rows) {
  const body = document.querySelector(`table[data-table="${name}"] tbody`);
  if (!body) return;
  const known = new Map([...body.children].map((element) => [element.dataset.key, element]));
  let before = body.firstElementChild;
  for (const row of rows) {
    let element = known.get(row.key);
    known.delete(row.key);
    if (!element) element = newRow(name);
    fill(element, row);
    if (element === before) before = before.nextElementSibling;
    else body.insertBefore(element, before);
  }
  for (const element of known.values()) element.remove();
  markEmpty(name, rows.length === 0);
}

let spokenAt = Date.now();
function speak(texts) {
  if (Date.now() < spokenAt + LIVE_MS) return;
  spokenAt = Date.now();
  const parts = [];
  if (texts.state) parts.push(texts.state);
  if (texts.lag) parts.push(`lag ${texts.lag}, ${texts.pending} pending`);
  else if (texts.length) parts.push(`length ${texts.length}, ${texts.in} a second`);
  else parts.push(`${texts.requests} requests a second`);
  setText(document.getElementById("live"), parts.join(". "));
}

function showSample(event) {
  const shown = JSON.parse(event.data);
  for (const element of document.querySelectorAll("[data-text]")) {
    const text = shown.texts[element.dataset.text];
    if (text !== undefined) setText(element, text);
  }
  for (const [name, rows] of Object.entries(shown.tables)) update(name, rows);
  for (const [name, points] of Object.entries(shown.sparks || {})) {
    document.querySelector(`[data-trace="${name}"]`)?.setAttribute("points", points);
  }
  if (shown.point) document.dispatchEvent(new CustomEvent("point", { detail: shown.point }));
  speak(shown.texts);
}

// -- entries as they arrive ---------------------------------------------------------------------

let isPaused = false;
let held = [];
let newest = "";

function showEntries(event) {
  const { rows, skipped } = JSON.parse(event.data);
  newest = rows.at(-1).key;
  if (isPaused) {
    held = [...held, ...rows].slice(-SHOWN_ENTRIES);
    setText(document.getElementById("pause"), `Continue (${held.length} new)`);
    return;
  }
  addEntries(rows);
  const rate = rows.length + skipped;
  const text = skipped ? `${rate} a second, of which ${skipped} are not shown` : "";
  setText(document.getElementById("rate"), text);
}

function addEntries(rows) {
  const body = document.querySelector('table[data-table="entries"] tbody');
  const known = new Set([...body.children].map((element) => element.dataset.key));
  for (const row of rows) {
    if (known.has(row.key)) continue;
    const element = newRow("entries");
    fill(element, row);
    element.classList.add("new");
    body.prepend(element);
  }
  while (body.children.length > SHOWN_ENTRIES) body.lastElementChild.remove();
  markEmpty("entries", body.children.length === 0);
}

function setUpTail() {
  const [tail, pause] = [document.getElementById("tail"), document.getElementById("pause")];
  if (!tail) return;
  document.querySelector("[data-tail]").hidden = false;
  const change = (paused) => {
    isPaused = paused;
    tail.checked = !paused;
    pause.setAttribute("aria-pressed", String(paused));
    setText(pause, paused ? "Continue" : "Pause");
    if (!paused) {
      addEntries(held);
      held = [];
    }
  };
  tail.addEventListener("change", () => change(!tail.checked));
  pause.addEventListener("click", () => change(!isPaused));
}

// -- the connection -----------------------------------------------------------------------------

export function notice(text, isLost = false) {
  const element = document.getElementById("notice");
  element.dataset.lost = String(isLost);
  element.hidden = !text;
  setText(element, text);
}

let source = null;
let isCut = false;

function connect() {
  if (!address || source || document.hidden) return;
  const url = new URL(address, location.href);
  if (newest) url.searchParams.set("since", newest);
  source = new EventSource(url);
  source.addEventListener("sample", showSample);
  source.addEventListener("entries", showEntries);
  source.addEventListener("gone", (event) => notice(JSON.parse(event.data).text, true));
  source.addEventListener("notice", (event) => {
    const { text, lost } = JSON.parse(event.data);
    notice(text, lost);
  });
  source.addEventListener("open", () => {
    if (isCut) notice("Connected to the console again.");
    isCut = false;
  });
  source.addEventListener("error", () => {
    isCut = true;
    const isEnded = source.readyState === EventSource.CLOSED;
    notice(isEnded ? "The session has ended: reload the page." : "No connection to the console.", true);
  });
}

function disconnect() {
  source?.close();
  source = null;
}

document.addEventListener("visibilitychange", () => (document.hidden ? disconnect() : connect()));
window.addEventListener("pagehide", disconnect);
setUpTail();
connect();
