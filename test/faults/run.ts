import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { systemClock } from "@dray/client";
import { etcdStore, type Store, sqliteStore } from "@dray/store";
import { Random } from "@dray/testing/random";
import { TestEtcd } from "../../packages/store/src/testing/etcd.ts";
import { check } from "./check.ts";
import { Clients } from "./clients.ts";
import type { Change } from "./history.ts";
import { Server } from "./server.ts";

export interface Options {
  readonly store: "sqlite" | "etcd";
  /** How often the server, or its etcd, is killed. */
  readonly kills: number;
  readonly seed: number;
  readonly progress: (line: string) => void;
}

export interface Result {
  /** Broken promises; none is as it should be. */
  readonly wrong: readonly string[];
  readonly summary: string;
}

/**
 * Lets clients work on a server that is killed at random times, and compares the answers that they received
 * with its store.
 */
export async function run({ store, kills, seed, progress }: Options): Promise<Result> {
  const random = new Random(seed);
  const folder = mkdtempSync(join(tmpdir(), "dray-crashes-"));
  const file = join(folder, "state.db");
  const etcd = store === "etcd" ? new TestEtcd() : undefined;
  await etcd?.start();
  const server = new Server(folder, etcd ? `etcd:${etcd.url}` : `sqlite:${file}`);
  try {
    await server.start();
    const transport = await server.transport();
    const clients = new Clients(transport, new Random(seed + 1), 16, 4);
    for (let kill = 1; kill <= kills; kill++) {
      await sleep(100 + random.next() * 900);
      if (etcd && random.chance(0.3)) {
        await etcd.signal("SIGKILL");
        await sleep(random.next() * 500);
        await etcd.start();
      } else {
        await server.kill();
        await server.start();
      }
      progress(`${kill} of ${kills} kills, ${clients.histories.attempts.length} attempts`);
    }
    await sleep(500);
    await clients.stop();
    transport.close();
    await server.kill("SIGTERM");
    const opened = etcd ? etcdStore({ endpoints: [etcd.url] }, systemClock) : sqliteStore(file, systemClock);
    const truth = await changesOf(opened);
    await opened.close();
    const { attempts, reads, watchers } = clients.histories;
    const outcomes = ["done", "refused", "unknown"].map(
      (outcome) => `${attempts.filter((attempt) => attempt.outcome === outcome).length} ${outcome}`,
    );
    const stories = watchers.flat();
    const received = stories.reduce((sum, { changes }) => sum + changes.length, 0);
    return {
      wrong: check(clients.histories, truth),
      summary: `${store}, seed ${seed}: ${kills} kills, ${attempts.length} attempts (${outcomes.join(", ")}), ${reads.length} reads, ${truth.length} changes, of which ${watchers.length} watchers were told ${received} after ${stories.length} lists`,
    };
  } finally {
    await server.kill();
    await etcd?.remove();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** All changes that a store knows of, in its order. */
async function changesOf(store: Store): Promise<Change[]> {
  const prefix = "/registry/configmaps/default/";
  const end = `${prefix}end`;
  await store.txn([], [{ type: "put", key: end, value: "{}" }]);
  const changes: Change[] = [];
  for await (const batch of store.watch(prefix, 0, new AbortController().signal)) {
    for (const { type, key, value, revision } of batch) {
      const name = key.slice(prefix.length);
      if (key === end) return changes;
      if (!/^(client|shared)-/.test(name)) continue;
      const { data } = JSON.parse(value) as { data: { value: string } };
      changes.push(
        type === "delete" ? { type, name, revision } : { type, name, revision, value: data.value },
      );
    }
  }
  return changes;
}
