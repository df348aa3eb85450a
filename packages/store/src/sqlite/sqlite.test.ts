import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, test } from "node:test";
import { fakeClock } from "@dray/testing/clock";
import { temporaryFolder } from "@dray/testing/folder";
import { sqliteStore } from "../index.ts";
import { storeConformance } from "../testing/conformance.ts";
import { LogSync } from "./log-sync.ts";

const folder = temporaryFolder({ after });
let files = 0;
const newFile = (): string => join(folder, `${++files}.db`);

storeConformance("sqlite", (clock) => sqliteStore(newFile(), clock));

test("sqlite: values, revisions and history are there after a restart", async () => {
  const file = newFile();
  const first = sqliteStore(file, fakeClock());
  await first.txn([], [{ type: "put", key: "/a", value: "1" }]);
  await first.txn([], [{ type: "delete", key: "/a" }]);
  const revision = await first.revision();
  await first.compact(revision);
  await first.close();

  const second = sqliteStore(file, fakeClock());
  assert.equal(await second.revision(), revision);
  const result = await second.txn([], [{ type: "put", key: "/a", value: "2" }]);
  assert.ok(result.revision > revision, "a revision came twice");
  await second.close();
});

test("sqlite: entries that ran out while the store was closed go when it opens", async () => {
  const file = newFile();
  const clock = fakeClock();
  const first = sqliteStore(file, clock);
  await first.txn([], [{ type: "put", key: "/a", value: "1", ttl: 10 }]);
  await first.close();
  clock.advance(60_000);
  const second = sqliteStore(file, clock);
  clock.advance(10_000);
  while ((await second.count("/")) > 0) await new Promise(setImmediate);
  await second.close();
});

test("sqlite: a write is visible only once acknowledged, and pending writes keep their order", async () => {
  const store = sqliteStore(newFile(), fakeClock());
  let acknowledged = 0;
  const writes: Promise<number>[] = [];
  for (let i = 1; i <= 20; i++) {
    const write = store.txn([], [{ type: "put", key: "/a", value: `${i}` }]);
    writes.push(
      write.then(({ revision }) => {
        acknowledged = i;
        return revision;
      }),
    );
    await new Promise(setImmediate);
    const seen = Number((await store.get("/a"))?.value ?? 0);
    assert.ok(seen <= acknowledged, `${seen} is seen, ${acknowledged} is acknowledged`);
  }
  const revisions = await Promise.all(writes);
  assert.deepEqual(
    revisions,
    [...revisions].sort((a, b) => a - b),
  );
  assert.equal((await store.get("/a"))?.value, "20");
  const last = store.txn([], [{ type: "put", key: "/a", value: "21" }]);
  await store.close();
  assert.equal((await last).revision, revisions.at(-1)! + 1);
});

test("sqlite: a failed sync of the log rejects its waiters", async () => {
  const log = new LogSync("/nonexistent/file.db");
  const failed = await new Promise<Error | null>((resolve) => log.start(resolve));
  assert.match(String(failed), /ENOENT/);
  assert.equal(log.running, false);
  await log.close();
});

test("sqlite: a file has one owner at a time", async () => {
  const file = newFile();
  const first = sqliteStore(file, fakeClock());
  assert.throws(() => sqliteStore(file, fakeClock()), /in use by another process/);
  await first.close();
  await sqliteStore(file, fakeClock()).close();
});

test("sqlite: rejects a file that is not a store of Dray, and leaves it unchanged", () => {
  const file = newFile();
  const other = new DatabaseSync(file);
  other.exec("CREATE TABLE theirs (x)");
  other.close();
  assert.throws(() => sqliteStore(file, fakeClock()), /not a store of Dray/);
  const text = newFile();
  writeFileSync(text, "these are not the bytes of a database, whatever their length may be".repeat(100));
  assert.throws(() => sqliteStore(text, fakeClock()));
});

test("sqlite: rejects a file of a newer Dray, and leaves it unchanged", async () => {
  const file = newFile();
  await sqliteStore(file, fakeClock()).close();
  const newer = new DatabaseSync(file);
  newer.exec("PRAGMA user_version = 2");
  newer.close();
  assert.throws(() => sqliteStore(file, fakeClock()), {
    message: `${file} was written by a newer Dray (format 2; this one knows 1): use that Dray, or another store (--data-dir, --store)`,
  });
});

test("sqlite: acknowledged writes survive SIGKILL", { timeout: 60_000 }, async () => {
  const file = newFile();
  const script = `
    import { sqliteStore } from "@dray/store";
    const store = sqliteStore(${JSON.stringify(file)}, { now: Date.now, after: () => () => {} });
    for (let i = 0; ; i++) {
      const writes = Array.from({ length: 10 }, (_, j) =>
        store.txn([], [{ type: "put", key: "/" + i + "/" + j, value: "x" }, { type: "put", key: "/" + i + "/" + j + "/twin", value: "x" }])
          .then(() => process.stdout.write("/" + i + "/" + j + "\\n")));
      await Promise.all(writes);
    }`;
  for (let round = 0; round < 3; round++) {
    const child = spawn(
      process.execPath,
      [
        ...process.execArgv.filter((flag) => flag.startsWith("--conditions")),
        "--input-type=module",
        "-e",
        script,
      ],
      {
        cwd: import.meta.dirname,
        stdio: ["ignore", "pipe", "inherit"],
      },
    );
    let output = "";
    child.stdout.on("data", (chunk: Buffer) => {
      output += chunk.toString();
      if (output.length > 2000 * (round + 1)) child.kill("SIGKILL");
    });
    await new Promise((resolve) => child.on("close", resolve));
    const acknowledged = output.split("\n").slice(0, -1);
    assert.ok(acknowledged.length > 100);
    const store = sqliteStore(file, fakeClock());
    const { entries } = await store.list("/");
    const keys = new Set(entries.map((entry) => entry.key));
    for (const key of acknowledged) assert.ok(keys.has(key), `${key} was acknowledged and is gone`);
    for (const key of keys)
      assert.ok(keys.has(key.endsWith("/twin") ? key.slice(0, -5) : `${key}/twin`), `half a write: ${key}`);
    await store.close();
  }
});
