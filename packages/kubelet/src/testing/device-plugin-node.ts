import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Container, Pod } from "@dray/api/core/v1";
import { type Clock, type Log, silentLog, systemClock } from "@dray/client";
import { eventuallyPasses } from "@dray/testing/eventually";
import { partial } from "@dray/testing/partial";
import { NodePaths } from "../base/paths.ts";
import { DevicePluginManager, type DevicePluginManagerOptions } from "../device-plugins/manager.ts";
import { type TestPlugin, type TestPluginOptions, testPlugin } from "./device-plugin.ts";

export const gpu = "example.com/gpu";

/** The system's time, which a test can push forward. */
class PushedClock implements Clock {
  #ahead = 0;
  readonly #timers = new Set<{ at: number; run: () => void; cancel: () => void }>();

  now(): number {
    return systemClock.now() + this.#ahead;
  }

  after(milliseconds: number, run: () => void): () => void {
    const timer = { at: this.now() + milliseconds, run, cancel: () => {} };
    timer.cancel = systemClock.after(milliseconds, () => this.#timers.delete(timer) && run());
    this.#timers.add(timer);
    return () => {
      this.#timers.delete(timer);
      timer.cancel();
    };
  }

  push(milliseconds: number): void {
    this.#ahead += milliseconds;
    for (const timer of [...this.#timers])
      if (timer.at <= this.now() && this.#timers.delete(timer)) {
        timer.cancel();
        timer.run();
      }
  }
}

export interface Node {
  readonly manager: DevicePluginManager;
  readonly paths: NodePaths;
  readonly directory: string;
  readonly clock: PushedClock;
  readonly active: Set<string>;
  readonly lines: { message: string; fields: Record<string, unknown> }[];
  changes: number;
  retries: number;
  readonly healthChanges: string[];
  plugin(options?: Partial<TestPluginOptions>, resource?: string): Promise<TestPlugin>;
  /** Restarts the agent. `boot`: after a reboot. `kill`: without a close. */
  restart(options?: { boot?: string; kill?: boolean }): Promise<void>;
}

export async function testNode(
  t: TestContext,
  options: Partial<DevicePluginManagerOptions> = {},
): Promise<Node> {
  const paths = new NodePaths(mkdtempSync("/tmp/dp-"));
  paths.create();
  const clock = new PushedClock();
  const note: Log["warn"] = (fields, message) => node.lines.push({ message, fields: fields as never });
  const started: DevicePluginManager[] = [];
  t.after(async () => {
    for (const manager of started) await manager.close();
    rmSync(paths.root, { recursive: true });
  });
  const start = async (bootId: string): Promise<DevicePluginManager> => {
    const manager = new DevicePluginManager({
      paths,
      clock,
      log: { ...silentLog, warn: note, error: note },
      bootId,
      isActive: (uid) => node.active.has(uid),
      changed: () => node.changes++,
      retry: () => node.retries++,
      healthChanged: (uids) => {
        for (const uid of uids) node.healthChanges.push(uid);
      },
      ...options,
    });
    started.push(manager);
    await manager.start();
    return manager;
  };
  let boot = "boot-1";
  const node: Omit<Node, "manager"> & { manager: DevicePluginManager } = {
    manager: undefined as never,
    paths,
    directory: join(paths.kubelet, "device-plugins"),
    clock,
    active: new Set(),
    lines: [],
    changes: 0,
    retries: 0,
    healthChanges: [],
    async plugin(pluginOptions = {}, resource = gpu) {
      const plugin = await testPlugin({ directory: node.directory, ...pluginOptions });
      t.after(() => plugin.close());
      await plugin.register(resource);
      await eventuallyPasses(async () => assert.ok(node.manager.resources().capacity[resource] !== "0"));
      return plugin;
    },
    async restart({ boot: next = boot, kill = false } = {}) {
      boot = next;
      const text = kill ? readFileSync(join(node.directory, "kubelet_internal_checkpoint")) : undefined;
      await node.manager.close();
      // A killed agent has not written what `close` writes.
      if (text !== undefined) writeFileSync(join(node.directory, "kubelet_internal_checkpoint"), text);
      node.manager = await start(boot);
    },
  };
  node.manager = await start(boot);
  return node;
}

export const container = (
  name: string,
  limits: Record<string, string>,
  more: Partial<Container> = {},
): Container => ({
  name,
  resources: { limits },
  ...more,
});

export function podOf(
  uid: string,
  containers: readonly Container[],
  initContainers: readonly Container[] = [],
): Pod {
  return partial<Pod>({
    metadata: { name: uid, namespace: "default", uid },
    spec: { containers, initContainers },
  });
}

export const simplePod = (uid: string, count: number, resource = gpu): Pod =>
  podOf(uid, [container("main", { [resource]: String(count), cpu: "100m" })]);

/** Admits a pod; rejects with the refusal. */
export async function admit(node: Node, pod: Pod): Promise<void> {
  node.active.add(pod.metadata.uid);
  const refusal = await node.manager.admit(pod);
  if (refusal === undefined) return;
  node.active.delete(pod.metadata.uid);
  throw new Error(`${refusal.reason}: ${refusal.message}`);
}

export const refused = (why: string) => ({
  message: `UnexpectedAdmissionError: Allocate failed due to ${why}, which is unexpected`,
});

export const ids = (node: Node, pod: Pod, name = "main"): string =>
  node.manager
    .devices(pod.metadata.uid, name)
    .map(({ id }) => id)
    .toSorted()
    .join();

export const start = (node: Node, pod: Pod, name = "main") => {
  const all = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])];
  return node.manager.container(pod, all.find((one) => one.name === name) as Container);
};

export const waits = (message: string | RegExp) => ({
  name: "RuntimeError",
  reason: "CreateContainerConfigError",
  message,
});
