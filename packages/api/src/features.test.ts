import assert from "node:assert/strict";
import { test } from "node:test";
import { FeatureError, featuresOf, parseFeatureGates, parseKubernetesVersion } from "./index.ts";

test("the newest version is the default, another is refused with the list", () => {
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

test("what cannot be set is an error that says why", () => {
  const set = (text: string): unknown => featuresOf("1.37", parseFeatureGates(text));
  assert.throws(
    () => set("NoSuch=true"),
    /unrecognized feature gate: NoSuch; Kubernetes 1\.37 has .*DRAAdminAccess/,
  );
  assert.throws(() => set("DRAAdminAccess=false"), /locked to true/);
  assert.throws(
    () => set("DRAWorkloadResourceClaims=true"),
    /depends on features that are disabled: GenericWorkload/,
  );
  assert.throws(() => set("DRAListTypeAttributes"), /missing bool value/);
  assert.throws(() => set("DRAListTypeAttributes=perhaps"), FeatureError);
  assert.doesNotThrow(() => set("DRAAdminAccess=true"));
});
