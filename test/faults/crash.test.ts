import assert from "node:assert/strict";
import { test } from "node:test";
import { seedOr } from "@dray/testing/random";
import { withoutEtcd } from "../../packages/store/src/testing/etcd.ts";
import { run } from "./run.ts";

for (const store of ["sqlite", "etcd"] as const) {
  test(`acknowledged writes survive kill -9, and watches resume: ${store}`, {
    timeout: 120_000,
    skip: store === "etcd" && withoutEtcd,
  }, async (context) => {
    const seed = seedOr(Date.now() % 1_000_000);
    const { wrong, summary } = await run({ store, kills: 3, seed, progress: () => {} });
    context.diagnostic(summary);
    assert.deepEqual(wrong, [], `seed ${seed}`);
  });
}
