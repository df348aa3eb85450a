import assert from "node:assert/strict";
import { test } from "node:test";
import { featuresOf } from "@dray/api";
import type { PersistentVolume, PersistentVolumeClaim } from "@dray/api/core/v1";
import type { ClusterEvent, CycleState } from "../../framework/framework.ts";
import { defaultPluginArgs } from "../args.ts";
import { filter, nodeInfo, podOf, preFilter, scores } from "../testing/plugins.ts";
import { inZone, stored, TestStorage, using } from "../testing/volumes.ts";
import { volumeBinding } from "./plugin.ts";
import type { VolumeWriter } from "./writer.ts";

/** Writes into the storage of the test; `until` asks once. */
class TestWriter implements VolumeWriter {
  readonly written: string[] = [];
  readonly #storage: TestStorage;
  inTime = true;
  /** The actions of a controller in the meantime. */
  meanwhile = (): void => {};

  constructor(storage: TestStorage) {
    this.#storage = storage;
  }
  async volume(changed: PersistentVolume): Promise<PersistentVolume> {
    const volume = stored(changed);
    this.#storage.volumes.set(volume.metadata.name, volume);
    this.written.push(`${volume.metadata.name} for ${volume.spec?.claimRef?.name}`);
    return volume;
  }
  async claim(changed: PersistentVolumeClaim): Promise<PersistentVolumeClaim> {
    const claim = stored(changed);
    this.#storage.claims.set(claim.metadata.name, claim);
    this.written.push(
      `${claim.metadata.name} on ${claim.metadata.annotations?.["volume.kubernetes.io/selected-node"]}`,
    );
    return claim;
  }
  exists(): boolean {
    return true;
  }
  async until(check: () => boolean): Promise<boolean> {
    assert.equal(check(), false, "bound before the controller did anything");
    this.meanwhile();
    return this.inTime && check();
  }
}

function setUp(storage = new TestStorage()) {
  const writer = new TestWriter(storage);
  const args = defaultPluginArgs.VolumeBinding;
  const plugin = volumeBinding({ lookup: storage, writer, args, features: featuresOf() });
  const nodes = ["a", "b"].map((zone) => nodeInfo(zone, { labels: { zone } }));
  return { storage, writer, plugin, nodes, args };
}

const nodeConflict = "!node(s) didn't match PersistentVolume's node affinity";
const bindConflict = "!node(s) didn't find available persistent volumes to bind";

/** Upstream: podHasPVCs, and PreFilter */
test("claims that keep a pod from all nodes", () => {
  const { storage, plugin } = setUp();
  storage
    .addClaim("lost", { volumeName: "v" }, { status: { phase: "Lost" } })
    .addClaim("going", {}, { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } })
    .addClaim("open")
    .addClass("wait")
    .addClaim("half", { storageClassName: "wait", volumeName: "v" }, { metadata: { annotations: {} } })
    .addClaim("p-scratch");
  const cases: [string, string][] = [
    ["none", 'persistentvolumeclaim "none" not found'],
    ["lost", 'persistentvolumeclaim "lost" bound to non-existent persistentvolume "v"'],
    ["going", 'persistentvolumeclaim "going" is being deleted'],
    ["open", "pod has unbound immediate PersistentVolumeClaims"],
    ["half", "pod has unbound immediate PersistentVolumeClaims"],
  ];
  for (const [name, message] of cases) assert.equal(preFilter(plugin, using(name)), message);
  const scratch = (name: string) => podOf({ name, spec: { volumes: [{ name: "scratch", ephemeral: {} }] } });
  assert.equal(
    preFilter(plugin, scratch("q")),
    'waiting for ephemeral volume controller to create the persistentvolumeclaim "q-scratch"',
  );
  assert.equal(
    preFilter(plugin, scratch("p")),
    "PVC d/p-scratch was not created for pod d/p (pod is not owner)",
  );
  assert.equal(preFilter(plugin, podOf()), "skip");
});

