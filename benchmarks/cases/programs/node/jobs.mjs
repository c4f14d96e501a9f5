// The measurement of a program in JavaScript, from inside of its process: job.py in Node.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

export const require = createRequire(import.meta.url); // finds packages in NODE_PATH

const options = {};
for (let i = 2; i < process.argv.length; i += 2) options[process.argv[i]] = process.argv[i + 1];
export const port = Number(options["--port"]);
export const jobs = Number(options["--jobs"]);

const times = [];
let begun;

const report = (words) => process.stdout.write(JSON.stringify(words) + "\n");

/** Reports that all is prepared, and waits until the measurement begins. */
export async function begin() {
  const lines = createInterface({ input: process.stdin });
  report({ ready: true });
  await new Promise((resolve) => lines.once("line", resolve));
  lines.close();
  begun = performance.now();
}

/** Notes the time of a job, in milliseconds. */
export const note = (time) => times.push(time);

/** Reports that all is over, and how many jobs are `done`. */
export async function end(done) {
  const seconds = (performance.now() - begun) / 1000;
  times.sort((a, b) => a - b);
  report({ done: await done(), seconds, p99_ms: times[Math.max(0, Math.ceil(times.length * 0.99) - 1)] });
}

/** Does the jobs `0` to `count - 1`, `tasks` at a time, and notes the time of each. */
export async function byTasks(tasks, count, work) {
  let next = 0;
  const task = async () => {
    while (next < count) {
      const number = next++;
      const started = performance.now();
      await work(number);
      note(performance.now() - started);
    }
  };
  await Promise.all(Array.from({ length: tasks }, task));
}

/** Runs the case of this program that --case names. The process stays until it is killed. */
export const main = (cases) => cases[options["--case"]]();
