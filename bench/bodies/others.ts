/**
 * The clients of the benchmark, in a thread of their own: one sends the body that is measured, another asks
 * for `/livez` on a connection of its own, again and again.
 */
import { Agent, request } from "node:https";
import { parentPort, workerData } from "node:worker_threads";
import type { Sent } from "./requests.ts";

/** How to reach the server. */
export interface ClientOptions {
  readonly url: string;
  readonly authority: string;
  readonly token: string;
}

export interface Answered {
  readonly status: number;
  /** The message of an error; "" for a success. */
  readonly message: string;
}

/** Requests for `/livez` while the body was processed. */
export interface Others {
  readonly count: number;
  /** Milliseconds that the slowest of them took. */
  readonly longest: number;
}

export interface Outcome extends Answered {
  /** Milliseconds until the last answer. */
  readonly total: number;
  readonly others: Others;
}

const { url, authority, token } = workerData as ClientOptions;
const attackers = new Agent({ keepAlive: true });
const bystander = new Agent({ keepAlive: true, maxSockets: 1 });

function call(agent: Agent, { method, url: path, type, body }: Sent): Promise<Answered> {
  const { promise, resolve, reject } = Promise.withResolvers<Answered>();
  const headers = {
    authorization: `Bearer ${token}`,
    accept: "application/json",
    ...(type === "" ? {} : { "content-type": type, "content-length": body.length }),
  };
  const sent = request(`${url}${path}`, { method, agent, ca: authority, headers }, (response) => {
    response.toArray().then((chunks: Buffer[]) => {
      const status = response.statusCode ?? 0;
      resolve({ status, message: status < 300 ? "" : messageOf(Buffer.concat(chunks).toString()) });
    }, reject);
  });
  sent.once("error", reject);
  sent.end(body);
  return promise;
}

function messageOf(text: string): string {
  try {
    return (JSON.parse(text) as { message: string }).message.slice(0, 200);
  } catch {
    return text.slice(0, 200);
  }
}

const livez: Sent = { method: "GET", url: "/livez", type: "", body: Buffer.of() };

/** Sends the request `times` times at once, and asks for `/livez` until all answers are there. */
async function measure(sent: Sent, times: number): Promise<Outcome> {
  await call(bystander, livez);
  const began = performance.now();
  let isOver = false;
  const answers = Promise.all(Array.from({ length: times }, () => call(attackers, sent)));
  const total = answers.then(
    () => performance.now() - began,
    () => 0,
  );
  void total.then(() => {
    isOver = true;
  });
  let [count, longest] = [0, 0];
  while (!isOver) {
    const asked = performance.now();
    await call(bystander, livez);
    longest = Math.max(longest, performance.now() - asked);
    count++;
  }
  // `times` is at least 1.
  return { ...(await answers)[0]!, total: await total, others: { count, longest } };
}

parentPort?.on("message", ({ sent, times }: { sent: Sent; times: number }) => {
  const body = Buffer.from(sent.body);
  measure({ ...sent, body }, times).then(
    (outcome) => parentPort?.postMessage(outcome),
    (error: unknown) =>
      parentPort?.postMessage({
        status: 0,
        message: String(error),
        total: 0,
        others: { count: 0, longest: 0 },
      }),
  );
});
