// Producers and consumers as in load.py, with ioredis: node load.mjs PORT < STREAMS. A line on
// stdin has the streams as JSON, those with one tag together; at its end, and once there are more
// entries than streams, the report is printed.
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { Cluster } from "ioredis";

const [GROUP, PRODUCERS, PAUSE_MS, BLOCK_MS, COUNT] = ["billing", 4, 1, 500, 100];
const port = Number(process.argv[2]);
const report = { written: [], given: [], acknowledged: [], errors: {} };
let isOver = false;

const note = (error) => (report.errors[error.message] = (report.errors[error.message] ?? 0) + 1);

// Each consumer has connections of its own: one that waits holds up what comes after it.
const connected = () => new Cluster([{ host: "127.0.0.1", port }], { retryDelayOnTryAgain: 20 });

async function produce(streams) {
  const client = connected();
  for (let number = 0; !isOver; number++) {
    const stream = streams[number % streams.length];
    try {
      report.written.push([stream, await client.xadd(stream, "*", "n", number)]);
    } catch (error) {
      note(error);
    }
    await pause(PAUSE_MS);
  }
  client.disconnect();
}

async function consume(streams) {
  const client = connected();
  const options = ["GROUP", GROUP, "anna", "COUNT", COUNT, "BLOCK", BLOCK_MS, "STREAMS"];
  while (!isOver) {
    try {
      const reply = await client.xreadgroup(...options, ...streams, ...streams.map(() => ">"));
      for (const [stream, entries] of reply ?? []) {
        const ids = entries.map(([id]) => id);
        report.given.push(...ids.map((id) => [stream, id]));
        await client.xack(stream, GROUP, ...ids);
        report.acknowledged.push(...ids.map((id) => [stream, id]));
      }
    } catch (error) {
      note(error);
    }
  }
  client.disconnect();
}

const lines = createInterface({ input: process.stdin });
let least = 0;
lines.on("close", async () => {
  while (report.given.length <= least) await pause(20);
  isOver = true;
});
lines.once("line", async (line) => {
  const streams = JSON.parse(line);
  const every = streams.flat();
  least = every.length;
  const share = (first) => every.filter((_, place) => place % PRODUCERS === first);
  const producers = Array.from({ length: PRODUCERS }, (_, first) => produce(share(first)));
  await Promise.all([...streams.map(consume), ...producers]);
  console.log(JSON.stringify(report));
});
