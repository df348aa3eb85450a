/**
 * Measures the cost to the API server of watchers that never read, beside others that do. The former are a
 * process that is stopped while events come, and killed afterwards.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ConfigMap } from "@dray/api/core/v1";
import type { Client } from "@dray/client";
import { Users } from "../interop/credentials.ts";
import { startServer } from "../interop/server.ts";
import { machine, markdown } from "./allocator/clock.ts";

/** How the silent ones are connected; `silent.ts` has them. */
const kinds = {
  none: "none",
  http1: "HTTP/1.1, a connection each",
  http2: "HTTP/2, 100 on a connection",
  "http2-wide": "the same, with windows of 2 GiB",
} as const;

const readers = 20;
const silentProgram = join(import.meta.dirname, "watchers", "silent.ts");
const namespace = "default";
const name = "watched";
/** Milliseconds for which the server is left alone before its memory counts. */
const rest = 10_000;

interface Figures {
  readonly [column: string]: string;
}

/**
 * `WATCHERS`, `EVENTS`, `BYTES` of each (2,000, 20 and 200,000 if absent) and one of `kinds` (all if absent):
 * gives a table in Markdown.
 */
export async function watchersBench([
  watchers = "2000",
  events = "20",
  bytes = "200000",
  only,
]: readonly string[]): Promise<string> {
  const rows: string[][] = [];
  let head: string[] = [];
  for (const [kind, title] of Object.entries(kinds)) {
    if (only !== undefined && only !== kind) continue;
    const figures = await measure(kind, Number(watchers), Number(events), Number(bytes));
    head = ["silent watchers", ...Object.keys(figures)];
    rows.push([title, ...Object.values(figures)]);
  }
  return `${watchers} silent watchers, ${readers} that read, ${events} events of ${bytes} bytes; MiB resident. Measured on ${machine}.

${markdown(head, rows)}`;
}

async function measure(kind: string, watchers: number, events: number, bytes: number): Promise<Figures> {
  const folder = mkdtempSync(join(tmpdir(), "dray-bench-"));
  const server = await startServer("dray", folder);
  const { pid } = server.programs.at(-1)!;
  try {
    const users = new Users(folder, server.url, server.authority);
    const client = await users.client("bench", ["system:masters"]);
    const maps = client.resource(ConfigMap);
    await untilReady(client);
    await maps.create({ metadata: { namespace, name }, data: { n: "0" } });
    const seen = Array.from({ length: readers }, () => new Seen());
    const watching = await Promise.all(seen.map(() => users.client("bench", ["system:masters"])));
    for (const [index, one] of watching.entries())
      seen[index]!.follow(one).catch((error: unknown) => {
        if (!done) throw error;
      });
    let written = 0;
    let done = false;
    const write = async (count: number): Promise<number> => {
      const text = "x".repeat(bytes);
      let slowest = 0;
      for (let index = 0; index < count; index++) {
        const data = { n: String(++written), text };
        const start = performance.now();
        await maps.patch({ namespace, name }, "merge", { data });
        await Promise.all(seen.map((one) => one.reached(written)));
        slowest = Math.max(slowest, performance.now() - start);
      }
      return slowest;
    };
    // Code is compiled and the history filled before memory counts.
    await write(events);
    const before = resident(pid);
    const silent = kind === "none" ? undefined : await openSilent(kind, users, watchers);
    const open = resident(pid);
    silent?.kill("SIGSTOP");
    const peak = new Peak(pid);
    const slowest = await write(events);
    await sleep(rest);
    const highest = peak.end();
    const held = resident(pid);
    silent?.kill("SIGKILL");
    await sleep(rest);
    const after = resident(pid);
    const cutOff = readFileSync(server.programs.at(-1)!.log, "utf8").split("was cut off").length - 1;
    done = true;
    for (const one of watching) one.close();
    client.close();
    const mib = (value: number): string => value.toFixed(0);
    return {
      before: mib(before),
      "silent ones connected": mib(open),
      "highest while events come": mib(highest),
      "ten seconds later": mib(held),
      "ten seconds after they went": mib(after),
      "cut off": String(cutOff),
      "slowest event, ms": slowest.toFixed(0),
    };
  } finally {
    for (const program of server.programs.toReversed()) await program.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function untilReady(client: Client): Promise<void> {
  while ((await client.text("GET", "/readyz").catch(() => "")) !== "ok") await sleep(20);
}

async function openSilent(kind: string, users: Users, watchers: number) {
  const kubeconfig = await users.kubeconfig("silent", ["system:masters"]);
  const path = `/api/v1/namespaces/${namespace}/configmaps?watch=true&resourceVersion=0&fieldSelector=metadata.name%3D${name}`;
  const args = [...process.execArgv, silentProgram, kind, kubeconfig, path, String(watchers)];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  process.once("exit", () => child.kill("SIGKILL"));
  const [line] = await once(child.stdout, "data");
  if (String(line) !== "open\n") throw new Error(`silent watchers: ${line}`);
  return child;
}

/** The events that one watcher has read; fails if one is missing or out of order. */
class Seen {
  #latest = -1;
  #news = Promise.withResolvers<void>();

  async follow(client: Client): Promise<void> {
    for await (const { object } of client
      .resource(ConfigMap)
      .watch({ namespace, fieldSelector: `metadata.name=${name}` })) {
      const n = Number(object.data?.["n"]);
      if (this.#latest >= 0 && n !== this.#latest + 1)
        throw new Error(`event ${n} came after ${this.#latest}`);
      this.#latest = n;
      this.#news.resolve();
      this.#news = Promise.withResolvers();
    }
  }

  async reached(n: number): Promise<void> {
    while (this.#latest < n) await this.#news.promise;
  }
}

class Peak {
  #highest = 0;
  readonly #timer: NodeJS.Timeout;

  constructor(pid: number) {
    this.#timer = setInterval(() => {
      this.#highest = Math.max(this.#highest, resident(pid));
    }, 100);
  }

  end(): number {
    clearInterval(this.#timer);
    return this.#highest;
  }
}

/** Resident set size in MiB (VmRSS of proc(5)). */
const resident = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;
