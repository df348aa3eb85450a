import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { Pod } from "@dray/api/core/v1";
import { createClient, httpsTransport, loadKubeconfig } from "@dray/client";
import { eventually } from "@dray/testing/eventually";
import { dray, inFolder } from "../../testing/program.ts";

test("up --allowed-unsafe-sysctls: nodes accept pods that set them; kept until none", () =>
  inFolder(async (folder) => {
    const data = ["--data-dir", join(folder, "data")];
    const run = async (...args: string[]): Promise<void> => {
      const { code, stderr } = await dray([...args, ...data]);
      assert.equal(code, 0, stderr);
    };
    /**
     * Creates a pod that sets an unsafe sysctl, and resolves to its status reason once the node has processed
     * it.
     */
    const reasonOf = async (name: string): Promise<string | undefined> => {
      const { connection } = await loadKubeconfig({ file: join(folder, "data", "kubeconfig") });
      const client = createClient({ transport: httpsTransport(connection), userAgent: "test" });
      try {
        const pods = client.resource(Pod);
        const key = { name, namespace: "default" };
        await pods.create({
          metadata: key,
          spec: {
            securityContext: { sysctls: [{ name: "kernel.msgmax", value: "8192" }] },
            containers: [{ name: "c", image: "none.example.com/none", command: ["sleep", "60"] }],
          },
        });
        const { status } = await eventually(`the node reports ${name}`, async () => {
          const pod = await pods.get(key);
          return (pod.status?.reason !== undefined || pod.status?.containerStatuses !== undefined) && pod;
        });
        return status?.reason;
      } finally {
        client.close();
      }
    };
    try {
      await run("up", "--detach", "--nodes", "1", "--allowed-unsafe-sysctls", "kernel.msg*");
      assert.equal(await reasonOf("allowed"), undefined);
      await run("down");
      await run("up", "--detach");
      assert.equal(await reasonOf("kept"), undefined);
      await run("down");
      await run("up", "--detach", "--allowed-unsafe-sysctls", "none");
      assert.equal(await reasonOf("rejected"), "SysctlForbidden");
    } finally {
      await run("down");
    }
  }));
