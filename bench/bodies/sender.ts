/** Sends the body that is measured, in a thread of its own: reading a large answer takes time, too. */
import { parentPort, workerData } from "node:worker_threads";
import { type Answered, type ClientOptions, client } from "./client.ts";
import type { Sent } from "./requests.ts";

export interface Outcome extends Answered {
  /** Milliseconds until the last answer. */
  readonly total: number;
}

const send = client(workerData as ClientOptions);

/** Sends the request `times` times at once. */
async function measure(sent: Sent, times: number): Promise<Outcome> {
  const began = performance.now();
  const answers = await Promise.all(Array.from({ length: times }, () => send(sent)));
  // `times` is at least 1.
  return { ...answers[0]!, total: performance.now() - began };
}

parentPort?.on("message", ({ sent, times }: { sent: Sent; times: number }) => {
  measure({ ...sent, body: Buffer.from(sent.body) }, times).then(
    (outcome) => parentPort?.postMessage(outcome),
    (error: unknown) => parentPort?.postMessage({ status: 0, message: String(error), total: 0 }),
  );
});
