import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "@dray/api/core/v1";
import { readExposition } from "@dray/testing/exposition";
import { temporaryFolder } from "@dray/testing/folder";
import { partial } from "@dray/testing/partial";
import { volumeMetrics } from "./volume-metrics.ts";

const podOf = (uid: string, namespace: string): Pod =>
  partial<Pod>({
    metadata: { uid, namespace, name: uid },
    spec: { containers: [], volumes: [{ name: "data", persistentVolumeClaim: { claimName: "c" } }] },
  });

test("a claim is there once, with the figures of the file system that it lies on", async (t) => {
  const folder = temporaryFolder(t);
  const folders = new Map([
    ["a", folder],
    ["b", folder],
    ["elsewhere", folder],
    ["gone", `${folder}/none`],
  ]);
  const pods = [podOf("a", "one"), podOf("b", "one"), podOf("elsewhere", "two"), podOf("gone", "three")];
  const text = await volumeMetrics({
    pods: () => pods,
    volumes: {
      claims: (uid) => [{ claim: "c", volume: "data", path: folders.get(uid) ?? "" }],
      isSetUp: (uid) => uid !== "gone",
    },
  });
  const read = readExposition(text);
  const capacities = read.get("kubelet_volume_stats_capacity_bytes")?.samples ?? [];
  assert.deepEqual(
    capacities.map(({ labels }) => labels),
    [
      { namespace: "one", persistentvolumeclaim: "c" },
      { namespace: "two", persistentvolumeclaim: "c" },
    ],
  );
  const [{ value: capacity = 0 } = {}] = capacities;
  const [{ value: used = 0 } = {}] = read.get("kubelet_volume_stats_used_bytes")?.samples ?? [];
  assert.ok(capacity > 0 && used <= capacity, `${used} of ${capacity}`);
  assert.deepEqual(
    read
      .get("volume_manager_total_volumes")
      ?.samples.map(({ labels, value }) => [labels["plugin_name"], labels["state"], value]),
    [
      ["kubernetes.io/persistent-claim", "desired_state_of_world", 4],
      ["kubernetes.io/persistent-claim", "actual_state_of_world", 3],
    ],
  );
});
