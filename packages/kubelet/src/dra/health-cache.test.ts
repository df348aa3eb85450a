import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { type Log, silentLog } from "@dray/client";
import { skipClock } from "@dray/testing/clock";
import { HealthCache } from "./health.ts";

test("a damaged file is named, and everything is Unknown until drivers report", () => {
  const folder = mkdtempSync("/tmp/dk-");
  const path = join(folder, "dra_health_state");
  for (const text of ["{", '{"d":{"Devices":{"p/x":{"PoolName":"p"}}}}', "[]x", '{"d":1}', "null"]) {
    writeFileSync(path, text);
    const warnings: object[] = [];
    const log: Log = { ...silentLog, warn: (fields) => warnings.push(fields) };
    const cache = new HealthCache({ path, clock: skipClock(), log, changed: () => {} });
    assert.deepEqual(cache.get("d", { pool: "p", device: "x" }), { health: "Unknown", message: "" });
    if (text !== '{"d":1}') assert.equal((warnings[0] as { path: string } | undefined)?.path, path, text);
  }
  rmSync(folder, { recursive: true });
});
