/** Drivers whose pods, made by the DaemonSet controller, do not come up, and the commands of doctor. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { DaemonSet } from "@dray/api/apps/v1";
import { Namespace, Pod } from "@dray/api/core/v1";
import { eventually, eventuallyPasses } from "@dray/testing/eventually";
import type { Finding } from "../../packages/dray/src/doctor/finding.ts";
import { brief, driverSet } from "../../packages/dray/src/doctor/testing.ts";
import { gpuClass, node } from "../../packages/dray/src/plan/testing.ts";
import { withoutKubectl } from "../harness.ts";
import { type FaultyCluster, faultyCluster, missingImage } from "./cluster.ts";

const namespace = "gpu-system";

const unready = async (faulty: FaultyCluster): Promise<Finding | undefined> =>
  (await faulty.findings()).find(({ rule }) => rule === "driver-not-ready");

const found = async (faulty: FaultyCluster, evidence: RegExp): Promise<Finding> =>
  eventuallyPasses(async () => {
    const finding = await unready(faulty);
    assert.ok(finding !== undefined);
    assert.match(finding.evidence.join("\n"), evidence);
    return finding;
  });

async function mends(faulty: FaultyCluster, { fix }: Finding): Promise<void> {
  for (const line of fix) {
    const { code, stderr } = await faulty.shell(line);
    assert.equal(code, 0, `${line}: ${stderr}`);
  }
  await eventuallyPasses(async () => {
    const left = await unready(faulty);
    assert.deepEqual(left === undefined ? [] : [...brief([left]), ...left.evidence], []);
  });
}

const withCluster = async (body: (faulty: FaultyCluster) => Promise<void>): Promise<void> => {
  const faulty = await faultyCluster([node("a"), node("b"), gpuClass, ...driverSet([])]);
  try {
    await body(faulty);
  } finally {
    await faulty.close();
  }
};

describe("doctor's commands for drivers that are not ready", { skip: withoutKubectl }, () => {
  test("let pods be created that pod security refuses", () =>
    withCluster(async (faulty) => {
      const labels = { "pod-security.kubernetes.io/enforce": "baseline" };
      await faulty.admin.resource(Namespace).patch({ name: namespace }, "merge", { metadata: { labels } });
      await faulty.startControllers("daemonset-controller");
      const finding = await found(faulty, /violates PodSecurity "baseline:latest": hostPath volumes/);
      await mends(faulty, finding);
    }));

  test("undo a rollout that has stopped", () =>
    withCluster(async (faulty) => {
      await faulty.startControllers("daemonset-controller");
      const pods = faulty.admin.resource(Pod);
      await eventually(
        "both pods are there",
        async () => (await pods.list({ namespace })).items.length === 2,
      );
      const template = { spec: { containers: [{ name: "plugin", image: missingImage }] } };
      await faulty.admin
        .resource(DaemonSet)
        .patch({ name: "gpus", namespace }, "strategic", { spec: { template } });
      const finding = await found(faulty, /ErrImagePull: no such image: plugin:missing/);
      await mends(faulty, finding);
    }));
});
