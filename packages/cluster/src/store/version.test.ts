import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { systemClock } from "@dray/client";
import { memoryStore } from "@dray/store";
import { temporaryFolder } from "@dray/testing/folder";
import { checkStoreVersion, recordStoreVersion } from "../index.ts";
import { checkStoreFile } from "./open.ts";
import { checkStoreIsThere, recordNewStore } from "./version.ts";

const key = "/registry/dray-version";

test("a store remembers the newest release that has worked on it, and refuses older ones", async () => {
  const store = memoryStore(systemClock);
  await checkStoreVersion(store, "1.34");
  assert.equal(await recordStoreVersion(store, "1.35"), undefined);
  const { modRevision } = (await store.get(key))!;
  assert.equal(await recordStoreVersion(store, "1.35"), undefined);
  assert.equal((await store.get(key))?.modRevision, modRevision, "it is written once");
  await checkStoreVersion(store, "1.35");
  await checkStoreVersion(store, "1.37");
  assert.equal(await recordStoreVersion(store, "1.37"), "1.35");
  await assert.rejects(checkStoreVersion(store, "1.36"), {
    message:
      "the objects in the store memory are those of Kubernetes 1.37, and 1.36 cannot read all of them: use --kubernetes-version 1.37, another cluster (--name or --data-dir), or delete the data first (`dray down --delete-data` with the --name or --data-dir of this cluster)",
  });
  await store.close();
});

test("a store in another format is refused, and a damaged record is written anew", async () => {
  const store = memoryStore(systemClock);
  const put = (value: string) => store.txn([], [{ type: "put", key, value }]);
  await put('{"format":2,"kubernetesVersion":"1.40"}');
  await assert.rejects(
    checkStoreVersion(store, "1.37"),
    /written by a newer Dray \(format 2; this one knows 1\)/,
  );
  for (const damaged of ["", "null", '{"format":"1"}', "[]"]) {
    await put(damaged);
    await checkStoreVersion(store, "1.34");
    assert.equal(await recordStoreVersion(store, "1.36"), undefined);
    await assert.rejects(checkStoreVersion(store, "1.35"), /are those of Kubernetes 1\.36/);
  }
  await store.close();
});

test("an empty store is not that of a cluster which has been started before", async () => {
  const store = memoryStore(systemClock);
  await assert.rejects(checkStoreIsThere(store, "/data"), {
    message:
      "the store memory is empty or missing, but /data has the certificates and settings of a cluster whose objects were there: put the store back from a copy, or delete the data for a new cluster (`dray down --delete-data` with the --name or --data-dir of this cluster)",
  });
  await recordNewStore(store, "1.36");
  await checkStoreIsThere(store, "/data");
  await recordNewStore(store, "1.37");
  await assert.rejects(checkStoreVersion(store, "1.35"), /are those of Kubernetes 1\.36/);
  await store.close();
});

test("a missing or empty database of a cluster is refused before SQLite makes a new one", (t) => {
  const path = join(temporaryFolder(t), "state.db");
  const store = { type: "sqlite", path } as const;
  assert.throws(() => checkStoreFile(store, "/data"), /state\.db is empty or missing/);
  assert.ok(!existsSync(path));
  writeFileSync(path, "");
  assert.throws(() => checkStoreFile(store, "/data"), /state\.db is empty or missing/);
  writeFileSync(path, "SQLite");
  checkStoreFile(store, "/data");
});
