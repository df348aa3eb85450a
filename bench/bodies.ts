/**
 * How long one request with a large body keeps all others waiting: the API server in this process, on a
 * memory store, gets one body after the other from one thread, while another asks for `/livez`.
 */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { systemClock } from "@dray/client";
import { memoryStore } from "@dray/store";
import { createAuthority, createServer, issueCertificate } from "../packages/apiserver/src/index.ts";
import { machine, markdown } from "./allocator/clock.ts";
import { cases } from "./bodies/cases.ts";
import type { ClientOptions } from "./bodies/client.ts";
import type { Case, Sent } from "./bodies/requests.ts";
import type { Outcome } from "./bodies/sender.ts";

const token = "bench";
const rounds = 3;

interface Measured extends Outcome {
  /** Milliseconds that the slowest request for `/livez` took meanwhile. */
  readonly wait: number;
  /**
   * The most processor time that the server's thread used in one turn of the event loop, in milliseconds: the
   * wait of others on a machine with nothing else to do.
   */
  readonly busy: number;
}

/** Cases whose name holds one of `names`, all if absent: gives a table in Markdown. */
export async function bodiesBench(names: readonly string[]): Promise<string> {
  const chosen = Object.keys(cases).filter(
    (name) => names.length === 0 || names.some((part) => name.includes(part)),
  );
  const rows: string[][] = [];
  for (const name of chosen) {
    const one = cases[name]!();
    // The first answer is one of code that V8 has hardly seen.
    let best: Measured | undefined;
    for (let round = 0; round < rounds; round++) {
      const measured = await measure(name, one);
      if (best === undefined || measured.busy < best.busy) best = measured;
    }
    const { status, message, total, wait, busy } = best!;
    const size = (one.sent.body.length / 2 ** 20).toFixed(1);
    const times = [total, wait, busy].map((time) => time.toFixed(0));
    process.stderr.write(`${name}: ${status} ${times.join(", ")} ms ${message}\n`);
    rows.push([name, size, String(status), ...times]);
  }
  return `The best of ${rounds} rounds, measured on ${machine}.

${markdown(["body", "MiB", "answer", "ms until the answer", "longest wait of others, ms", "longest turn of the server, CPU ms"], rows)}`;
}

async function measure(name: string, { before, sent, times = 1 }: Case): Promise<Measured> {
  const store = memoryStore(systemClock);
  const authority = await createAuthority("bench-ca", Date.now());
  const pair = await issueCertificate(
    authority,
    { commonName: "kube-apiserver", ipAddresses: ["127.0.0.1"], usages: ["server"] },
    Date.now(),
  );
  const server = await createServer({
    store,
    newId: randomUUID,
    tokens: [{ token, user: { name: "bench", groups: ["system:masters"] } }],
    disabledAdmissionPlugins: ["ServiceAccount"],
    serving: { ...pair, clientAuthority: authority.certificate },
  });
  const listener = await server.listen({ host: "127.0.0.1" });
  const workerData: ClientOptions = { url: listener.url, authority: authority.certificate, token };
  const sender = new Worker(new URL("./bodies/sender.ts", import.meta.url), { workerData });
  const others = new Worker(new URL("./bodies/others.ts", import.meta.url), { workerData });
  const send = async (one: Sent, count: number): Promise<Outcome> => {
    sender.postMessage({ sent: one, times: count });
    const [outcome] = (await once(sender, "message")) as [Outcome];
    return outcome;
  };
  try {
    for (const one of before) {
      const { status, message } = await send(one, 1);
      if (status >= 300 || status === 0) throw new Error(`${name}: ${status} before it: ${message}`);
    }
    // A definition is served soon after it is made.
    await new Promise((resolve) => setTimeout(resolve, 20));
    others.postMessage("begin");
    await once(others, "message");
    let [isOver, busy, used] = [false, 0, cpuTime()];
    const outcome = send(sent, times).finally(() => {
      isOver = true;
    });
    while (!isOver) {
      await new Promise(setImmediate);
      const usedNow = cpuTime();
      busy = Math.max(busy, usedNow - used);
      used = usedNow;
    }
    others.postMessage("end");
    const [wait] = (await once(others, "message")) as [number];
    return { ...(await outcome), wait, busy };
  } finally {
    await Promise.all([sender.terminate(), others.terminate()]);
    await server.close();
    await store.close();
  }
}

/** Milliseconds of processor time that this thread has used. */
function cpuTime(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
