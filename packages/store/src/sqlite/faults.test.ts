import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, test } from "node:test";
import { fakeClock } from "@dray/testing/clock";
import { temporaryFolder } from "@dray/testing/folder";
import type { Operation } from "../base/store.ts";
import { sqliteStore } from "../index.ts";
import { LogSync } from "./log-sync.ts";
import { SqliteStore } from "./store.ts";

const folder = temporaryFolder({ after });
let files = 0;
const newFile = (): string => join(folder, `${++files}.db`);
const put = (key: string, value: string): Operation => ({ type: "put", key, value });

test("sqlite: while another holds the file writes fail, and nothing of them stays", async () => {
  const file = newFile();
  const store = sqliteStore(file, fakeClock());
  const { revision } = await store.txn([], [put("/a", "1")]);
  const other = new DatabaseSync(file);
  other.exec("BEGIN IMMEDIATE");
  await assert.rejects(store.txn([], [put("/a", "2")]), /locked/);
  assert.equal((await store.get("/a"))?.value, "1");
  other.exec("ROLLBACK");
  other.close();
  assert.equal((await store.txn([], [put("/a", "3")])).revision, revision + 1);
  assert.equal((await store.get("/a"))?.value, "3");
  await store.close();
});

test("sqlite: a failed write rejects the pending writes before it, and none of them is stored", async () => {
  const store = sqliteStore(newFile(), fakeClock());
  const { revision } = await store.txn([], [put("/a", "1")]);
  const impossible = Symbol("no text") as unknown as string;
  const results = await Promise.allSettled([
    store.txn([], [put("/b", "1")]),
    store.txn([], [put("/c", impossible)]),
    store.txn([], [put("/d", "1")]),
  ]);
  assert.deepEqual(
    results.map(({ status }) => status),
    ["rejected", "rejected", "fulfilled"],
  );
  assert.deepEqual(
    (await store.list("/")).entries.map(({ key, modRevision }) => [key, modRevision]),
    [
      ["/a", revision],
      ["/d", revision + 1],
    ],
  );
  await store.close();
});

test("sqlite: when the last sync fails, writes that wait are rejected, and the file is released", async () => {
  const file = newFile();
  let syncs = 0;
  const held: ((error: Error | null) => void)[] = [];
  const failing = new LogSync(file, (_descriptor, done) => {
    syncs++;
    if (syncs === 2) held.push(done);
    else setImmediate(done, syncs < 2 ? null : new Error("EIO: i/o error, fdatasync"));
  });
  const store = new SqliteStore(file, fakeClock(), failing);
  await store.txn([], [put("/a", "1")]);
  const during = store.txn([], [put("/b", "1")]);
  await new Promise(setImmediate);
  assert.equal(held.length, 1);
  // It waits for the sync that runs: the last one, of close, is its own.
  const waiting = store.txn([], [put("/c", "1")]);
  const closed = store.close();
  held[0]!(null);
  const results = await Promise.allSettled([during, waiting, closed]);
  assert.deepEqual(
    results.map(({ status }) => status),
    ["fulfilled", "rejected", "fulfilled"],
  );
  assert.equal(syncs, 3);
  const again = sqliteStore(file, fakeClock());
  assert.equal((await again.get("/b"))?.value, "1");
  await again.close();
});

