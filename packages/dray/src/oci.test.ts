import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Pod } from "@dray/api/core/v1";
import { layoutOf } from "@dray/cluster";
import { lackOfContainers } from "../../kubelet/src/runtime/oci/testing/runtime.ts";
import { writeImages } from "../../kubelet/src/testing/test-image.ts";
import { connect } from "./connect.ts";
import { dray, eventually, inFolder, processesWith } from "./testing.ts";

const missing = await lackOfContainers();
const image = "example.com/app:1";

test(
  "up --runtime oci runs images in real containers, and down leaves nothing of them",
  missing === undefined ? {} : { skip: missing },
  () =>
    inFolder(async (folder) => {
      const dataDir = join(folder, "data");
      const data = ["--data-dir", dataDir];
      const run = async (...args: string[]): Promise<string> => {
        const { code, stdout, stderr } = await dray([...args, ...data]);
        assert.equal(code, 0, stderr);
        return stdout;
      };
      const { runDir, ociDir } = layoutOf(dataDir);
      try {
        await run("up", "--detach", "--runtime", "oci", "--nodes", "2");
        writeImages(join(folder, "app.tar"), [{ name: image, config: { Cmd: ["sleep", "1000"] } }]);
        assert.match(await run("image", "load", join(folder, "app.tar")), /^example\.com\/app:1: sha256:/);
        assert.match(await run("image", "list"), /^IMAGE +SIZE\nexample\.com\/app:1 +\d\.\d MiB\n$/);
        const mapped = await dray(["image", "map", "a", "b", ...data]);
        assert.match(mapped.stderr, /\(--runtime oci\): commands stand for images only with --runtime host/);
        const { client } = await connect({ kubeconfig: join(dataDir, "kubeconfig") }, "test");
        try {
          const pods = client.resource(Pod);
          for (const node of ["worker-1", "worker-2"])
            await pods.create({
              apiVersion: "v1",
              kind: "Pod",
              metadata: { namespace: "default", name: node },
              spec: { nodeName: node, containers: [{ name: "c", image, imagePullPolicy: "Never" }] },
            });
          const running = async (): Promise<Pod[]> =>
            (await pods.list({ namespace: "default" })).items.filter(
              ({ status }) => status?.phase === "Running",
            );
          await eventually("both run", async () => (await running()).length === 2);
          const addresses = (await running()).map(({ status }) => status?.podIP);
          assert.equal(new Set(addresses).size, 2, `${addresses}`);
        } finally {
          client.close();
        }
        await run("down");
        assert.deepEqual(processesWith(dataDir), []);
        assert.deepEqual(readdirSync(join(ociDir, "images/roots")), []);
        assert.doesNotMatch(readFileSync("/proc/self/mountinfo", "utf8"), new RegExp(`${folder}|${runDir}`));
        assert.equal(existsSync(runDir), false);
        // What was loaded is there when the cluster goes on.
        assert.match(await run("image", "list"), /example\.com\/app:1/);
      } finally {
        await run("down", "--delete-data");
      }
      assert.equal(existsSync(dataDir), false);
    }),
);
