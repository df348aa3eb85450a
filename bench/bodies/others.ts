/** Asks for `/livez` again and again, on a connection of its own: from one message to the next. */
import { parentPort, workerData } from "node:worker_threads";
import { type ClientOptions, client } from "./client.ts";
import type { Sent } from "./requests.ts";

const ask = client(workerData as ClientOptions);
const livez: Sent = { method: "GET", url: "/livez", type: "", body: Buffer.of() };
let isAsking = false;

/** Returns the milliseconds that the slowest answer took. */
async function maxWait(): Promise<number> {
  let max = 0;
  while (isAsking) {
    const asked = performance.now();
    await ask(livez);
    max = Math.max(max, performance.now() - asked);
  }
  return max;
}

parentPort?.on("message", async () => {
  isAsking = !isAsking;
  if (!isAsking) return;
  await ask(livez);
  parentPort?.postMessage("began");
  parentPort?.postMessage(await maxWait());
});
