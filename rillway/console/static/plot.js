// Lag and pending entries of a group over time, by uPlot. The page has the same as a table.

/* global uPlot */
const box = document.getElementById("plot");
const STEPS = { "5m": 1, "1h": 10, "1d": 60 };
const LENGTHS = { "5m": 300, "1h": 360, "1d": 1440 };
const HEIGHT = 240;
let plot = null;
let data = [[], [], []];

const color = (name) => getComputedStyle(document.body).getPropertyValue(name);
// light-dark() has no value of its own: a probe resolves it.
function resolved(name) {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  box.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value || color(name);
}

const short = (value) => (value >= 1e6 ? `${value / 1e6}M` : value >= 1e4 ? `${value / 1e3}k` : String(value));

const time = (value) => (value == null ? "–" : new Date(value * 1e3).toISOString().slice(11, 19));
// Where the pointer is, or else the newest.
const newest = (self, value, series, index) => (index == null ? self.data[series].at(-1) : value) ?? "?";

function draw() {
  plot?.destroy();
  const axis = { stroke: resolved("--soft"), grid: { stroke: resolved("--line"), width: 1 }, ticks: { stroke: resolved("--line") } };
  plot = new uPlot(
    {
      width: box.clientWidth - 16,
      height: HEIGHT,
      scales: { y: { range: (_, low, high) => [0, Math.max(high, 4)] } },
      series: [
        { label: "UTC", value: (self, value) => time(value ?? self.data[0].at(-1)) },
        { label: "lag", stroke: resolved("--accent"), width: 2, points: { show: false }, value: newest },
        { label: "pending", stroke: resolved("--alarm"), width: 2, points: { show: false }, dash: [6, 4], value: newest },
      ],
      axes: [
        { ...axis, space: 80, incrs: [1, 5, 10, 30, 60, 120, 180, 300, 600, 1800, 3600, 7200, 14400], values: (_, values, __, ___, step) => values.map((value) => time(value).slice(0, step < 60 ? 8 : 5)) },
        { ...axis, size: 60, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 2e6, 5e6, 1e7, 1e8, 1e9], values: (_, values) => values.map(short) },
      ],
    },
    data,
    box,
  );
}

async function begin() {
  const span = box.dataset.span;
  const answer = await fetch(`${document.body.dataset.api}/history?span=${span}`);
  if (!answer.ok) return;
  const { t, lag, pending } = await answer.json();
  data = [t, lag, pending];
  draw();
  document.addEventListener("point", ({ detail: [time, newLag, newPending] }) => {
    const last = data[0].at(-1);
    if (last !== undefined && time < last + STEPS[span]) return;
    data[0].push(time);
    data[1].push(newLag);
    data[2].push(newPending);
    if (data[0].length > LENGTHS[span]) data.forEach((column) => column.shift());
    plot.setData(data);
  });
  new ResizeObserver(() => plot.setSize({ width: box.clientWidth - 16, height: HEIGHT })).observe(box);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
}

// uPlot is a deferred script: it is there once the document is.
if (document.readyState === "complete") begin();
else window.addEventListener("load", begin);
