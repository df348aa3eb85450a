import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  fdatasync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import { fakeClock } from "@dray/testing/clock";
import { temporaryFolder } from "@dray/testing/folder";
import type { Operation, Store } from "../base/store.ts";
import { sqliteStore } from "../index.ts";
import { fillDisk, smallDisk, withoutMounts } from "../testing/disk.ts";
import { type FileProblem, StoreFileError } from "./error.ts";
import { LogSync, type Sync } from "./log-sync.ts";
import { SqliteStore } from "./store.ts";

const put = (key: string, value: string): Operation => ({ type: "put", key, value });
const open = (path: string): Store => sqliteStore(path, fakeClock());

function newFile(t: TestContext): string {
  const folder = temporaryFolder(t);
  return join(folder, "state.db");
}

/** Checks that an error is of this kind and names the file. */
const names =
  (problem: FileProblem, path: string) =>
  (error: unknown): boolean => {
    assert.ok(error instanceof StoreFileError, String(error));
    assert.equal(error.problem, problem);
    assert.ok(error.message.startsWith(`${path} `), error.message);
    return true;
  };

/** A closed store of some thousand entries. */
async function written(path: string): Promise<void> {
  const store = open(path);
  for (let round = 0; round < 30; round++) {
    await Promise.all(
      Array.from({ length: 100 }, (_, index) => store.txn([], [put(`/${index}/${round}`, "x".repeat(500))])),
    );
  }
  await store.close();
}

/** Overwrites half of the pages behind the first one. */
function damage(path: string): void {
  const file = openSync(path, "r+");
  for (let at = 8192; at < statSync(path).size; at += 8192)
    writeSync(file, Buffer.alloc(4096, 0xa5), 0, 4096, at);
}

test("sqlite: a full disk refuses writes and says so; reads and watches go on, and it recovers by itself", {
  skip: withoutMounts,
}, async (t) => {
  const disk = smallDisk(t, 4);
  const path = join(disk, "state.db");
  const store = open(path);
  const { revision } = await store.txn([], [put("/a", "1")]);
  const stop = new AbortController();
  const seen: string[] = [];
  const watching = (async () => {
    for await (const events of store.watch("/", revision, stop.signal))
      for (const each of events.map(({ key }) => key)) seen.push(each);
  })();
  const free = fillDisk(disk);
  for (let round = 0; round < 3; round++) {
    const batch = [1, 2, 3].map((n) => store.txn([], [put(`/lost/${n}`, "x".repeat(10_000))]));
    for (const result of await Promise.allSettled(batch)) {
      assert.equal(result.status, "rejected");
      names("full", path)(result.reason);
    }
  }
  assert.equal(await store.revision(), revision);
  assert.deepEqual(
    (await store.list("/")).entries.map(({ key }) => key),
    ["/a"],
  );
  free();
  const after = await store.txn([{ key: "/a", modRevision: revision }], [put("/b", "x".repeat(10_000))]);
  assert.deepEqual([after.succeeded, after.revision], [true, revision + 1]);
  while (seen.length === 0) await new Promise(setImmediate);
  stop.abort();
  await watching;
  assert.deepEqual(seen, ["/b"]);
  await store.close();
  const again = open(path);
  assert.equal(await again.count("/"), 2);
  await again.close();
});

test("sqlite: opening a store on a full disk is an error that names it", { skip: withoutMounts }, (t) => {
  const disk = smallDisk(t, 1);
  fillDisk(disk);
  const path = join(disk, "state.db");
  assert.throws(
    () => open(path),
    (error: Error) => {
      assert.ok(error instanceof StoreFileError, String(error));
      assert.ok(error.message.startsWith(path), error.message);
      return true;
    },
  );
});

test("sqlite: a damaged file is named when it is opened, or when the damaged part is read", async (t) => {
  const path = newFile(t);
  await written(path);
  const whole = `${path}.whole`;
  copyFileSync(path, whole);
  const damages: Record<string, () => void> = {
    "other bytes in front": () => writeSync(openSync(path, "r+"), Buffer.alloc(100, 0xa5), 0, 100, 0),
    "text instead": () => writeFileSync(path, "x".repeat(100_000)),
    "the end is missing": () => truncateSync(path, 40_960),
    "pages overwritten": () => damage(path),
  };
  for (const [name, act] of Object.entries(damages)) {
    copyFileSync(whole, path);
    act();
    let store: Store | undefined;
    const use = async (): Promise<void> => {
      store = open(path);
      await store.list("/");
    };
    await assert.rejects(use(), names("damaged", path), name);
    await store?.close();
    // Nothing holds the file any more.
    rmSync(path);
    await open(path).close();
  }
});

