import assert from "node:assert/strict";
import { test } from "node:test";
import { featuresOf } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import { type ClusterEvent, type CycleState, cloneState } from "../framework/framework.ts";
import { nodeVolumeLimits } from "./node-volume-limits.ts";
import { filter, nodeInfo, podOf, preFilter } from "./testing/plugins.ts";
import { TestStorage, using } from "./testing/volumes.ts";
import { volumeRestrictions } from "./volume-restrictions.ts";
import { volumeZone } from "./volume-zone.ts";

const inUse =
  "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod";

test("VolumeRestrictions: a ReadWriteOncePod claim is for one pod (KEP-2485)", () => {
  const storage = new TestStorage()
    .addClaim("one", { accessModes: ["ReadWriteOncePod"] })
    .addClaim("many", { accessModes: ["ReadWriteMany"] });
  const plugin = volumeRestrictions(storage);
  const holder = using("one", "many");
  const nodes = [nodeInfo("a", { pods: [holder] }), nodeInfo("b")];
  const state: CycleState = new Map();
  const pod = using("one");
  assert.deepEqual(filter(plugin, pod, nodes, state), { a: inUse, b: inUse });
  assert.equal(preFilter(plugin, using("many"), nodes), "skip");
  assert.equal(preFilter(plugin, using("one"), [nodes[1]!]), "skip");
  assert.equal(preFilter(plugin, using("none")), 'persistentvolumeclaim "none" not found');
  const trial = cloneState(state);
  plugin.removePod!(trial, pod, holder, nodes[0]!);
  assert.equal(plugin.filter!(trial, pod, nodes[0]!), undefined);
  plugin.addPod!(trial, pod, using("one"), nodes[1]!);
  assert.equal(plugin.filter!(trial, pod, nodes[0]!)?.reasons[0], inUse);
  const deleted = (other: Pod): ClusterEvent => ({ kind: "assigned-pod", change: "delete", pod: other });
  assert.equal(plugin.mayHelp(pod, deleted(holder)), true);
  assert.equal(plugin.mayHelp(pod, deleted(using("many"))), false);
});

/** Upstream: isVolumeConflict */
test("VolumeRestrictions: disks that pods cannot share", () => {
  const plugin = volumeRestrictions(new TestStorage());
  const disk = (source: object) => podOf({ spec: { volumes: [{ name: "v", ...source }] } });
  const gce = (pdName: string, readOnly?: boolean) => ({ gcePersistentDisk: { pdName, readOnly } });
  const rbd = (monitors: string[], image: string, more: object = {}) => ({
    rbd: { monitors, image, pool: "p", ...more },
  });
  const cases: [object, object, boolean][] = [
    [gce("a"), gce("a"), false],
    [gce("a"), gce("b"), true],
    [gce("a", true), gce("a", true), true],
    [gce("a", true), gce("a"), false],
    [
      { awsElasticBlockStore: { volumeID: "a", readOnly: true } },
      { awsElasticBlockStore: { volumeID: "a", readOnly: true } },
      false,
    ],
    [{ iscsi: { iqn: "i", readOnly: true } }, { iscsi: { iqn: "i", readOnly: true } }, true],
    [{ iscsi: { iqn: "i" } }, { iscsi: { iqn: "i", readOnly: true } }, false],
    [rbd(["m1", "m2"], "x"), rbd(["m2"], "x"), false],
    [rbd(["m1"], "x"), rbd(["m2"], "x"), true],
    [rbd(["m1"], "x"), rbd(["m1"], "y"), true],
    [rbd(["m1"], "x", { pool: "q" }), rbd(["m1"], "x"), true],
    [{ emptyDir: {} }, gce("a"), true],
  ];
  for (const [there, wanted, fits] of cases) {
    const nodes = [nodeInfo("n", { pods: [disk(there)] })];
    const expected = fits ? "" : "node(s) had no available disk";
    assert.deepEqual(filter(plugin, disk(wanted), nodes), { n: expected }, JSON.stringify([there, wanted]));
  }
});

