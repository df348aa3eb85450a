import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import {
  ConfigMap,
  Event,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  type PodSpec,
  ServiceAccount,
} from "@dray/api/core/v1";
import { fastClock } from "@dray/testing/clock";
import { eventuallyPasses } from "@dray/testing/eventually";
import { temporaryFolder } from "@dray/testing/folder";
import { isMountPoint } from "../base/mounts.ts";
import { podBecomes, podOn, type TestCluster, testCluster } from "../testing/cluster.ts";
import { giveToGroup } from "./fs-group.ts";

const isRoot = process.getuid?.() === 0;

/** Reports whether this process may mount: a container with limited root may not. */
function canMount(): boolean {
  const folder = mkdtempSync("/tmp/dk-mount-");
  const mounted = isRoot && spawnSync("mount", ["-t", "tmpfs", "tmpfs", folder]).status === 0;
  if (mounted) spawnSync("umount", [folder]);
  rmSync(folder, { recursive: true });
  return mounted;
}

let cluster: TestCluster;
before(async () => {
  cluster = await testCluster();
  const account = { metadata: { namespace: "default", name: "default" } };
  await cluster.admin.resource(ServiceAccount).create(account);
  // A minute is two seconds.
  await cluster.node("n1", { clock: fastClock(30) });
});
after(() => cluster.close());

const ref = (name: string) => ({ namespace: "default", name });
const create = (name: string, spec: Partial<PodSpec> & Pick<PodSpec, "containers">, metadata = {}) => {
  const draft = podOn("n1", name, { restartPolicy: "Never", ...spec });
  return cluster.admin.resource(Pod).create({ ...draft, metadata: { ...draft.metadata, ...metadata } });
};
const becomes = (name: string, wanted: (pod: Pod) => boolean) => podBecomes(cluster.admin, ref(name), wanted);
const ended = (pod: Pod): boolean => ["Succeeded", "Failed"].includes(pod.status?.phase ?? "");
const running = (pod: Pod): boolean => pod.status?.phase === "Running";
const gone = (name: string): Promise<void> =>
  eventuallyPasses(async () => {
    await assert.rejects(cluster.admin.resource(Pod).get(ref(name)), { code: 404 });
  });
async function events(name: string): Promise<string[]> {
  const { items } = await cluster.admin.resource(Event).list({ namespace: "default" });
  return items
    .filter(({ involvedObject }) => involvedObject.name === name)
    .map(({ reason, message }) => `${reason}: ${message}`);
}
const volumeFolder = (pod: Pod, kind: string, name: string): string =>
  join(
    cluster.rootDir("n1"),
    "var/lib/kubelet/pods",
    pod.metadata.uid,
    "volumes",
    `kubernetes.io~${kind}`,
    name,
  );

test("an emptyDir in memory is a tmpfs of its size, which goes with the pod", async (context) => {
  if (!canMount()) return context.skip("no rights to mount");
  const pod = await create("memory", {
    volumes: [{ name: "data", emptyDir: { medium: "Memory", sizeLimit: "1Mi" } }],
    containers: [
      {
        name: "main",
        command: [
          "bash",
          "-c",
          'head -c 2M /dev/zero >"$0" || stat -f -c %T "$0"; exec sleep 1000',
          "/in-memory/x",
        ],
        volumeMounts: [{ name: "data", mountPath: "/in-memory" }],
      },
    ],
  });
  await becomes("memory", running);
  const path = volumeFolder(pod, "empty-dir", "data");
  assert.ok(isMountPoint(path));
  assert.equal(statSync(path).mode & 0o7777, 0o1777);
  await eventuallyPasses(async () => assert.equal(statSync(join(path, "x")).size, 1 << 20));
  await cluster.admin.resource(Pod).delete(ref("memory"));
  await gone("memory");
  await eventuallyPasses(async () => assert.ok(!isMountPoint(path)));
});

if (!isRoot)
  test("where nothing can be mounted, an emptyDir in memory is on disk, with an event of the pod", async () => {
    await create("disk", {
      volumes: [{ name: "data", emptyDir: { medium: "Memory" } }],
      containers: [{ name: "main", command: ["true"] }],
    });
    await becomes("disk", ended);
    const reported = (await events("disk")).find((event) => event.startsWith("EmptyDirOnDisk: "));
    assert.match(reported ?? "", /^EmptyDirOnDisk: volume "data": medium Memory is on disk: /);
  });

