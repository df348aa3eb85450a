import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { StatusError } from "@dray/api";
import { ResourceClaim } from "@dray/api/resource/v1";
import { createClient, httpsTransport, loadKubeconfig } from "@dray/client";
import { dray, inFolder } from "../../testing/program.ts";

test("up --enable-admission-plugins: a device is given once; kept until the flag is given again", () =>
  inFolder(async (folder) => {
    const data = ["--data-dir", join(folder, "data")];
    const run = async (...args: string[]): Promise<void> => {
      const { code, stderr } = await dray([...args, ...data]);
      assert.equal(code, 0, stderr);
    };
    /** Gives the same device to a new claim. */
    const allocate = async (name: string): Promise<void> => {
      const { connection } = await loadKubeconfig({ file: join(folder, "data", "kubeconfig") });
      const client = createClient({ transport: httpsTransport(connection), userAgent: "test" });
      try {
        const claims = client.resource(ResourceClaim);
        const key = { name, namespace: "default" };
        const requests = [{ name: "r", exactly: { deviceClassName: "c" } }];
        await claims.create({ metadata: key, spec: { devices: { requests } } });
        const results = [{ request: "r", driver: "gpu.example.com", pool: "p", device: "d" }];
        const status = { allocation: { devices: { results } } };
        await claims.patch(key, "merge", { status }, { subresource: "status" });
      } finally {
        client.close();
      }
    };
    const isRefused = (error: unknown): boolean =>
      StatusError.is(error, "Forbidden") &&
      /device gpu.example.com\/p\/d is allocated to claim default\/first$/.test(error.message);
    try {
      await run("up", "--detach", "--nodes", "0", "--enable-admission-plugins", "UniqueDeviceAllocation");
      await allocate("first");
      await assert.rejects(allocate("second"), isRefused);
      const other = await dray(["up", "--detach", "--enable-admission-plugins", "Priority", ...data]);
      assert.equal(other.code, 2);
      assert.match(
        other.stderr,
        /--enable-admission-plugins: the cluster in .* runs with \["UniqueDeviceAllocation"\]/,
      );
      await run("down");
      await run("up", "--detach");
      await assert.rejects(allocate("third"), isRefused);
      await run("down");
      await run("up", "--detach", "--enable-admission-plugins", "");
      await allocate("fourth");
    } finally {
      await run("down");
    }
  }));
