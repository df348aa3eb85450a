import assert from "node:assert/strict";
import { after, test } from "node:test";
import { Pod, ServiceAccount } from "@dray/api/core/v1";
import { hostRuntime, type RuntimeFactory } from "../index.ts";
import type { ContainerConfig, SandboxConfig } from "../runtime/config.ts";
import { podBecomes, podOn, type TestCluster, testCluster } from "../testing/cluster.ts";

let cluster: TestCluster;
after(() => cluster?.close());

test("the runtime receives the limit of processes of a pod", async () => {
  cluster = await testCluster();
  await cluster.admin
    .resource(ServiceAccount)
    .create({ metadata: { namespace: "default", name: "default" } });
  const cases = [
    { node: "limited", settings: { podMaxPids: 77 }, expected: 77 },
    { node: "free", settings: {}, expected: undefined },
  ];
  for (const { node, settings, expected } of cases) {
    const sandboxes: SandboxConfig[] = [];
    const containers: ContainerConfig[] = [];
    const runtime: RuntimeFactory = (surroundings) => {
      const { service, images } = hostRuntime({ images: [] })(surroundings);
      const run = service.runPodSandbox.bind(service);
      const create = service.createContainer.bind(service);
      service.runPodSandbox = (config) => {
        sandboxes.push(config);
        return run(config);
      };
      service.createContainer = (sandbox, config) => {
        containers.push(config);
        return create(sandbox, config);
      };
      return { service, images };
    };
    await cluster.node(node, { runtime, ...settings });
    await cluster.admin
      .resource(Pod)
      .create(podOn(node, node, { containers: [{ name: "main", command: ["sleep", "1000"] }] }));
    const ref = { namespace: "default", name: node };
    await podBecomes(cluster.admin, ref, ({ status }) => status?.phase === "Running");
    assert.deepEqual(
      sandboxes.map(({ resources }) => resources?.pidsLimit),
      [expected],
    );
    assert.deepEqual(
      containers.map(({ resources }) => resources.pidsLimit),
      [expected],
    );
  }
});