test("bound claims: where their volumes are", () => {
  const { storage, plugin, nodes } = setUp();
  storage
    .addVolume("v", inZone("a"))
    .addClaim("here", { volumeName: "v" })
    .addVolume("w")
    .addClaim("anywhere", { volumeName: "w" })
    .addClaim("gone", { volumeName: "none" });
  assert.deepEqual(filter(plugin, using("here", "anywhere"), nodes), { a: "", b: nodeConflict });
  const noVolume = "!node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)";
  assert.deepEqual(filter(plugin, using("gone"), nodes), { a: noVolume, b: noVolume });
});

/** Upstream: FindMatchingVolume */
test("claims that wait: the smallest volume that does, each for one claim", async () => {
  const { storage, plugin, nodes, writer } = setUp();
  storage.addClass("manual", { provisioner: "kubernetes.io/no-provisioner" });
  const inA = { storageClassName: "manual", ...inZone("a") };
  storage
    .addVolume("large", { ...inA, capacity: { storage: "10Gi" } })
    .addVolume("medium", { ...inA, capacity: { storage: "5Gi" } })
    .addVolume("small", { ...inA, capacity: { storage: "1Gi" } })
    .addVolume("other-class", { ...inA, storageClassName: "x", capacity: { storage: "2Gi" } })
    .addVolume("block", { ...inA, volumeMode: "Block", capacity: { storage: "2Gi" } })
    .addVolume("read-only", { ...inA, accessModes: ["ReadOnlyMany"], capacity: { storage: "2Gi" } })
    .addVolume("taken", { ...inA, capacity: { storage: "2Gi" }, claimRef: { name: "x", namespace: "d" } });
  const wants = (storageSize: string) => ({
    storageClassName: "manual",
    resources: { requests: { storage: storageSize } },
  });
  storage.addClaim("c2", wants("2Gi")).addClaim("c3", wants("3Gi")).addClaim("c20", wants("20Gi"));
  const pod = using("c3", "c2");
  const state: CycleState = new Map();
  assert.deepEqual(filter(plugin, pod, nodes, state), { a: "", b: bindConflict });
  assert.deepEqual(filter(plugin, using("c20"), nodes), { a: bindConflict, b: bindConflict });
  plugin.reserve!(state, pod, nodes[0]!);
  // Until it is written, the volumes are there for nobody else.
  assert.equal(filter(plugin, using("c2"), nodes)["a"], "");
  storage.addClaim("late", wants("2Gi"));
  assert.deepEqual(filter(plugin, using("late"), nodes), { a: bindConflict, b: bindConflict });
  plugin.undo!(state, pod, nodes[0]!);
  assert.deepEqual(filter(plugin, using("late"), nodes), { a: "", b: bindConflict });
  plugin.reserve!(state, pod, nodes[0]!);
  writer.meanwhile = () => {
    storage.addClaim("c2", { volumeName: "medium" }).addClaim("c3", { volumeName: "large" });
  };
  await plugin.preBind!(state, pod, nodes[0]!);
  assert.deepEqual(writer.written, ["medium for c2", "large for c3"]);
});

test("a volume that a user has reserved for a claim is the one", () => {
  const { storage, plugin, nodes } = setUp();
  storage
    .addClass("manual", { provisioner: "kubernetes.io/no-provisioner" })
    .addVolume("free", { storageClassName: "manual" })
    .addVolume("mine", {
      storageClassName: "manual",
      ...inZone("b"),
      claimRef: { name: "c", namespace: "d" },
    })
    .addClaim("c", { storageClassName: "manual" });
  assert.deepEqual(filter(plugin, using("c"), nodes)["b"], "");
  storage.volumes.delete("free");
  assert.deepEqual(filter(plugin, using("c"), nodes), { a: bindConflict, b: "" });
});

