import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Pod } from "@dray/api/core/v1";
import { type Log, silentLog, systemClock } from "@dray/client";
import { type DevicePlugin, type DevicePluginOptions, runDevicePlugin } from "@dray/driver/device-plugin";
import { type SkipClock, skipClock } from "@dray/testing/clock";
import { partial } from "@dray/testing/partial";
import { NodePaths } from "../../../../kubelet/src/base/paths.ts";
import { DevicePluginManager } from "../../../../kubelet/src/device-plugins/manager.ts";

export interface RunningPlugin {
  /** Resolves, or rejects, when the plugin has ended. */
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

/** The folders of a node, and the node agent's manager of device plugins on its real sockets. */
export interface PluginNode {
  readonly directory: string;
  /** Texts of the plugin's log. */
  readonly lines: string[];
  readonly clock: SkipClock;
  manager: DevicePluginManager;
  startKubelet(): Promise<void>;
  run(plugin: DevicePlugin, options?: Partial<DevicePluginOptions>): RunningPlugin;
  /** Admits a pod with one container that asks for devices; rejects with the refusal. */
  admit(uid: string, count: number, resource?: string): Promise<Pod>;
  /** Edits of the container of an admitted pod when it starts. */
  start(pod: Pod): ReturnType<DevicePluginManager["container"]>;
}

export async function pluginNode(t: TestContext): Promise<PluginNode> {
  const paths = new NodePaths(mkdtempSync("/tmp/dpn-"));
  const ends: (() => Promise<unknown>)[] = [];
  t.after(async () => {
    for (const end of ends) await end();
    await node.manager.close();
    rmSync(paths.root, { recursive: true });
  });
  const note: Log["warn"] = (fields, message) => node.lines.push(`${message} ${JSON.stringify(fields)}`);
  const manager = (): DevicePluginManager =>
    new DevicePluginManager({
      paths,
      clock: systemClock,
      log: silentLog,
      bootId: "boot",
      isActive: () => true,
      changed() {},
      retry() {},
    });
  const node: PluginNode = {
    directory: join(paths.kubelet, "device-plugins"),
    lines: [],
    clock: skipClock(),
    manager: manager(),
    async startKubelet() {
      await node.manager.close();
      node.manager = manager();
      await node.manager.start();
    },
    run(plugin, options = {}) {
      const stop = new AbortController();
      const ended = runDevicePlugin(plugin, {
        directory: node.directory,
        clock: node.clock,
        log: { ...silentLog, info: note, warn: note, error: note },
        signal: stop.signal,
        ...options,
      });
      // A test may look at it later.
      ended.catch(() => {});
      const running: RunningPlugin = {
        ended,
        async stop() {
          stop.abort();
          await ended;
        },
      };
      ends.push(() => running.stop().catch(() => {}));
      return running;
    },
    async admit(uid, count, resource = "example.com/lamp") {
      const pod = partial<Pod>({
        metadata: { name: uid, namespace: "default", uid },
        spec: { containers: [{ name: "main", resources: { limits: { [resource]: String(count) } } }] },
      });
      const refusal = await node.manager.admit(pod);
      if (refusal !== undefined) throw new Error(`${refusal.reason}: ${refusal.message}`);
      return pod;
    },
    async start(pod) {
      const [container] = pod.spec.containers;
      if (container === undefined) throw new Error("the pod has no container");
      return node.manager.container(pod, container);
    },
  };
  return node;
}
