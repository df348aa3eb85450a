import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Node, Pod, Volume } from "@dray/api/core/v1";
import { createClient } from "@dray/client";
import { fakeClock } from "@dray/testing/clock";
import { temporaryFolder } from "@dray/testing/folder";
import { partial } from "@dray/testing/partial";
import { NodePaths } from "../base/paths.ts";
import { apiReferenceOf } from "./plugins.ts";
import { Volumes } from "./volumes.ts";

const client = createClient({
  transport: { request: () => Promise.reject(new Error("no API server")), close: () => {} },
  userAgent: "test",
});

const podOf = (...volumes: Volume[]) =>
  partial<Pod>({
    metadata: { name: "p", namespace: "default", uid: "uid" },
    spec: { containers: [], volumes },
  });

function testVolumes(t: TestContext) {
  const root = temporaryFolder(t);
  const paths = new NodePaths(root);
  paths.create();
  const clock = fakeClock();
  const node = partial<Node>({ metadata: { name: "n1" } });
  const volumes = new Volumes({
    userOfPod: () => undefined,
    trustBundles: { read: () => Promise.reject(new Error("no bundles")) },
    certificates: {
      track: () => {},
      forget: () => {},
      credentials: () => {
        throw new Error("no certificates");
      },
    },
    client,
    clock,
    paths,
    nodeAddress: "127.0.0.1",
    node: () => node,
  });
  return { root, clock, volumes };
}

test("a volume of a kind that the node lacks is an error that lists the kinds", async (t) => {
  const { volumes } = testVolumes(t);
  await assert.rejects(volumes.setUp(podOf({ name: "data", nfs: { server: "s", path: "/" } })), {
    name: "VolumeError",
    message:
      /^MountVolume\.SetUp failed for volume "data" : volumes of type nfs are not supported on this node; supported are emptyDir, hostPath, .+ and \w+$/,
  });
});

test("the agent mounts the volumes that it fills read-only, and leaves images to the runtime", async (t) => {
  const { volumes } = testVolumes(t);
  const { mounted } = await volumes.setUp(
    podOf(
      { name: "empty", emptyDir: {} },
      { name: "labels", downwardAPI: { items: [] } },
      { name: "image", image: { reference: "busybox" } },
    ),
  );
  assert.deepEqual(
    [...mounted].map(([name, { readOnly }]) => [name, readOnly]),
    [
      ["empty", false],
      ["labels", true],
    ],
  );
});

test("a downwardAPI volume is due when labels change, and no volume before a first set-up", async (t) => {
  const { volumes } = testVolumes(t);
  const labels: Volume = {
    name: "labels",
    projected: {
      sources: [{ downwardAPI: { items: [{ path: "l", fieldRef: { fieldPath: "metadata.labels" } }] } }],
    },
  };
  const pod = podOf(labels);
  await assert.rejects(volumes.setUp(podOf(labels, { name: "data", configMap: { name: "c" } })));
  assert.equal(volumes.refreshIn(pod), undefined);
  await volumes.setUp(pod);
  assert.equal(volumes.refreshIn(pod), undefined);
  assert.equal(volumes.refreshIn({ ...pod, metadata: { ...pod.metadata, labels: { a: "b" } } }), 0);
  volumes.markOutdated("uid");
  assert.equal(volumes.refreshIn(pod), 0);
});

test("volumes that refer to objects of the API name their resource", () => {
  const references: [volume: Omit<Volume, "name">, resource: string | undefined][] = [
    [{ configMap: { name: "c" } }, "configmaps"],
    [{ ephemeral: {} }, "persistentvolumeclaims"],
    [{ projected: { sources: [{ downwardAPI: {} }, { secret: { name: "s" } }] } }, "secrets"],
    [{ projected: { sources: [{ podCertificate: {} }] } }, "podcertificates"],
    [{ hostPath: { path: "/" } }, undefined],
    [{ nfs: { server: "s", path: "/" } }, undefined],
  ];
  for (const [volume, resource] of references)
    assert.equal(apiReferenceOf({ name: "v", ...volume }), resource);
});

test("a host path where the system makes no folder is an error of its volume", async (t) => {
  if (process.platform !== "linux") return t.skip("no /proc");
  const { root, volumes } = testVolumes(t);
  const setUp = (type: string, path: string) =>
    volumes.setUp(podOf({ name: "data", hostPath: { path, type } }));
  mkdirSync(join(root, "var/lib"), { recursive: true });
  symlinkSync("/proc", join(root, "var/lib/link"));
  for (const type of ["", "DirectoryOrCreate", "FileOrCreate"])
    await assert.rejects(
      setUp(type, "/var/lib/link/dray/below"),
      /^VolumeError: MountVolume\.SetUp failed for volume "data" : ENOENT: /,
      type,
    );
  const { mounted } = await setUp("DirectoryOrCreate", "/var/lib/made/below");
  assert.ok(statSync(mounted.get("data")?.path ?? "").isDirectory());
});

test("a set-up that fails has ended: no volume of it is still being made", async (t) => {
  const { root, volumes } = testVolumes(t);
  const items = Array.from({ length: 1500 }, (_, n) => ({
    path: `file-${n}`,
    fieldRef: { fieldPath: "metadata.name" },
  }));
  const pod = podOf(
    { name: "files", downwardAPI: { items } },
    { name: "data", nfs: { server: "s", path: "/" } },
  );
  await assert.rejects(volumes.setUp(pod), /volumes of type nfs are not supported/);
  const folder = join(root, "var/lib/kubelet/pods/uid/volumes/kubernetes.io~downward-api/files");
  assert.equal(readdirSync(folder).filter((name) => name.startsWith("file-")).length, items.length);
  await volumes.tearDown("uid");
  assert.ok(!existsSync(join(root, "var/lib/kubelet/pods/uid")));
});
