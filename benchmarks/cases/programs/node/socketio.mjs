// socket.io's adapter for Redis: what one server emits reaches a client of another one.
import { createServer } from "node:http";
import { begin, byTasks, end, jobs, main, port, require } from "./jobs.mjs";

const Redis = require("ioredis");
const { createAdapter } = require("@socket.io/redis-adapter");
const { Server } = require("socket.io");
const { io } = require("socket.io-client");

const AT_A_TIME = 50;

const connected = () => new Redis({ host: "127.0.0.1", port });

async function started() {
  const http = createServer();
  const server = new Server(http, { adapter: createAdapter(connected(), connected()) });
  await new Promise((resolve) => http.listen(0, "127.0.0.1", resolve));
  return { server, url: `http://127.0.0.1:${http.address().port}` };
}

await main({
  async emit() {
    const [here, there] = [await started(), await started()];
    there.server.on("connection", (socket) => socket.join("room"));
    const client = io(there.url, { transports: ["websocket"] });
    await new Promise((resolve) => client.on("connect", resolve));
    const awaited = new Map();
    let arrived = 0;
    let isSubscribed = false;
    client.on("subscribed", () => (isSubscribed = true));
    client.on("job", (number) => {
      arrived++;
      awaited.get(number)();
      awaited.delete(number);
    });
    const emit = (number) =>
      new Promise((resolve) => {
        awaited.set(number, resolve);
        here.server.to("room").emit("job", number);
      });
    while (!isSubscribed) {
      here.server.to("room").emit("subscribed");
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    await begin();
    await byTasks(AT_A_TIME, jobs, emit);
    await end(() => arrived);
  },
});