test("volumes that are to be made: by topology, capacity and the node that was chosen before", () => {
  const { storage, plugin, nodes } = setUp();
  const allowedTopologies = [{ matchLabelExpressions: [{ key: "zone", values: ["b"] }] }];
  storage
    .addClass("any")
    .addClass("b", { allowedTopologies })
    .addClaim("any", { storageClassName: "any" })
    .addClaim("b", { storageClassName: "b" })
    .addClaim(
      "chosen",
      { storageClassName: "any" },
      { annotations: { "volume.kubernetes.io/selected-node": "a" } },
    );
  assert.deepEqual(filter(plugin, using("any"), nodes), { a: "", b: "" });
  assert.deepEqual(filter(plugin, using("b"), nodes), { a: bindConflict, b: "" });
  assert.deepEqual(filter(plugin, using("chosen"), nodes), { a: "", b: bindConflict });
  storage.drivers["csi.example.com"] = { spec: { storageCapacity: true } };
  const noSpace = "!node(s) did not have enough free storage";
  assert.deepEqual(filter(plugin, using("any"), nodes), { a: noSpace, b: noSpace });
  const capacity = (zone: string, more: object) => ({
    storageClassName: "any",
    nodeTopology: { matchLabels: { zone } },
    ...more,
  });
  storage.capacities = [
    capacity("a", { capacity: "2Gi" }),
    capacity("b", { capacity: "100Gi", maximumVolumeSize: "500Mi" }),
  ];
  assert.deepEqual(filter(plugin, using("any"), nodes), { a: "", b: noSpace });
});

test("PreBind asks for the volume, and waits until it is bound", async () => {
  const { storage, plugin, nodes, writer } = setUp();
  storage.addClass("any").addClaim("c", { storageClassName: "any" });
  const attempt = async (): Promise<void> => {
    const state: CycleState = new Map();
    filter(plugin, using("c"), nodes, state);
    plugin.reserve!(state, using("c"), nodes[1]!);
    try {
      await plugin.preBind!(state, using("c"), nodes[1]!);
    } finally {
      plugin.undo!(state, using("c"), nodes[1]!);
    }
  };
  writer.inTime = false;
  await assert.rejects(attempt(), /^Error: binding volumes: context deadline exceeded$/);
  assert.deepEqual(writer.written, ["c on b"]);
  // The choice stands, and is not written again.
  assert.deepEqual(filter(plugin, using("c"), nodes), { a: bindConflict, b: "" });
  writer.inTime = true;
  const claim = storage.claims.get("c")!;
  writer.meanwhile = () => {
    const { annotations: _, ...metadata } = claim.metadata;
    storage.claims.set("c", {
      ...claim,
      metadata: { ...metadata, annotations: {} },
    } as PersistentVolumeClaim);
  };
  await assert.rejects(attempt(), /^Error: provisioning failed for PVC "c"$/);
  writer.meanwhile = () => {
    storage.addVolume("made", inZone("b"));
    const annotations = {
      ...storage.claims.get("c")!.metadata.annotations,
      "pv.kubernetes.io/bind-completed": "yes",
    };
    const now = stored(storage.claims.get("c")!);
    storage.claims.set("c", {
      ...now,
      metadata: { ...now.metadata, annotations },
      spec: { ...now.spec, volumeName: "made" },
    } as PersistentVolumeClaim);
  };
  await attempt();
  assert.deepEqual(filter(plugin, using("c"), nodes), { a: nodeConflict, b: "" });
});