test("VolumeZone: nodes in the zones that the labels of volumes name", () => {
  const zoneKey = "topology.kubernetes.io/zone";
  const betaKey = "failure-domain.beta.kubernetes.io/zone";
  const storage = new TestStorage()
    .addVolume("v-a", {}, { [zoneKey]: "a" })
    .addVolume("v-ab", {}, { [betaKey]: "a__b" })
    .addVolume("v-plain")
    .addVolume("v-broken", {}, { [zoneKey]: "a__" })
    .addClass("wait")
    .addClass("now", { volumeBindingMode: "Immediate" })
    .addClaim("gone", { volumeName: "v-none" })
    .addClaim("waits", { storageClassName: "wait" })
    .addClaim("now", { storageClassName: "now" })
    .addClaim("nothing")
    .addClaim("unknown", { storageClassName: "none" });
  for (const name of ["a", "ab", "plain", "broken"]) storage.addClaim(name, { volumeName: `v-${name}` });
  const plugin = volumeZone(storage);
  const nodes = [
    nodeInfo("a", { labels: { [zoneKey]: "a" } }),
    nodeInfo("b", { labels: { [zoneKey]: "b" } }),
    nodeInfo("beta", { labels: { [betaKey]: "b" } }),
    nodeInfo("bare"),
    nodeInfo("region", { labels: { "topology.kubernetes.io/region": "r" } }),
  ];
  const no = "!node(s) had no available volume zone";
  assert.deepEqual(filter(plugin, using("a"), nodes), { a: "", b: no, beta: no, bare: "", region: no });
  assert.deepEqual(filter(plugin, using("ab"), nodes), { a: "", b: "", beta: "", bare: "", region: no });
  assert.deepEqual(filter(plugin, using("a", "ab"), nodes), { a: "", b: no, beta: no, bare: "", region: no });
  for (const name of ["plain", "broken", "waits"]) assert.equal(preFilter(plugin, using(name)), "skip", name);
  const problems: [string, string][] = [
    ["gone", 'persistentvolume "v-none" not found'],
    ["now", "PersistentVolume had no name"],
    ["nothing", "PersistentVolumeClaim had no pv name and storageClass name"],
    ["unknown", 'storageclass.storage.k8s.io "none" not found'],
    ["none", 'persistentvolumeclaim "none" not found'],
  ];
  for (const [name, message] of problems) assert.equal(preFilter(plugin, using(name)), message);
});

function limits(count?: number): object {
  const allocatable = count === undefined ? undefined : { count };
  return {
    kind: "CSINode",
    spec: { drivers: [{ name: "csi.example.com", ...(allocatable && { allocatable }) }] },
  };
}

test("NodeVolumeLimits: volumes of pods and of attachments, each once", () => {
  const storage = new TestStorage().addClass("wait").addClaim("new", { storageClassName: "wait" });
  for (const name of ["a", "b", "c"])
    storage
      .addClaim(name, { volumeName: `v-${name}` })
      .addVolume(`v-${name}`, { csi: { driver: "csi.example.com", volumeHandle: name } });
  storage.addClaim("nfs", { volumeName: "v-nfs" }).addVolume("v-nfs", { nfs: {} });
  storage.nodes["two"] = limits(2);
  storage.nodes["one"] = limits(1);
  storage.nodes["any"] = limits();
  const plugin = nodeVolumeLimits(storage, featuresOf());
  const full = "node(s) exceed max volume count";
  const nodes = (...names: string[]) => names.map((name) => nodeInfo(name, { pods: [using("a")] }));
  const all = nodes("two", "one", "any", "none");
  assert.deepEqual(filter(plugin, using("b"), all), { two: "", one: full, any: "", none: "" });
  // The volume is there already.
  assert.deepEqual(filter(plugin, using("a"), all), { two: "", one: "", any: "", none: "" });
  assert.deepEqual(filter(plugin, using("b", "c"), all), { two: full, one: full, any: "", none: "" });
  // A claim that waits counts by its provisioner.
  assert.deepEqual(filter(plugin, using("b", "new"), all), { two: full, one: full, any: "", none: "" });
  assert.equal(preFilter(plugin, using("nfs")), "skip");
  // A volume that is being detached is still attached.
  storage.attachments = ["a", "c"].map((name) => ({
    spec: { nodeName: "two", attacher: "csi.example.com", source: { persistentVolumeName: `v-${name}` } },
  }));
  assert.equal(filter(plugin, using("b"), all)["two"], full);
  const event = (change: "add" | "update" | "delete", object: object, old?: object): ClusterEvent =>
    ({ kind: "volume", change, object, ...(old && { old }) }) as ClusterEvent;
  assert.equal(plugin.mayHelp(using("b"), event("update", limits(3), limits(2))), true);
  assert.equal(plugin.mayHelp(using("b"), event("update", limits(2), limits(3))), false);
  assert.equal(plugin.mayHelp(using("b"), event("delete", { kind: "VolumeAttachment" })), true);
});

test("NodeVolumeLimits: from 1.37 on a driver may demand that it is installed (KEP-5030)", () => {
  const storage = new TestStorage()
    .addClaim("a", { volumeName: "v" })
    .addVolume("v", { csi: { driver: "csi.example.com", volumeHandle: "h" } });
  storage.nodes["has"] = limits();
  const nodes = [nodeInfo("has"), nodeInfo("lacks")];
  const missing = "csi.example.com CSI driver is not installed on the node";
  const [newest, before] = [featuresOf(), featuresOf("1.36")].map((each) => nodeVolumeLimits(storage, each));
  assert.deepEqual(filter(newest!, using("a"), nodes), { has: "", lacks: "" });
  storage.drivers["csi.example.com"] = { spec: { preventPodSchedulingIfMissing: true } };
  assert.deepEqual(filter(newest!, using("a"), nodes), { has: "", lacks: missing });
  assert.deepEqual(filter(before!, using("a"), nodes), { has: "", lacks: "" });
});
