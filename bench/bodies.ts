/**
 * How long one request with a large body keeps all others waiting: the API server in this process, on a
 * memory store, gets one body after the other, while somebody asks again and again for something small.
 */
import { type ApiRequest, type ApiResponse, systemClock } from "@dray/client";
import { memoryStore } from "@dray/store";
import { type ApiServer, createServer } from "../packages/apiserver/src/index.ts";
import { machine, markdown } from "./allocator/clock.ts";
import { cases } from "./bodies/cases.ts";
import type { Case, Sent } from "./bodies/requests.ts";

const token = "bench";
const rounds = 3;

interface Measured {
  readonly status: number;
  /** Why the case does not measure what it should; absent if it does. */
  readonly message: string;
  /** Milliseconds until the answer. */
  readonly total: number;
  /** The longest that the small request waited. */
  readonly stall: number;
  /**
   * The most processor time that the server's thread used meanwhile: the wait on a machine with nothing else
   * to do.
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
    const { status, message, total, stall, busy } = best!;
    const size = `${(one.sent.body.length / 2 ** 20).toFixed(1)}`;
    process.stderr.write(
      `${name}: ${status} ${busy.toFixed(0)} (${stall.toFixed(0)}) of ${total.toFixed(0)} ms ${message}\n`,
    );
    rows.push([name, size, String(status), total.toFixed(0), stall.toFixed(0), busy.toFixed(0)]);
  }
  return `The best of ${rounds} rounds, measured on ${machine}.

${markdown(["body", "MiB", "answer", "ms until the answer", "longest wait of others, ms", "of it processor time, ms"], rows)}`;
}

async function measure(name: string, { before, sent }: Case): Promise<Measured> {
  const store = memoryStore(systemClock);
  const user = { name: "bench", groups: ["system:masters"] };
  const server = await createServer({
    store,
    kubernetesVersion: "1.36",
    tokens: [{ token, user }],
    disabledAdmissionPlugins: ["ServiceAccount"],
  });
  try {
    for (const one of before) {
      const { status, message } = await answer(server, one);
      if (status >= 300) throw new Error(`${name}: ${status} before it: ${message}`);
    }
    // A definition is served soon after it is made.
    await new Promise((resolve) => setTimeout(resolve, 20));
    const began = performance.now();
    const answered = answer(server, sent);
    let [ended, stall, busy] = [false, 0, 0];
    void answered.finally(() => {
      ended = true;
    });
    let [last, used] = [began, cpuTime()];
    while (!ended) {
      await new Promise(setImmediate);
      await answer(server, { method: "GET", url: "/api/v1/namespaces/default", type: "", body: Buffer.of() });
      const now = performance.now();
      stall = Math.max(stall, now - last);
      const usedNow = cpuTime();
      busy = Math.max(busy, usedNow - used);
      [last, used] = [now, usedNow];
    }
    return { ...(await answered), total: last - began, stall, busy };
  } finally {
    await server.close();
    await store.close();
  }
}

/** Milliseconds of processor time that this thread has used. */
function cpuTime(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

async function answer(
  server: ApiServer,
  { method, url, type, body }: Sent,
): Promise<{ status: number; message: string }> {
  const request: ApiRequest = {
    method,
    url,
    headers: { accept: "application/json", ...(type === "" ? {} : { "content-type": type }) },
    ...(body.length === 0 ? {} : { body }),
    credential: { type: "bearer", token },
    signal: new AbortController().signal,
  };
  const response: ApiResponse = await server.handle(request);
  if (response.type !== "body") throw new Error(`${url} was answered by a ${response.type}`);
  const bytes = response.bytes();
  if (response.status < 300) return { status: response.status, message: "" };
  const { message } = JSON.parse(Buffer.from(bytes).toString()) as { message: string };
  return { status: response.status, message: message.slice(0, 200) };
}
