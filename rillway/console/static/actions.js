// What a viewer can do, each after a confirmation that names the stream, the group and the number.

import { notice } from "./live.js";

const api = document.body.dataset.api;
const token = document.querySelector('meta[name="rillway-token"]').content;
const dialog = document.getElementById("confirm");
const MOST = 500;

const WORDS = {
  ack: { verb: "Acknowledge", done: "acknowledged" },
  claim: { verb: "Claim", done: "claimed" },
  "dead-letter": { verb: "Move to the dead letters", done: "moved to the dead letters" },
  redrive: { verb: "Send back", done: "sent back" },
  retry: { verb: "Run again", done: "will run again" },
  remove: { verb: "Remove", done: "removed" },
  front: { verb: "Move to the front", done: "moved to the front" },
};

async function post(path, body) {
  const answer = await fetch(`${api}/${path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Rillway-Token": token },
    body: JSON.stringify(body),
  });
  const content = await answer.json();
  if (!answer.ok) throw new Error(`${content.error.code}: ${content.error.text}`);
  return content;
}

const count = (number, one, many) => `${number} ${number === 1 ? one : many}`;

// -- confirmation ---------------------------------------------------------------------------------

function question(action, number, scope) {
  if (scope.queue) return `${WORDS[action].verb}: ${count(number, "job", "jobs")} of queue ${scope.queue}?`;
  const place = scope.group ? `group ${scope.group} of stream ${scope.stream}` : `stream ${scope.stream}`;
  const whose = scope.owner ? ` of consumer ${scope.owner}` : "";
  const what = count(number, "entry", "entries");
  return `${WORDS[action].verb}: ${what}${whose}, ${place}${action === "claim" ? ", for another consumer" : ""}?`;
}

function confirm(action, ids, scope) {
  const form = dialog.querySelector("form");
  const [text, error] = ["confirm-text", "confirm-error"].map((id) => document.getElementById(id));
  text.textContent = question(action, ids.length, scope);
  error.textContent = "";
  const isClaim = action === "claim";
  document.getElementById("confirm-consumer").hidden = !isClaim;
  form.elements.consumer.required = isClaim;
  form.onsubmit = async (event) => {
    event.preventDefault();
    const body = { ids };
    if (isClaim) Object.assign(body, { consumer: form.elements.consumer.value, min_idle_ms: scope.idle });
    const button = form.querySelector("[type=submit]");
    button.disabled = true;
    try {
      const answer = await post(action, body);
      dialog.close();
      if (scope.queue) reportJobs(action, ids, answer);
      else report(action, ids, answer);
    } catch (failure) {
      error.textContent = failure.message;
    } finally {
      button.disabled = false;
    }
  };
  dialog.showModal();
}

function reportJobs(action, ids, { done }) {
  const missed = ids.length - done;
  const rest = missed ? `; ${count(missed, "was", "were")} left: taken meanwhile, or the framework's rules forbid it` : "";
  notice(`${count(done, "job", "jobs")} ${WORDS[action].done}${rest}. Open the page again to see the queue.`, done === 0);
  for (const row of picked()) row.dataset.state = "gone";
}

function report(action, ids, { done, gone }) {
  const missed = gone.length ? `; ${count(gone.length, "was", "were")} gone: acknowledged, delivered again or deleted meanwhile` : "";
  notice(`${count(done, "entry", "entries")} ${WORDS[action].done}${missed}.`, done === 0);
  const lost = new Set(gone);
  for (const id of ids) {
    const row = document.querySelector(`[data-table="pending"] tr[data-key="${id}"], [data-table="dead"] tr[data-key="${id}"]`);
    if (!row) continue;
    if (lost.has(id)) row.dataset.state = "gone";
    else row.remove();
  }
  showSelection();
}

// -- what is chosen -------------------------------------------------------------------------------

function picked() {
  return [...document.querySelectorAll("[data-pick]:checked")].map((box) => box.closest("tr"));
}

function showSelection() {
  const bar = document.querySelector("[data-selection]");
  if (!bar) return;
  const number = picked().length;
  bar.querySelector("[data-selected]").textContent = `${number} selected`;
  for (const button of bar.querySelectorAll("button")) button.disabled = number === 0;
}

async function owned(consumer) {
  const answer = await fetch(`${api}/pending?limit=${MOST}&consumer=${encodeURIComponent(consumer)}`);
  const content = await answer.json();
  if (!answer.ok) throw new Error(content.error.text);
  return content.pending;
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-action]");
  if (!button) return;
  const { stream, group, queue } = button.closest("[data-stream]").dataset;
  const row = button.closest("tr[data-key]");
  if (!row) {
    const rows = picked();
    const idle = Math.min(...rows.map((one) => Number(one.dataset.idle)));
    confirm(button.dataset.action, rows.map((one) => one.dataset.key), { stream, group, queue, idle });
    return;
  }
  try {
    const entries = await owned(row.dataset.key);
    const owner = row.querySelector('[data-cell="name"]').textContent;
    const idle = Math.min(...entries.map((one) => one.idle_ms ?? 0));
    if (entries.length) confirm(button.dataset.action, entries.map((one) => one.id), { stream, group, owner, idle });
    else notice(`${owner} has nothing pending (any more).`);
  } catch (failure) {
    notice(failure.message, true);
  }
});

document.addEventListener("change", (event) => {
  if (event.target.matches("[data-pick-all]")) {
    for (const box of document.querySelectorAll("[data-pick]")) box.checked = event.target.checked;
  }
  if (event.target.matches("[data-pick], [data-pick-all]")) showSelection();
});

// -- an entry ------------------------------------------------------------------------------------

function setUpAdding() {
  const adding = document.getElementById("add");
  if (!adding) return;
  const [form, pairs] = [adding.querySelector("form"), document.getElementById("add-fields")];
  const error = document.getElementById("add-error");
  document.querySelector('[data-open="add"]').addEventListener("click", () => adding.showModal());
  document.getElementById("add-more").addEventListener("click", () => {
    const pair = pairs.firstElementChild.cloneNode(true);
    for (const input of pair.querySelectorAll("input")) input.value = "";
    pairs.append(pair);
    pair.querySelector("input").focus();
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const fields = [...pairs.children].map((pair) => [...pair.querySelectorAll("input")].map((one) => one.value));
    try {
      const { id } = await post("entries", { fields });
      notice(`Added ${id}.`);
      error.textContent = "";
      form.reset();
      adding.close();
    } catch (failure) {
      error.textContent = failure.message;
    }
  });
}

for (const button of document.querySelectorAll('dialog button[value="cancel"]')) {
  button.addEventListener("click", () => button.closest("dialog").close());
}
function reveal(root) {
  for (const element of root.querySelectorAll("[data-pick], [data-pick-all], [data-selection], [data-consumer-actions], [data-open]")) element.hidden = false;
}
reveal(document);
for (const template of document.querySelectorAll("template")) reveal(template.content);
showSelection();
setUpAdding();
