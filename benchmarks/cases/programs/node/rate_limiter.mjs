// rate-limiter-flexible: points are consumed by a hundred users, fifty requests at a time.
import { begin, byTasks, end, jobs, main, port, require } from "./jobs.mjs";

const Redis = require("ioredis");
const { RateLimiterRedis } = require("rate-limiter-flexible");

const [USERS, AT_A_TIME] = [100, 50];

await main({
  async consume() {
    const storeClient = new Redis({ host: "127.0.0.1", port });
    const limiter = new RateLimiterRedis({ storeClient, points: jobs, duration: 3600 });
    let allowed = 0;
    await limiter.consume("first");
    await begin();
    await byTasks(AT_A_TIME, jobs, async (number) => {
      await limiter.consume(`user:${number % USERS}`);
      allowed++;
    });
    await end(() => allowed);
  },
});
