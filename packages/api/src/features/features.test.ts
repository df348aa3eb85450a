import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import {
  FeatureError,
  featuresOf,
  isInRelease,
  type KubernetesVersion,
  kubernetesVersions,
  parseFeatureGates,
  parseKubernetesVersion,
  UnknownGateError,
} from "../index.ts";

test("the newest version is the default; rejects an unknown one with the list", () => {
  assert.equal(parseKubernetesVersion(), "1.37");
  assert.equal(parseKubernetesVersion("v1.35.2"), "1.35");
  assert.throws(() => parseKubernetesVersion("1.33"), /1\.33.*supported are 1\.34, 1\.35, 1\.36, 1\.37/);
});

test("a gate follows its stage from release to release", () => {
  const states = (["1.34", "1.35", "1.36", "1.37"] as const).map((version) =>
    featuresOf(version).enabled("DRADeviceTaintRules"),
  );
  assert.deepEqual(states, [false, false, false, true]);
  assert.equal(featuresOf("1.34").enabled("DRAListTypeAttributes"), false);
  assert.equal(featuresOf("1.36").enabled("DRAConsumableCapacity"), true);
});

test("before 1.35 taint rules have the gate of taints", () => {
  const features = featuresOf("1.34", parseFeatureGates("DRADeviceTaints=true"));
  assert.equal(features.enabled("DRADeviceTaintRules"), true);
});

test("the flag turns gates on and off, and whole stages", () => {
  const features = featuresOf("1.37", parseFeatureGates("AllAlpha=true, DRAResourcePoolStatus=false"));
  assert.equal(features.enabled("DRAListTypeAttributes"), true);
  assert.equal(features.enabled("DRAResourcePoolStatus"), false);
  assert.equal(features.enabled("DRAWorkloadResourceClaims"), false);
});

test("rejects a gate that cannot be set and names the reason", () => {
  const set = (text: string, version: KubernetesVersion = "1.37"): unknown =>
    featuresOf(version, parseFeatureGates(text));
  assert.throws(
    () => set("NoSuch=true"),
    /unrecognized feature gate: NoSuch; Kubernetes 1\.37 has .*DRAAdminAccess/,
  );
  assert.throws(() => set("DRAAdminAccess=false"), /locked to true/);
  assert.throws(
    () => set("DRADeviceTaintRules=true", "1.34"),
    /1\.34 does not have it, 1\.35, 1\.36, 1\.37 do$/,
  );
  assert.throws(
    () => set("DRAWorkloadResourceClaims=true"),
    /depends on features that are disabled: GenericWorkload/,
  );
  assert.throws(() => set("DRAListTypeAttributes"), /missing bool value/);
  assert.throws(() => set("DRAListTypeAttributes=perhaps"), FeatureError);
  assert.doesNotThrow(() => set("DRAAdminAccess=true"));
});

test("gates of Kubernetes that change nothing here are taken as the release has them, and named", () => {
  const set = (text: string, version: KubernetesVersion = "1.37"): readonly string[] =>
    featuresOf(version, parseFeatureGates(text)).withoutEffect;
  assert.deepEqual(set("MemoryQoS=false,DRAAdminAccess=true,GenericWorkload=true"), ["MemoryQoS"]);
  assert.deepEqual(set("DRAFractionalCapacityRange=false"), []);
  assert.deepEqual(set("AllBeta=false"), []);
  // Upstream: {1.34 Beta, on}, {1.36 Stable, locked}.
  assert.throws(() => set("KubeletPSI=false"), /cannot set .* to false, feature is locked to true/);
  assert.deepEqual(set("KubeletPSI=true"), ["KubeletPSI"]);
  // Upstream: {1.35 Deprecated, default false, locked}.
  assert.throws(
    () => set("AllowOverwriteTerminationGracePeriodSeconds=true", "1.35"),
    /cannot set .* to true, feature is locked to false/,
  );
  assert.doesNotThrow(() => set("AllowOverwriteTerminationGracePeriodSeconds=true", "1.34"));
  assert.throws(() => set("CRIListStreaming=true", "1.35"), /1\.35 does not have it, 1\.36, 1\.37 do$/);
  const unknown = (): unknown => set("KubeletPodResourceGet=true");
  assert.throws(unknown, (error) => {
    assert.ok(error instanceof UnknownGateError);
    assert.equal(error.gate, "KubeletPodResourceGet");
    assert.ok(error.known.includes("KubeletPodResourcesGet") && error.known.includes("DRAAdminAccess"));
    return true;
  });
});

test("a gate of DRA either has an effect or is listed as without one", () => {
  const packages = join(import.meta.dirname, "..", "..", "..");
  const texts = readdirSync(packages, { recursive: true, encoding: "utf8" })
    .filter((path) => /^[^/]+\/src\/.*\.(ts|json)$/.test(path))
    .filter((path) => !/\.test\.ts$|testdata|generated|^api\/src\/features\//.test(path))
    .map((path) => readFileSync(join(packages, path), "utf8"));
  for (const version of kubernetesVersions) {
    const { states } = featuresOf(version);
    for (const gate of states.keys()) {
      const asked = texts.some((text) => new RegExp(`\\b${gate}\\b`).test(text));
      // With all others, so that each has those that it depends on.
      const all = new Map([...states.keys()].map((name) => [name, true]));
      const { withoutEffect } = featuresOf(version, all);
      assert.equal(withoutEffect.includes(gate), !asked, `${gate} in ${version}`);
    }
  }
});

test("isInRelease includes the first and the last release of the marks", () => {
  const table: [version: string, marks: { since?: string; until?: string }, inside: boolean][] = [
    ["1.36", {}, true],
    ["1.36", { since: "1.36" }, true],
    ["1.35", { since: "1.36" }, false],
    ["1.36", { until: "1.35" }, false],
    ["1.35", { since: "1.34", until: "1.35" }, true],
    // As numbers, not as texts.
    ["1.100", { since: "1.36" }, true],
    ["1.9", { since: "1.36" }, false],
  ];
  for (const [version, marks, inside] of table)
    assert.equal(isInRelease(version, marks), inside, JSON.stringify([version, marks]));
});