test("files that are closed to others are for containers that name no user, and stay so when they change", async (context) => {
  if (!canMount()) return context.skip("no users of pods' own without rights to mount");
  await cluster.admin.resource(ConfigMap).create({ metadata: ref("closed"), data: { key: "first" } });
  const mounts = { volumeMounts: [{ name: "closed", mountPath: "/closed" }] };
  const command = ["sh", "-c", "until grep -q second /closed/key; do cat /closed/key; sleep 0.1; done"];
  const pod = await create("reader", {
    volumes: [
      { name: "closed", configMap: { name: "closed", defaultMode: 0o400 } },
      {
        name: "info",
        downwardAPI: {
          items: [{ path: "labels", fieldRef: { apiVersion: "v1", fieldPath: "metadata.labels" } }],
        },
      },
    ],
    containers: [
      { name: "main", command, ...mounts },
      {
        name: "other",
        command: ["sh", "-c", "! cat /closed/key"],
        securityContext: { runAsUser: 4711 },
        ...mounts,
      },
    ],
  });
  await eventuallyPasses(async () => {
    const { status } = await cluster.admin.resource(Pod).get(ref("reader"));
    assert.equal(status?.containerStatuses?.[0]?.state?.running === undefined, false);
  });
  const { mode, uid } = statSync(join(volumeFolder(pod, "configmap", "closed"), "key"));
  assert.equal(mode & 0o777, 0o400);
  assert.ok(uid >= 0x7000_0000, `${uid}`);
  await cluster.admin.resource(ConfigMap).patch(ref("closed"), "merge", { data: { key: "second" } });
  // Config maps are read once a minute, and when other fields of the pod change.
  await cluster.admin.resource(Pod).patch(ref("reader"), "merge", { metadata: { labels: { a: "2" } } });
  const { status } = await becomes("reader", ended);
  assert.deepEqual(
    status?.containerStatuses?.map(({ user }) => user?.linux?.uid),
    [uid, 4711],
  );
  // The other's user is not one of the pod's.
  assert.deepEqual(
    status?.containerStatuses?.map(({ state }) => state?.terminated?.exitCode),
    [0, 0],
  );
});

test("a pod whose emptyDir outgrows its limit is evicted", async () => {
  await create("greedy", {
    volumes: [{ name: "data", emptyDir: { sizeLimit: "1Mi" } }],
    containers: [
      {
        name: "main",
        command: [
          "bash",
          "-c",
          'trap "" TERM; head -c 3M /dev/zero >"$0"; sleep 1000 & wait; wait',
          "/greedy/x",
        ],
        volumeMounts: [{ name: "data", mountPath: "/greedy" }],
      },
    ],
  });
  const { status } = await becomes("greedy", ended);
  const message = 'Usage of EmptyDir volume "data" exceeds the limit "1Mi". ';
  assert.deepEqual([status?.phase, status?.reason, status?.message], ["Failed", "Evicted", message]);
  // Killed at once.
  assert.equal(status?.containerStatuses?.[0]?.state?.terminated?.exitCode, 137);
  await eventuallyPasses(async () => assert.ok((await events("greedy")).includes(`Evicted: ${message}`)));
});

test("changes of a config map and of the pod's labels reach a pod that runs", async () => {
  const maps = cluster.admin.resource(ConfigMap);
  await maps.create({ metadata: ref("changing"), data: { key: "one" } });
  await maps.create({ metadata: ref("fixed"), data: { key: "fixed" }, immutable: true });
  const pod = await create(
    "follower",
    {
      volumes: [
        {
          name: "map",
          configMap: { name: "changing", items: [{ key: "key", path: "file", mode: 0o600 }] },
        },
        { name: "fixed", configMap: { name: "fixed" } },
        {
          name: "info",
          downwardAPI: {
            items: [{ path: "labels", fieldRef: { apiVersion: "v1", fieldPath: "metadata.labels" } }],
          },
        },
      ],
      containers: [{ name: "main", command: ["sleep", "1000"] }],
    },
    { labels: { a: "1" } },
  );
  await becomes("follower", running);
  const file = join(volumeFolder(pod, "configmap", "map"), "file");
  const labels = join(volumeFolder(pod, "downward-api", "info"), "labels");
  assert.equal(readFileSync(file, "utf8"), "one");
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.equal(readFileSync(labels, "utf8"), 'a="1"');
  await maps.patch(ref("changing"), "merge", { data: { key: "two" } });
  await eventuallyPasses(async () => assert.equal(readFileSync(file, "utf8"), "two"));
  await cluster.admin.resource(Pod).patch(ref("follower"), "merge", { metadata: { labels: { a: "2" } } });
  await eventuallyPasses(async () => assert.equal(readFileSync(labels, "utf8"), 'a="2"'));
  assert.equal(readFileSync(join(volumeFolder(pod, "configmap", "fixed"), "key"), "utf8"), "fixed");
  await cluster.admin.resource(Pod).delete(ref("follower"));
});

