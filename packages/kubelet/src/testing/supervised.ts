/**
 * Nodes in a process of their own, whose code throws what nobody catches: `good`, and one for each way to
 * throw. Prints the states of all, then the number of restarts of each.
 */
import { EventEmitter } from "node:events";
import { connect } from "node:net";
import { silentLog, systemClock } from "@dray/client";
import { failNodeOf, superviseNode } from "../index.ts";
import { testCluster } from "./cluster.ts";

const ways: Record<string, () => void> = {
  timer: () => void setTimeout(() => raise(), 1),
  promise: () => void Promise.resolve().then(raise),
  emitter: () => void setImmediate(() => new EventEmitter().emit("error", new Error("bad"))),
  socket: () => void connect("/nowhere/socket"),
};

function print(value: object): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

function raise(): never {
  throw new Error("bad");
}

process.on("uncaughtException", (error) => {
  if (!failNodeOf(error)) throw error;
});
process.on("unhandledRejection", (error) => {
  if (!failNodeOf(error)) throw error;
});

const cluster = await testCluster();
const supervised = ["good", ...Object.keys(ways)].map((node) => {
  let started = 0;
  const log = {
    ...silentLog,
    info: (_: object, message: string) => {
      if (message === "node agent started" && started++ === 0) ways[node]?.();
    },
  };
  return superviseNode(node, () => cluster.nodeOptions(node, { log }), {
    clock: systemClock,
    log: silentLog,
    changed: ({ state, reason }) => print({ node, state, reason }),
  });
});
const runAgain = (): boolean =>
  supervised.every(
    ({ state }) => state.state === "running" && state.restarts === (state.node === "good" ? 0 : 1),
  );
for (let tries = 0; tries < 300 && !runAgain(); tries++)
  await new Promise((resolve) => setTimeout(resolve, 100));
print(Object.fromEntries(supervised.map(({ state }) => [state.node, state.restarts])));
for (const one of supervised) await one.stop({ leavePods: false });
await cluster.close();
