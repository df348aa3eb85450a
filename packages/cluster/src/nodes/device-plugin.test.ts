import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { type Container, Node, Pod } from "@dray/api/core/v1";
import { silentLog, systemClock } from "@dray/client";
import { type DevicePlugin, runDevicePlugin } from "@dray/driver/device-plugin";
import { eventually } from "@dray/testing/eventually";
import { startCluster } from "../testing/index.ts";

const resource = "example.com/lamp";
const lamps: DevicePlugin = {
  name: resource,
  async *discover() {
    yield [{ id: "lamp-0" }, { id: "lamp-1" }, { id: "lamp-2" }];
  },
  allocate: (ids) => ({ env: { LAMPS: ids.join() } }),
};

test("pods wait until enough devices of a device plugin are free", async () => {
  await using cluster = await startCluster();
  const [node] = cluster.nodes;
  assert.ok(node);
  const stop = new AbortController();
  const plugin = runDevicePlugin(lamps, {
    directory: join(node.root, "var/lib/kubelet/device-plugins"),
    clock: systemClock,
    log: silentLog,
    signal: stop.signal,
  });
  const until = async <T>(get: () => Promise<T>, wanted: (value: T) => boolean): Promise<T> => {
    let last: T | undefined;
    return eventually(
      () => `${wanted}; it is ${JSON.stringify(last)}`,
      async () => {
        last = await get();
        return wanted(last) && last;
      },
    );
  };
  const pods = cluster.client.resource(Pod);
  const podIs = (name: string, wanted: (pod: Pod) => boolean): Promise<Pod> =>
    until(() => pods.get({ namespace: "default", name }), wanted);
  const create = (name: string, count: number, script: string): Promise<Pod> => {
    const main: Container = {
      name: "main",
      image: "host",
      command: ["sh", "-c", script],
      resources: { limits: { [resource]: String(count) } },
    };
    return pods.create({
      metadata: { name, namespace: "default" },
      spec: { restartPolicy: "Never", terminationGracePeriodSeconds: 1, containers: [main] },
    });
  };
  await until(
    () => cluster.client.resource(Node).get({ name: node.name }),
    ({ status }) => status?.allocatable?.[resource] === "3",
  );
  await create("two", 2, '[ "$LAMPS" = lamp-0,lamp-1 ] && sleep 1000');
  await podIs("two", ({ status }) => status?.phase === "Running");
  await create("three", 3, '[ "$LAMPS" = lamp-0,lamp-1,lamp-2 ]');
  const waiting = await podIs(
    "three",
    ({ status }) => status?.conditions?.some(({ reason }) => reason === "Unschedulable") === true,
  );
  assert.match(
    waiting.status?.conditions?.find(({ type }) => type === "PodScheduled")?.message ?? "",
    /0\/1 nodes are available: 1 Insufficient example\.com\/lamp/,
  );
  await create("one", 1, '[ "$LAMPS" = lamp-2 ]');
  await podIs("one", ({ status }) => status?.phase === "Succeeded");
  await pods.delete({ namespace: "default", name: "two" });
  await podIs("three", ({ status }) => status?.phase === "Succeeded");

  stop.abort();
  await plugin;
  await until(
    () => cluster.client.resource(Node).get({ name: node.name }),
    ({ status }) => status?.capacity?.[resource] === "3" && status.allocatable?.[resource] === "0",
  );
});
