import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { blocksOf } from "./docs/markdown.ts";
import { runPage } from "./docs/run-page.ts";
import { getJSON, repository, startCluster, withoutKubectl } from "./harness.ts";

/** Examples with a page whose output says which devices reach the containers; `up` as the page has it. */
const examples: Readonly<Record<string, readonly string[]>> = {
  claims: [
    "--fleet examples/claims/fleet.yaml",
    "--runtime-config resource.k8s.io/v1beta1=true,resource.k8s.io/v1beta2=true",
  ],
  "clean-up": ["--fleet examples/clean-up/fleet.yaml"],
  "device-status": [
    "--fleet examples/device-status/fleet.yaml",
    "--driver example:devices=2,device-status=true",
  ],
  "device-metadata": ["--fleet examples/device-metadata/fleet.yaml"],
  network: ["--fleet examples/fleet/network.yaml"],
  "pod-resources": ["--nodes 1", "--driver example:devices=2", "--driver device-plugin-example"],
  "shared-claim": ["--nodes 2", "--driver example:devices=2"],
  workloads: ["--nodes 1", "--driver example:devices=4"],
  parts: ["--fleet examples/parts/fleet.yaml"],
  taints: ["--nodes 1", "--driver example:devices=2"],
  gang: [
    "--fleet examples/gang/fleet.yaml",
    "--feature-gates GenericWorkload=true,DRAWorkloadResourceClaims=true",
    "--runtime-config scheduling.k8s.io/v1beta1=true",
  ],
  health: ["--fleet examples/health/fleet.yaml"],
  "pool-status": [
    "--driver example:devices=2",
    "--feature-gates DRAResourcePoolStatus=true",
    "--runtime-config resource.k8s.io/v1alpha3=true",
  ],
  "extended-resource": ["--fleet examples/extended-resource/mixed/fleet.yaml"],
};

for (const [folder, flags] of Object.entries(examples)) {
  const page = (name: string): string => join(repository, "examples", folder, name);

  test(`${folder}: both pages have the same commands and output`, () => {
    const blocks = (name: string) => blocksOf(page(name)).map(({ language, text }) => ({ language, text }));
    assert.deepEqual(blocks("README.zh-CN.md"), blocks("README.md"));
  });

  test(`${folder}: the page`, { skip: withoutKubectl, timeout: 300_000 }, async () => {
    const text = readFileSync(page("README.md"), "utf8");
    for (const flag of flags) assert.ok(text.includes(flag), flag);
    const cluster = await startCluster(...flags.flatMap((flag) => flag.split(" ")));
    try {
      const env = {
        ...cluster.env,
        PATH: `${join(repository, "node_modules", ".bin")}:${process.env["PATH"]}`,
        DRAY_DATA_DIR: cluster.dataDir,
      };
      await runPage(page("README.md"), repository, env);
      const pods = (): Promise<{ items: unknown[] }> => getJSON(cluster, "pods,resourceclaims");
      // Pods of a Deployment go after it.
      for (const end = Date.now() + 60_000; (await pods()).items.length > 0; )
        assert.ok(Date.now() < end, JSON.stringify((await pods()).items));
    } finally {
      await cluster.down();
    }
  });
}
