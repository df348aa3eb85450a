import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { lackOfContainers } from "../packages/kubelet/src/runtime/oci/testing/runtime.ts";
import { command } from "./harness.ts";

const lack = await lackOfContainers();

/** The way of a person in a clone, who runs the bundle: nothing is loaded, and no registry is there. */
test("up --runtime oci --driver example makes the driver's image of this program", {
  skip: lack ?? false,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), "dray-oci-"));
  const env = { ...process.env, KUBECONFIG: join(folder, "kubeconfig") };
  const dray = async (...args: string[]): Promise<string> => {
    const program = join(import.meta.dirname, "..", "bin", "dray.js");
    const data = ["--data-dir", join(folder, "data")];
    const { code, stdout, stderr } = await command(process.execPath, [program, ...args, ...data], { env });
    assert.equal(code, 0, stderr);
    return stdout;
  };
  try {
    const flags = ["--runtime", "oci", "--nodes", "1", "--store", "memory", "--driver", "example:devices=2"];
    const text = await dray("up", "--detach", ...flags);
    assert.match(text, /^Driver example is installed: 2 devices of gpu\.example\.com on each node/m);
    const status = JSON.parse(await dray("status", "-o", "json"));
    assert.match(JSON.stringify(status), /"gpu\.example\.com"/);
    assert.match(await dray("image", "list"), /dra-example-driver:v\d\S+ +\d+\.\d MiB/);
  } finally {
    await dray("down", "--delete-data");
    rmSync(folder, { recursive: true });
  }
});