test("sqlite: a file of version 0.1 is taken over with its history", async () => {
  const file = newFile();
  const former = new DatabaseSync(file);
  former.exec(`
    PRAGMA application_id = ${0x44524159};
    CREATE TABLE writes (key TEXT NOT NULL, revision INTEGER NOT NULL, position INTEGER NOT NULL, value TEXT,
      created INTEGER NOT NULL, previous INTEGER NOT NULL, expires INTEGER, PRIMARY KEY (key, revision)) WITHOUT ROWID;
    CREATE INDEX writes_by_revision ON writes (revision, position);
    CREATE INDEX writes_by_expiry ON writes (expires) WHERE expires IS NOT NULL;
    CREATE TABLE state (name TEXT PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID;
    INSERT INTO state VALUES ('compacted', 3), ('revision', 3);
    INSERT INTO writes VALUES ('/a', 2, 0, '1', 2, 0, NULL), ('/b', 4, 0, '1', 4, 0, NULL),
      ('/a', 4, 1, '2', 2, 2, NULL), ('/b', 5, 0, NULL, 4, 4, NULL);
  `);
  former.close();
  for (let opened = 0; opened < 2; opened++) {
    const store = sqliteStore(file, fakeClock());
    assert.equal(await store.revision(), 5);
    assert.deepEqual(await store.get("/a"), { key: "/a", value: "2", modRevision: 4, createRevision: 2 });
    const received = [];
    for await (const events of store.watch("/", 3, new AbortController().signal)) {
      received.push(
        ...events.map(({ type, key, revision, previous }) => [type, key, revision, previous?.modRevision]),
      );
      break;
    }
    assert.deepEqual(received, [
      ["put", "/b", 4, undefined],
      ["put", "/a", 4, 2],
      ["delete", "/b", 5, 4],
    ]);
    await assert.rejects(store.list("/", { revision: 2 }), /compacted/);
    await store.close();
  }
});

test("sqlite: a long history is compacted while others write", async () => {
  const store = sqliteStore(newFile(), fakeClock());
  for (let i = 0; i < 200; i++) {
    await store.txn(
      [],
      Array.from({ length: 100 }, (_, j) => put(`/${j}`, `${i}`)),
    );
  }
  const compaction = store.compact(await store.revision());
  let done = false;
  compaction.then(() => {
    done = true;
  });
  let meanwhile = 0;
  while (!done) {
    await store.txn([], [put("/other", `${++meanwhile}`)]);
  }
  await compaction;
  assert.ok(meanwhile > 1, `only ${meanwhile} write came to its turn`);
  assert.equal(await store.count("/"), 101);
  assert.equal((await store.get("/99"))?.value, "199");
  await store.close();
});

const withoutLimits = spawnSync("prlimit", ["--version"]).status === 0 ? false : "no prlimit on the PATH";

test("sqlite: a full disk refuses writes until there is room, and what was acknowledged stays", {
  skip: withoutLimits,
  timeout: 60_000,
}, async () => {
  const file = newFile();
  const script = `
    import { sqliteStore } from "@dray/store";
    const store = sqliteStore(${JSON.stringify(file)}, { now: Date.now, after: () => () => {} });
    let failed = 0;
    for (let i = 0; ; i++) {
      const writes = Array.from({ length: 10 }, (_, j) => store.txn([], [{ type: "put", key: "/" + i + "/" + j, value: "x".repeat(1000) }])
        .then(() => process.stdout.write("done /" + i + "/" + j + "\\n"), (error) => { if (failed++ % 1000 === 0) process.stdout.write("failed " + error.message + "\\n"); }));
      await Promise.all(writes);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }`;
  const conditions = process.execArgv.filter((flag) => flag.startsWith("--conditions"));
  const flags = [
    "--fsize=400000:unlimited",
    process.execPath,
    ...conditions,
    "--input-type=module",
    "-e",
    script,
  ];
  const child = spawn("prlimit", flags, { cwd: import.meta.dirname, stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  let room = false;
  child.stdout.on("data", (chunk: Buffer) => {
    output += chunk.toString();
    if (!room && output.includes("failed ")) {
      room = true;
      execFileSync("prlimit", ["--pid", `${child.pid}`, "--fsize=unlimited"]);
    }
    if (room && (output.split("failed ").at(-1) ?? "").split("done").length > 500) child.kill("SIGKILL");
  });
  await once(child, "close");
  assert.match(output, /failed .*(full|disk I\/O error)/);
  const store = sqliteStore(file, fakeClock());
  const keys = new Set((await store.list("/")).entries.map(({ key }) => key));
  const acknowledged = [...output.matchAll(/done (\S+)\n/g)].map(([, key]) => key!);
  assert.ok(acknowledged.length > 500);
  assert.deepEqual(
    acknowledged.filter((key) => !keys.has(key)),
    [],
  );
  await store.close();
});
