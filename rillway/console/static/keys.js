// The keyboard: / filter, g o, g s and g q pages, j and k rows, ? help. Off if the viewer wants that.

const help = document.getElementById("help");
const switchBox = document.getElementById("keys-on");
const STORED = "rillway-keys";
const PAGES = { o: "/", s: "/streams", q: "/queues" };

switchBox.checked = localStorage.getItem(STORED) !== "off";
switchBox.addEventListener("change", () => {
  localStorage.setItem(STORED, switchBox.checked ? "on" : "off");
});
const opener = document.getElementById("help-open");
opener.hidden = false;
opener.addEventListener("click", () => help.showModal());

function moveRow(step) {
  const rows = [...document.querySelectorAll("tbody tr[data-key]")];
  if (!rows.length) return;
  const current = rows.indexOf(document.activeElement.closest("tr[data-key]"));
  const next = current < 0 ? 0 : Math.min(Math.max(current + step, 0), rows.length - 1);
  rows[next].focus();
  rows[next].scrollIntoView({ block: "nearest" });
}

let isAfterG = false;
const ACTIONS = {
  "/": () => document.querySelector("[data-search]")?.focus(),
  "?": () => help.showModal(),
  j: () => moveRow(1),
  k: () => moveRow(-1),
};

document.addEventListener("keydown", (event) => {
  const target = event.target;
  if (event.key === "Enter" && target.matches("tr[data-key]")) {
    target.querySelector("a")?.click();
    return;
  }
  const isTyping = target.matches("input:not([type=checkbox]), select, textarea");
  if (!switchBox.checked || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  if (document.querySelector("dialog[open]")) return;
  if (isAfterG && PAGES[event.key]) {
    location.assign(PAGES[event.key]);
    return;
  }
  isAfterG = event.key === "g";
  if (ACTIONS[event.key]) {
    event.preventDefault();
    ACTIONS[event.key]();
  }
});