test("a key that is missing keeps the pod waiting, and says which", async () => {
  await create("keyless", {
    volumes: [{ name: "map", configMap: { name: "fixed", items: [{ key: "nope", path: "x" }] } }],
    containers: [{ name: "main", command: ["true"] }],
  });
  const text =
    'FailedMount: MountVolume.SetUp failed for volume "map" : configmap references non-existent config key: nope';
  await eventuallyPasses(async () => assert.ok((await events("keyless")).includes(text)));
  await cluster.admin.resource(Pod).delete(ref("keyless"));
});

test("a claim that is bound to a host path is mounted; one that is not bound waits", async () => {
  const claims = cluster.admin.resource(PersistentVolumeClaim);
  const volumes = cluster.admin.resource(PersistentVolume);
  const spec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Mi" } } };
  const claim = await claims.create({
    metadata: ref("data"),
    spec: { ...spec, volumeName: "pv", storageClassName: "" },
  });
  await create("claimed", {
    volumes: [{ name: "data", persistentVolumeClaim: { claimName: "data" } }],
    containers: [
      {
        name: "main",
        command: ["bash", "-c", 'echo kept >"$0"', "/claimed/x"],
        volumeMounts: [{ name: "data", mountPath: "/claimed" }],
      },
    ],
  });
  const waiting =
    'FailedMount: MountVolume.SetUp failed for volume "data" : error processing PVC default/data: PVC is not bound';
  await eventuallyPasses(async () =>
    assert.ok((await events("claimed")).includes(waiting), (await events("claimed")).join("\n")),
  );
  await volumes.create({
    metadata: { name: "pv" },
    spec: {
      capacity: { storage: "1Mi" },
      accessModes: ["ReadWriteOnce"],
      hostPath: { path: "/var/lib/volumes/pv", type: "DirectoryOrCreate" },
      claimRef: { namespace: "default", name: "data", uid: claim.metadata.uid },
    },
  });
  await claims.patch(ref("data"), "merge", { status: { phase: "Bound" } }, { subresource: "status" });
  assert.equal((await becomes("claimed", ended)).status?.phase, "Succeeded");
  assert.equal(readFileSync(join(cluster.rootDir("n1"), "var/lib/volumes/pv/x"), "utf8"), "kept\n");
});

test("fsGroup owns the files of the agent, and only users of the pod can read a token", async (context) => {
  if (!isRoot) return context.skip("not root");
  const pod = await create("grouped", {
    securityContext: { fsGroup: 4321 },
    volumes: [
      { name: "data", emptyDir: {} },
      { name: "map", configMap: { name: "fixed", defaultMode: 0o400 } },
      { name: "token", projected: { sources: [{ serviceAccountToken: { path: "token" } }] } },
    ],
    containers: [{ name: "main", command: ["sleep", "1000"] }],
  });
  await becomes("grouped", running);
  const data = statSync(volumeFolder(pod, "empty-dir", "data"));
  assert.deepEqual([data.gid, data.mode & 0o7777], [4321, 0o2777]);
  const map = statSync(join(volumeFolder(pod, "configmap", "map"), "key"));
  assert.deepEqual([map.gid, map.mode & 0o777], [4321, 0o440]);
  const token = statSync(join(volumeFolder(pod, "projected", "token"), "token"));
  assert.deepEqual([token.gid, token.mode & 0o777], [4321, 0o640]);
  await cluster.admin.resource(Pod).delete(ref("grouped"));
});

test("giving a volume to a group follows no link and leaves the mode of others", async (context) => {
  if (!isRoot) return context.skip("not root");
  const root = temporaryFolder(context);
  const volume = join(root, "volume");
  mkdirSync(join(volume, "sub"), { recursive: true, mode: 0o700 });
  writeFileSync(join(volume, "sub/file"), "", { mode: 0o604 });
  writeFileSync(join(root, "outside"), "", { mode: 0o600 });
  symlinkSync("../outside", join(volume, "link"));
  await giveToGroup(volume, { group: 77, readOnly: false, onRootMismatch: false });
  const seen = (path: string) => {
    const { gid, mode } = statSync(join(root, path));
    return [gid, (mode & 0o7777).toString(8)];
  };
  assert.deepEqual(seen("volume"), [77, "2770"]);
  assert.deepEqual(seen("volume/sub"), [77, "2770"]);
  assert.deepEqual(seen("volume/sub/file"), [77, "664"]);
  assert.deepEqual(seen("outside"), [process.getgid?.(), "600"]);
  // With OnRootMismatch, a matching folder is not descended into.
  writeFileSync(join(volume, "later"), "", { mode: 0o600 });
  const before = statSync(join(volume, "later")).mode;
  await giveToGroup(volume, { group: 77, readOnly: false, onRootMismatch: true });
  assert.equal(statSync(join(volume, "later")).mode, before);
});
