import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "@dray/testing/folder";
import { partial } from "@dray/testing/partial";
import { type Checkpoint, checkpoints } from "./checkpoint.ts";

test("a checkpoint is read as it was written, large numbers of parameters included", async (t) => {
  const folder = temporaryFolder(t);
  const store = checkpoints(join(folder, "claims"));
  const checkpoint = partial<Checkpoint>({
    version: 1,
    state: "Started",
    bootID: "boot",
    uid: "uid-1",
    namespace: "default",
    name: "claim",
    devices: [
      {
        result: { request: "r", driver: "d", pool: "p", device: "x" },
        configs: [{ source: "FromClaim", parameters: { serial: 9007199254740993n, mask: 7 } }],
      },
    ],
  });
  assert.equal(await store.read("uid-1"), undefined);
  assert.deepEqual(await store.all(), []);
  await store.write(checkpoint);
  assert.deepEqual(await store.read("uid-1"), checkpoint);
  assert.deepEqual(await store.all(), [checkpoint]);
  writeFileSync(join(folder, "claims", "uid-1.json"), "{");
  await assert.rejects(store.read("uid-1"), /checkpoint .*uid-1\.json cannot be read/);
  await store.remove("uid-1");
  await store.remove("uid-1");
  assert.equal(await store.read("uid-1"), undefined);
});