test("sqlite: errors of reads and writes name a file that is damaged during a run", async (t) => {
  const path = newFile(t);
  await written(path);
  const store = open(path);
  damage(path);
  await assert.rejects(store.list("/"), names("damaged", path));
  await assert.rejects(
    async () => {
      for (let index = 0; index < 100; index++) await store.txn([], [put(`/${index}/0`, "y")]);
    },
    names("damaged", path),
  );
  const watch = store.watch("/", 1, new AbortController().signal)[Symbol.asyncIterator]();
  await assert.rejects(watch.next(), names("damaged", path));
  await store.close();
});

test("sqlite: expiry outlives a file that cannot be read, and goes on later", async (t) => {
  const path = newFile(t);
  await written(path);
  const clock = fakeClock();
  const store = sqliteStore(path, clock);
  await store.txn([], [{ type: "put", key: "/due", value: "x", ttl: 1 }]);
  damage(path);
  clock.advance(60_000);
  clock.advance(60_000);
  await store.close();
});

test("sqlite: an unusable file or folder at the path is named", async (t) => {
  const path = newFile(t);
  mkdirSync(path);
  assert.throws(() => open(path), names("notOpened", path));
  assert.throws(
    () => open(join(path, "no", "state.db")),
    names("notOpened", join(path, "no", "state.db.lock")),
  );
  const lock = join(path, "state.db.lock");
  writeFileSync(lock, "x".repeat(10_000));
  assert.throws(() => open(join(path, "state.db")), names("damaged", lock));
});

test("sqlite: a store that another process has open is named as such", async (t) => {
  const path = newFile(t);
  const first = open(path);
  assert.throws(() => open(path), names("locked", path));
  const other = new DatabaseSync(path);
  other.exec("BEGIN IMMEDIATE");
  await assert.rejects(first.txn([], [put("/a", "1")]), names("locked", path));
  other.close();
  await first.txn([], [put("/a", "1")]);
  await first.close();
});

test("sqlite: a disk that may not be written is named when the store is opened", {
  skip: withoutMounts,
}, async (t) => {
  const disk = smallDisk(t, 16);
  const remount = (how: string): void => {
    const { status, stderr } = spawnSync("mount", ["-o", `remount,${how}`, disk]);
    assert.equal(status, 0, String(stderr));
  };
  const path = join(disk, "state.db");
  await written(path);
  remount("ro");
  assert.throws(
    () => open(path),
    (error: Error) => {
      assert.ok(error instanceof StoreFileError, String(error));
      assert.ok(["readOnly", "notOpened"].includes(error.problem), error.problem);
      assert.ok(error.message.startsWith(path), error.message);
      return true;
    },
  );
  remount("rw");
  await open(path).close();
});

test("sqlite: a file that is removed or replaced during a run takes no more writes", async (t) => {
  for (const suffix of ["", "-wal"]) {
    for (const replaced of [false, true]) {
      const path = newFile(t);
      const store = open(path);
      await store.txn([], [put("/a", "1")]);
      const moved = `${path}${suffix}`;
      renameSync(moved, `${path}.moved`);
      if (replaced) writeFileSync(moved, "");
      await assert.rejects(store.txn([], [put("/b", "1")]), names("gone", moved));
      assert.equal(await store.count("/"), 1);
      renameSync(`${path}.moved`, moved);
      await store.txn([], [put("/c", "1")]);
      await store.close();
      const again = open(path);
      assert.equal(await again.count("/"), 2);
      await again.close();
    }
  }
});

test("sqlite: after a failed sync no write is acknowledged that is only in the log", async (t) => {
  const path = newFile(t);
  let failing = false;
  const sync: Sync = (descriptor, done) => {
    if (failing) setImmediate(done, Object.assign(new Error("EIO: i/o error, fdatasync"), { code: "EIO" }));
    else fdatasync(descriptor, done);
  };
  const store = new SqliteStore(path, fakeClock(), new LogSync(path, sync));
  await store.txn([], [put("/a", "1")]);
  failing = true;
  await assert.rejects(store.txn([], [put("/b", "1")]), /EIO/);
  failing = false;
  await store.txn([], [put("/c", "1")]);
  // The log itself may be lost.
  const copy = `${path}.copy`;
  copyFileSync(path, copy);
  const found = new DatabaseSync(copy, { readOnly: true })
    .prepare("SELECT key FROM changes ORDER BY id")
    .all();
  assert.deepEqual(
    found.map(({ key }) => key),
    ["/a", "/b", "/c"],
  );
  await store.close();
});