test("the assumption about a claim is dropped once its volume is bound", async () => {
  const { storage, plugin, nodes, writer } = setUp();
  storage.addClass("any").addClaim("c", { storageClassName: "any" });
  const before = storage.claims.get("c")!;
  writer.meanwhile = () => {
    storage.addVolume("made", inZone("b"));
    const asked = storage.claims.get("c")!;
    const annotations = { ...asked.metadata.annotations, "pv.kubernetes.io/bind-completed": "yes" };
    const metadata = { ...asked.metadata, annotations };
    storage.claims.set("c", { ...asked, metadata, spec: { ...asked.spec, volumeName: "made" } });
  };
  const state: CycleState = new Map();
  filter(plugin, using("c"), nodes, state);
  plugin.reserve!(state, using("c"), nodes[1]!);
  storage.claims.set("c", before);
  assert.deepEqual(filter(plugin, using("c"), nodes), { a: bindConflict, b: "" });
  await plugin.preBind!(state, using("c"), nodes[1]!);
  storage.claims.set("c", before);
  assert.deepEqual(filter(plugin, using("c"), nodes), { a: "", b: "" });
});

/** StorageCapacityScoring (KEP-4049) is on from 1.37: the more is left the better. */
test("scores by the storage that is left", () => {
  const { storage, plugin, nodes, writer, args } = setUp();
  storage
    .addClass("any")
    .addClaim("c", { storageClassName: "any", resources: { requests: { storage: "2Gi" } } });
  storage.drivers["csi.example.com"] = { spec: { storageCapacity: true } };
  storage.capacities = [
    { storageClassName: "any", nodeTopology: { matchLabels: { zone: "a" } }, capacity: "4Gi" },
    { storageClassName: "any", nodeTopology: { matchLabels: { zone: "b" } }, capacity: "20Gi" },
  ];
  const scored = (using_: ReturnType<typeof using>, one = plugin) => {
    const state: CycleState = new Map();
    filter(one, using_, nodes, state);
    return one.preScore!(state, using_, nodes) === "skip"
      ? undefined
      : Object.fromEntries(nodes.map((node) => [node.name, one.score!(state, using_, node)]));
  };
  // 50 % and 10 % are used.
  assert.deepEqual(scored(using("c")), { a: 50, b: 90 });
  const before = volumeBinding({ lookup: storage, writer, args, features: featuresOf("1.36") });
  assert.equal(scored(using("c"), before), undefined);
  storage.addVolume("v", { storageClassName: "any", capacity: { storage: "8Gi" }, ...inZone("a") });
  // A volume that is there comes first: a quarter of it.
  assert.deepEqual(scored(using("c")), { a: 75, b: 90 });
  assert.equal(scores(plugin, podOf(), nodes), undefined);
});

test("events of storage that may help", () => {
  const { plugin } = setUp();
  const pod = using("c");
  const event = (change: "add" | "update" | "delete", object: object, old?: object) =>
    plugin.mayHelp(pod, { kind: "volume", change, object, ...(old && { old }) } as ClusterEvent);
  const claim = (name: string, namespace = "d") => ({
    kind: "PersistentVolumeClaim",
    metadata: { name, namespace },
  });
  assert.equal(event("add", claim("c")), true);
  assert.equal(event("update", claim("c"), claim("c")), true);
  assert.equal(event("delete", claim("c")), false);
  assert.equal(event("add", claim("other")), false);
  assert.equal(event("add", claim("c", "e")), false);
  assert.equal(event("update", { kind: "PersistentVolume" }, { kind: "PersistentVolume" }), true);
  const storageClass = (values: string[]) => ({
    kind: "StorageClass",
    allowedTopologies: [{ matchLabelExpressions: [{ key: "zone", values }] }],
  });
  assert.equal(event("add", storageClass(["a"])), true);
  assert.equal(event("update", storageClass(["b"]), storageClass(["a"])), true);
  assert.equal(event("update", storageClass(["a"]), storageClass(["a"])), false);
  const capacity = (size: string) => ({ kind: "CSIStorageCapacity", capacity: size });
  assert.equal(event("update", capacity("2Gi"), capacity("1Gi")), true);
  assert.equal(event("update", capacity("1Gi"), capacity("2Gi")), false);
  const driver = (storageCapacity: boolean) => ({ kind: "CSIDriver", spec: { storageCapacity } });
  assert.equal(event("update", driver(false), driver(true)), true);
  assert.equal(event("update", driver(true), driver(false)), false);
});
