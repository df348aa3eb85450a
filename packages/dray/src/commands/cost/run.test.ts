import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { dray, inFolder } from "../../testing/program.ts";

const examples = join(import.meta.dirname, "../../../../../examples/plan");

test("prints costs as a table and as data, and reports missing objects by its exit code", () =>
  inFolder(async (folder) => {
    const file = join(folder, "pod.json");
    const spec = {
      containers: [{ name: "c", image: "i" }],
      resourceClaims: [{ name: "a", resourceClaimName: "no" }],
    };
    writeFileSync(file, JSON.stringify({ apiVersion: "v1", kind: "Pod", metadata: { name: "p" }, spec }));
    const manifests = ["-f", `${examples}/inference.yaml`, "-f", `${examples}/workers.yaml`];
    const cluster = ["--cluster", `${examples}/cluster.yaml`];
    const [text, json, missing, noFile, noName] = await Promise.all([
      dray(["cost", ...manifests, ...cluster]),
      dray(["cost", ...manifests, ...cluster, "-o", "json"]),
      dray(["cost", "-f", file]),
      dray(["cost", "-f", "nothing.yaml"]),
      dray(["cost"]),
    ]);
    assert.equal(text.code, 0, text.stderr);
    assert.match(text.stdout, /\nDeployment default\/worker +3 +3 +gpu\.example\.com +3 +memory 240Gi +-\n/);
    const { total } = JSON.parse(json.stdout);
    assert.deepEqual(total.classes[0].devices, { least: 4, most: 4 });
    assert.equal(total.quota.default["gpu.example.com.deviceclass.resource.k8s.io/devices"], "4");
    assert.equal(missing.code, 1);
    assert.match(
      missing.stderr,
      /Pod default\/p: there is no ResourceClaim "no" .*: its devices are not counted/,
    );
    assert.deepEqual([noFile.code, noFile.stdout], [1, ""]);
    assert.match(noFile.stderr, /nothing\.yaml: there is no such file/);
    assert.equal(noName.code, 2);
    assert.match(noName.stderr, /name the manifests with -f/);
  }));
