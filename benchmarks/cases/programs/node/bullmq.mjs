// BullMQ: jobs are added in four ways, and a worker works off a full queue.
import { begin, byTasks, end, jobs, main, note, port, require } from "./jobs.mjs";

const { FlowProducer, Queue, Worker } = require("bullmq");

const BULK = 500;
const ADDING = 50;
const CHILDREN = 4;
const DELAY_MS = 200;
const connection = { host: "127.0.0.1", port };
const queue = new Queue("jobs", { connection });

// 60 bytes as JSON.
const data = (number) => ({ number, text: "forty bytes of text, more or less, are here." });

const bulk = (count, options) =>
  Array.from({ length: count }, (_, number) => ({ name: "job", data: data(number), opts: options }));

async function fill(count) {
  for (let left = count; left > 0; left -= BULK) await queue.addBulk(bulk(Math.min(BULK, left)));
}

const counted = (state) => async () => (await queue.getJobCounts(state))[state];

async function add() {
  await queue.waitUntilReady();
  await begin();
  await byTasks(ADDING, jobs, (number) => queue.add("job", data(number)));
  await end(counted("wait"));
}

async function addBulk() {
  await queue.waitUntilReady();
  await begin();
  for (let left = jobs; left > 0; left -= BULK) {
    const started = performance.now();
    await queue.addBulk(bulk(Math.min(BULK, left)));
    note(performance.now() - started);
  }
  await end(counted("wait"));
}

/** Runs a worker until it has completed `count` jobs; `before` is called when it is ready. */
async function completed(concurrency, count, before) {
  const numbers = new Set();
  const started = new Map();
  let resolve;
  const all = new Promise((done) => (resolve = done));
  const handle = async (job) => {
    started.set(job.id, performance.now());
    return job.data.number;
  };
  const worker = new Worker("jobs", handle, { connection, concurrency, autorun: false });
  worker.on("completed", (job) => {
    note(performance.now() - started.get(job.id));
    numbers.add(job.id);
    if (numbers.size === count) resolve();
  });
  worker.on("error", (error) => {
    console.error(error);
    process.exit(1);
  });
  await worker.waitUntilReady();
  await begin();
  worker.run();
  await before?.();
  await all;
  await end(counted("completed"));
}

const work = (concurrency) => async () => {
  await fill(jobs);
  await completed(concurrency, jobs);
};

/** Jobs are added with a delay, moved to the queue when it is over, and worked off. */
const delayed = () =>
  completed(ADDING, jobs, async () => {
    for (let left = jobs; left > 0; left -= BULK) {
      await queue.addBulk(bulk(Math.min(BULK, left), { delay: DELAY_MS }));
    }
  });

/** Flows of a parent and its children are added and worked off; each of them is a job. */
async function flows() {
  const producer = new FlowProducer({ connection });
  const child = (number) => ({ name: "child", queueName: "jobs", data: data(number) });
  const children = Array.from({ length: CHILDREN }, (_, number) => child(number));
  const flow = { name: "parent", queueName: "jobs", data: data(0), children };
  const count = Math.floor(jobs / (CHILDREN + 1));
  await completed(ADDING, count * (CHILDREN + 1), async () => {
    for (let left = count; left > 0; left -= ADDING) {
      await producer.addBulk(Array(Math.min(ADDING, left)).fill(flow));
    }
  });
}

await main({
  add,
  "add-bulk": addBulk,
  delayed,
  flows,
  "work-1": work(1),
  "work-50": work(50),
});
