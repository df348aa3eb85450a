import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { allocation, claim, gpuClass, type Manifest, node, pod, slice, usesClaim } from "../plan/testing.ts";
import { dray, inFolder } from "../testing/program.ts";

/** A pod that waits for a claim, which a pod that is gone holds, in two namespaces. */
function leaked(namespace: string, labels: object): Manifest[] {
  const held = {
    allocation: allocation("a", namespace === "team" ? "gpu-0" : "gpu-1"),
    reservedFor: [{ resource: "pods", name: "gone", uid: "00000000-0000-4000-8000-000000000000" }],
  };
  const metadata = { namespace, labels };
  return [
    claim("held", {}, { metadata: { ...metadata, name: "held" }, status: held }),
    { ...pod("waits", usesClaim("missing")), metadata: { ...metadata, name: "waits" } },
  ];
}

test("commands that list take -n, -A, -l and --no-headers as kubectl does", () =>
  inFolder(async (folder) => {
    const file = join(folder, "objects.json");
    const items = [
      node("a"),
      slice("a", 2),
      gpuClass,
      ...leaked("team", { app: "x" }),
      ...leaked("other", {}),
    ];
    writeFileSync(file, JSON.stringify({ apiVersion: "v1", kind: "List", items }));
    const run = async (command: string): Promise<string> =>
      (await dray([...command.split(" "), "-f", file])).stdout;
    const [explained, labelled, all, doctor, plan, top] = await Promise.all([
      run("explain --no-headers -n team"),
      run("explain --no-headers -l app=x"),
      run("explain --no-headers -n team -A"),
      run("doctor -l app --rule leaked-reservation"),
      run("plan --no-headers -l app"),
      run("top claims --no-headers -n other"),
    ]);
    const first = (text: string): string[] => text.match(/^\S+/gm) ?? [];
    assert.deepEqual(first(explained), ["team"]);
    assert.equal(labelled, explained);
    assert.deepEqual(first(all).toSorted(), ["other", "team"]);
    assert.match(doctor, /ResourceClaim team\/held/);
    assert.doesNotMatch(doctor, /other\/held/);
    assert.deepEqual(first(plan), ["team/waits"]);
    assert.deepEqual(first(top), ["other/held"]);
    const [mistake, single] = await Promise.all([
      dray(["doctor", "-f", file, "-l", "a=("]),
      dray(["explain", "pod", "waits", "-f", file, "-A"]),
    ]);
    assert.deepEqual([mistake.code, single.code], [2, 2]);
    assert.match(mistake.stderr, /^error: --selector a=\(: .*must be labels, as in zone=a,tier!=test\n/);
    assert.match(single.stderr, /-l and -A are for the list of what waits/);
  }));

test("a DeviceTaintRule without devices to choose from is refused", async () => {
  const file = join(import.meta.dirname, "../../../../examples/taints/preview.yaml");
  const { code, stdout, stderr } = await dray(["explain", "devicetaintrule", "repair", "-f", file]);
  assert.deepEqual([code, stdout], [2, ""]);
  assert.match(stderr, /^error: there is no ResourceSlice in the files: name the cluster/);
});
