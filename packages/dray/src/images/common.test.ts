import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { type Container, Pod } from "@dray/api/core/v1";
import { layoutOf } from "@dray/cluster";
import { eventually } from "@dray/testing/eventually";
import { connect } from "../connection/connect.ts";
import { dray, inFolder } from "../testing/program.ts";

const containers: readonly Container[] = [
  { name: "busybox", image: "busybox:1.36", args: ["true"] },
  { name: "python", image: "python:3.13", command: ["true"] },
  { name: "alpine", image: "docker.io/library/alpine", command: ["sh", "-c", "true"] },
  { name: "debian", image: "debian:13", args: ["true"] },
  { name: "ubuntu", image: "ubuntu" },
];

test("common images run without a command, and one that is mapped later starts then", async () => {
  await inFolder(async (folder) => {
    const dataDir = join(folder, "data");
    try {
      const { code, stdout, stderr } = await dray(["up", "--detach", "--nodes", "1", "--data-dir", dataDir]);
      assert.equal(code, 0, stderr);
      assert.match(stdout, /^Pods are not isolated like on a real node: containers .*\.$/m);
      const { client } = await connect({ kubeconfig: layoutOf(dataDir).kubeconfig }, "test");
      const pods = client.resource(Pod);
      const create = (name: string, all: readonly Container[]) =>
        pods.create({
          metadata: { namespace: "default", name },
          // Longer than the test's timeout: the containers end by themselves.
          spec: { restartPolicy: "Never", terminationGracePeriodSeconds: 3600, containers: [...all] },
        });
      const status = async (name: string) => (await pods.get({ namespace: "default", name })).status;
      const phase = (name: string, wanted: string) =>
        eventually(`${name} is ${wanted}`, async () => (await status(name))?.phase === wanted);
      try {
        await create("shells", containers);
        await create("pause", [{ name: "c", image: "registry.k8s.io/pause:3.10" }]);
        if (process.getuid?.() === 0) await create("nginx", [{ name: "c", image: "nginx:1.27" }]);
        await create("unknown", [{ name: "c", image: "example.com/tool:v1" }]);
        await phase("shells", "Succeeded");
        await phase("pause", "Running");
        await eventually("the unknown image is named", async () => {
          const waiting = (await status("unknown"))?.containerStatuses?.[0]?.state?.waiting;
          return waiting?.reason === "ErrImageNeverPull" && /dray image map/.test(waiting.message ?? "");
        });
        const mapped = await dray(["image", "map", "*/tool:*", "true", "--data-dir", dataDir]);
        assert.equal(mapped.code, 0, mapped.stderr);
        await phase("unknown", "Succeeded");
        if (process.getuid?.() === 0) {
          await phase("nginx", "Running");
          const ip = (await status("nginx"))?.podIP;
          await eventually("nginx answers", async () => {
            const response = await fetch(`http://${ip}/`).catch(() => undefined);
            return response?.status === 200 && /Welcome/.test(await response.text());
          });
        }
        await pods.delete({ namespace: "default", name: "pause" });
        await eventually("pause has ended", async () => {
          const rest = await pods.list({ namespace: "default" });
          return rest.items.every(({ metadata }) => metadata.name !== "pause");
        });
      } finally {
        client.close();
      }
    } finally {
      await dray(["down", "--delete-data", "--data-dir", dataDir]);
    }
  });
});
