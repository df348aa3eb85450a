import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { silentLog, systemClock } from "@dray/client";
import { temporaryFolder } from "@dray/testing/folder";
import { NodePaths } from "../base/paths.ts";
import { OrphanSweep } from "./orphans.ts";

test("leftovers of unknown pods are removed, at once and periodically", async () => {
  const root = mkdtempSync("/tmp/dk-");
  const paths = new NodePaths(root);
  paths.create();
  const token = (uid: string): string => join(paths.pods, uid, "volumes/kubernetes.io~projected/token/token");
  const logs = (uid: string): string => join(paths.podLogs, `default_web_${uid}`);
  const make = (uid: string): void => {
    mkdirSync(join(token(uid), ".."), { recursive: true });
    writeFileSync(token(uid), "secret");
    mkdirSync(logs(uid));
  };
  let due = (): void => {};
  const clock = {
    now: () => 0,
    after: (milliseconds: number, call: () => void) => {
      assert.equal(milliseconds, 60_000);
      due = call;
      return () => {
        due = () => {};
      };
    },
  };
  const known = new Set(["kept"]);
  const sandboxed = async (): Promise<ReadonlySet<string>> => new Set(["sandboxed"]);
  for (const uid of ["kept", "orphan", "sandboxed"]) make(uid);
  writeFileSync(join(paths.podLogs, "notes.txt"), "");
  const sweep = new OrphanSweep({
    paths,
    clock,
    log: silentLog,
    isKnown: (uid) => known.has(uid),
    sandboxed,
  });
  await sweep.start();
  for (const path of [token, logs].map((of) => of("orphan"))) assert.equal(existsSync(path), false, path);
  for (const path of [token, logs].map((of) => of("kept"))) assert.ok(existsSync(path), path);
  assert.ok(existsSync(join(paths.podLogs, "notes.txt")));

  assert.ok(existsSync(token("sandboxed")));

  known.delete("kept");
  due();
  await new Promise(setImmediate);
  assert.equal(existsSync(join(paths.pods, "kept")), false);
  sweep.stop();
  make("later");
  due();
  await new Promise(setImmediate);
  assert.ok(existsSync(token("later")));
  rmSync(root, { recursive: true });
});

test("leftovers are removed whatever the length of their names, those of a killed removal too", async (t) => {
  const paths = new NodePaths(temporaryFolder(t));
  paths.create();
  mkdirSync(join(paths.podLogs, `default_${"p".repeat(255 - "default__gone".length)}_gone`));
  for (const uid of ["gone", "gone.removed-1"])
    mkdirSync(join(paths.pods, uid, "volumes"), { recursive: true });
  const options = { paths, clock: systemClock, log: silentLog, isKnown: () => false };
  const sweep = new OrphanSweep({ ...options, sandboxed: async () => new Set() });
  t.after(() => sweep.stop());
  await sweep.start();
  assert.deepEqual([...readdirSync(paths.pods), ...readdirSync(paths.podLogs)], []);
});
