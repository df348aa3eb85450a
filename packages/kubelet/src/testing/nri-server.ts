import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { silentLog, systemClock } from "@dray/client";
import {
  Container,
  type ContainerAdjustment,
  ContainerUpdate,
  CreateContainerResponse,
  LinuxContainer,
  PodSandbox,
} from "@dray/rpc/nri/v1alpha1";
import { eventuallyPasses } from "@dray/testing/eventually";
import { NriServer, type NriServerOptions, type NriState } from "../nri/server.ts";
import { type PluginMethods, type TestPluginOptions, testPlugin } from "./nri-plugin.ts";

export const pod = PodSandbox.fromPartial({ id: "pod-1", name: "pod", namespace: "default", uid: "uid-1" });

export const container = Container.fromPartial({
  id: "c-1",
  podSandboxId: "pod-1",
  name: "main",
  env: ["A=1", "B=x=y"],
  mounts: [{ destination: "/data", source: "/var/data", type: "bind", options: ["ro"] }],
  annotations: { note: "first" },
  linux: LinuxContainer.fromPartial({ resources: { cpu: { shares: { value: 512n } } } }),
});

export const empty: NriState = { pods: [], containers: [] };

interface Node {
  readonly server: NriServer;
  readonly socketPath: string;
  readonly updates: ContainerUpdate[];
  /** Connects a plugin, and waits until it gets requests. */
  plugin(methods: PluginMethods, options?: TestPluginOptions): ReturnType<typeof testPlugin>;
}

export async function withServer(t: TestContext, options: Partial<NriServerOptions> = {}): Promise<Node> {
  const folder = mkdtempSync("/tmp/dk-");
  const socketPath = join(folder, "nri/nri.sock");
  const updates: ContainerUpdate[] = [];
  const server = new NriServer({
    socketPath,
    runtimeName: "dray",
    runtimeVersion: "1",
    clock: systemClock,
    log: silentLog,
    state: async () => empty,
    updateContainers: async (all) => {
      for (const update of all) updates.push(update);
      return [];
    },
    ...options,
  });
  await server.start();
  t.after(async () => {
    await server.close();
    rmSync(folder, { recursive: true });
  });
  return {
    server,
    socketPath,
    updates,
    async plugin(methods, pluginOptions = {}) {
      const { name = "test", index = "00" } = pluginOptions;
      const plugin = await testPlugin(socketPath, methods, pluginOptions);
      await eventuallyPasses(async () => assert.ok(server.plugins.includes(`${index}-${name}`)));
      return plugin;
    },
  };
}

export const bit = (event: number): number => 2 ** (event - 1);

export const adjusting = (adjust: Parameters<typeof ContainerAdjustment.fromPartial>[0]): PluginMethods => ({
  createContainer: async () => CreateContainerResponse.fromPartial({ adjust }),
});

export const updating = (containerId: string, cpus: string, ignoreFailure = false): ContainerUpdate =>
  ContainerUpdate.fromPartial({ containerId, ignoreFailure, linux: { resources: { cpu: { cpus } } } });
