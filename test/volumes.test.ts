import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { eventually } from "@dray/testing/eventually";
import { dray, startCluster, type TestCluster, withoutKubectl } from "./harness.ts";

/** As a StatefulSet makes them: a claim without a class, and the pod that uses it. */
const manifest = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data-db-0}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: db-0}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: db
    image: busybox:1.37
    command: [sh, -c, 'echo "started" >> /data-of-db/log; exec sleep 10000']
    volumeMounts: [{name: data, mountPath: /data-of-db}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data-db-0}}]
`;

/** The default class of a `dray up` cluster for claims that name no class, with the real kubectl. */
describe("the default storage class", { skip: withoutKubectl }, () => {
  let cluster: TestCluster;
  before(async () => {
    cluster = await startCluster("--nodes", "2");
  });
  after(() => cluster?.down());

  async function apply(): Promise<void> {
    const applied = await cluster.tryKubectl(["apply", "-f", "-"], manifest);
    assert.equal(applied.code, 0, applied.stderr);
    await cluster.kubectl("wait", "pod/db-0", "--for=condition=Ready", "--timeout=60s");
  }

  /** Folders of volumes in the data directory. */
  const folders = (): string[] => {
    const volumes = join(cluster.dataDir, "volumes");
    return readdirSync(volumes).flatMap((node) =>
      readdirSync(join(volumes, node)).map((name) => join(volumes, node, name)),
    );
  };
  const lines = (folder: string): string => readFileSync(join(folder, "log"), "utf8");
  const restart = async (): Promise<void> => {
    for (const args of [
      ["down", "--data-dir", cluster.dataDir],
      ["up", "--detach", "--data-dir", cluster.dataDir],
    ]) {
      const { code, stderr } = await dray(args, cluster.env);
      assert.equal(code, 0, stderr);
    }
  };

  test("gives a claim without a class a volume where its first pod is", async () => {
    assert.match(await cluster.kubectl("get", "storageclass"), /^local-path \(default\) /m);
    await apply();
    const claim = JSON.parse(await cluster.kubectl("get", "pvc", "data-db-0", "-o", "json"));
    assert.deepEqual([claim.spec.storageClassName, claim.status.phase], ["local-path", "Bound"]);
    const [folder = "", ...others] = folders();
    assert.deepEqual(others, []);
    await eventually("the pod has written", async () => lines(folder) === "started\n");
    // Any user may write there, as in what local-path-provisioner makes.
    assert.equal(statSync(folder).mode & 0o777, 0o777);
    const node = await cluster.kubectl("get", "pod", "db-0", "-o", "jsonpath={.spec.nodeName}");
    assert.ok(folder.includes(`/volumes/${node}/`), folder);
  });

  test("keeps the data while the cluster is stopped; a class that was deleted stays deleted", async () => {
    await cluster.kubectl("delete", "storageclass", "local-path");
    await restart();
    const [folder = ""] = folders();
    await eventually("the pod runs again", async () => lines(folder) === "started\nstarted\n");
    assert.equal(await cluster.kubectl("get", "storageclass"), "");
  });

  test("removes the data with the claim, and leaves nothing", async () => {
    await cluster.kubectl("delete", "pod/db-0", "pvc/data-db-0", "--now");
    await eventually("the data is removed", async () => folders().length === 0);
    await eventually("volume and helper are gone", async () => {
      const left = await cluster.kubectl("get", "pv,pod", "-A", "-o", "name");
      return left === "";
    });
  });

  test("is gone with the cluster", async () => {
    const { dataDir } = cluster;
    await dray(["down", "--data-dir", dataDir, "--delete-data"]);
    assert.equal(existsSync(dataDir), false);
  });
});

test("objects in memory are gone after a stop, and so is the data of their claims", {
  skip: withoutKubectl,
}, async () => {
  const cluster = await startCluster("--nodes", "1", "--store", "memory");
  try {
    const applied = await cluster.tryKubectl(["apply", "-f", "-"], manifest);
    assert.equal(applied.code, 0, applied.stderr);
    await cluster.kubectl("wait", "pod/db-0", "--for=condition=Ready", "--timeout=60s");
    const folder = join(cluster.dataDir, "volumes", "worker-1");
    assert.equal(readdirSync(folder).length, 1);
    await dray(["down", "--data-dir", cluster.dataDir]);
    const { code, stderr } = await dray(["up", "--detach", "--data-dir", cluster.dataDir], cluster.env);
    assert.equal(code, 0, stderr);
    assert.deepEqual(readdirSync(folder), []);
    assert.match(await cluster.kubectl("get", "storageclass"), /^local-path \(default\) /m);
  } finally {
    await cluster.down();
  }
});
