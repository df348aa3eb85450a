import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { after, test } from "node:test";
import { eventually } from "@dray/testing/eventually";
import { temporaryFolder } from "@dray/testing/folder";
import { chooseRunBase } from "./data-dir/run-base.ts";
import {
  type AgentsRecord,
  checkClusterName,
  checkOwnFolder,
  choosePort,
  claimProcessFile,
  clusterNames,
  dataDirOf,
  deleteData,
  formatStore,
  isAlive,
  keepFresh,
  layoutOf,
  nodeNames,
  parseStore,
  prepareDataDir,
  prepareRunDir,
  processMemory,
  processRecord,
  readConfig,
  readProcessFile,
  runningProcess,
  thisProcess,
  writeConfig,
  writeProcessFile,
} from "./index.ts";
import { AgentsFile } from "./nodes/agents-file.ts";

const folder = temporaryFolder({ after });

const config = {
  name: "c",
  kubernetesVersion: "1.36",
  featureGates: "",
  runtimeConfig: {},
  bindAddress: "127.0.0.1",
  advertiseAddress: "",
  nodes: nodeNames(2),
  port: 1,
  store: "memory",
  runtime: "host",
  images: [],
};

/** Longest path of a unix socket on Linux, in bytes (sun_path of unix(7), less the final zero). */
const maxSocketPathBytes = 107;

test("the run directory is short however deep the data directory is, and each has its own", () => {
  const layout = layoutOf(join(folder, "deep/".repeat(50)));
  const socket = "var/lib/kubelet/plugins_registry/a-driver.with-a-long.name.example.com-reg.sock";
  assert.ok(join(layout.nodeRoot(99), socket).length <= maxSocketPathBytes);
  assert.notEqual(layout.runDir, layoutOf(join(folder, "other")).runDir);
});

test("links to a data directory lead to the same cluster, before and after it is made", () => {
  mkdirSync(join(folder, "real"));
  symlinkSync(join(folder, "real"), join(folder, "link"));
  assert.equal(layoutOf(join(folder, "link/data")).runDir, layoutOf(join(folder, "real/data")).runDir);
  mkdirSync(join(folder, "real/data"));
  assert.equal(layoutOf(join(folder, "link/data")).runDir, layoutOf(join(folder, "real/data")).runDir);
});

test("a cluster's data directory has its name, below XDG_DATA_HOME or the home directory", () => {
  assert.equal(dataDirOf("a", { XDG_DATA_HOME: "/x", HOME: "/h" }), "/x/dray/a");
  for (const unset of [undefined, "", "relative"])
    assert.equal(dataDirOf("a", { XDG_DATA_HOME: unset, HOME: "/h" }), "/h/.local/share/dray/a");
  assert.throws(
    () => dataDirOf("a", { HOME: "x" }),
    /no home directory .*--data-dir, or set \$XDG_DATA_HOME/,
  );
});

test("names of clusters are names of folders and of contexts", () => {
  for (const name of ["a", "dray", "ci-1.36", "a".repeat(63)]) checkClusterName(name);
  for (const name of ["", ".", "..", "a/b", "A", "-a", "a-", "a b", "a\n", "a".repeat(64)])
    assert.throws(() => checkClusterName(name), /must be at most 63 lower-case/, name);
});

test("the clusters of a user are the folders that hold one", () => {
  const env = { XDG_DATA_HOME: join(folder, "share") };
  assert.deepEqual(clusterNames(env), []);
  for (const name of ["two", "one"]) {
    const layout = layoutOf(dataDirOf(name, env));
    prepareDataDir(layout);
    writeConfig(layout, { ...config, name });
  }
  mkdirSync(join(dataDirOf("none", env)));
  assert.deepEqual(clusterNames(env), ["one", "two"]);
});

test("a process file counts only while that very process lives", async () => {
  const file = join(folder, "process.json");
  assert.equal(runningProcess(file), undefined);
  const self = thisProcess();
  writeProcessFile(file, self);
  assert.deepEqual(runningProcess(file), self);

  assert.equal(typeof self.startTime, "number");
  writeProcessFile(file, { ...self, startTime: Number(self.startTime) - 1 });
  assert.equal(runningProcess(file), undefined, "an earlier process had the same number");
  // Process 1 is another user's where we are not root.
  assert.equal(isAlive({ ...self, pid: 1 }), false);

  const child = spawn("sleep", ["100"]);
  writeProcessFile(file, processRecord(child.pid!));
  assert.equal(runningProcess(file)?.pid, child.pid);
  child.kill("SIGKILL");
  await new Promise((resolve) => child.once("exit", resolve));
  assert.equal(runningProcess(file), undefined);
  const left = readProcessFile(file);
  assert.deepEqual([left?.record.pid, left?.alive], [child.pid, false]);

  writeFileSync(file, "{");
  assert.equal(runningProcess(file), undefined);
});

test("a process file of another boot or without a start time names no living process", () => {
  const self = thisProcess();
  const { pid, startTime, bootId } = self;
  assert.equal(isAlive(self), true);
  // As after a restart of the machine, where the same number began as many ticks after boot.
  assert.equal(isAlive({ ...self, bootId: "00000000-0000-0000-0000-000000000000" }), false);
  assert.equal(isAlive({ pid, startTime: startTime! }), false);
  assert.equal(isAlive({ pid, bootId: bootId! }), false);
  // `kill` takes these for groups of processes.
  for (const group of [0, -1, -pid]) assert.equal(isAlive({ ...self, pid: group }), false);
  for (const text of ["null", "1", "[]", `{"pid":"${pid}"}`, `{"pid":${pid}}`]) {
    const file = join(folder, "odd.json");
    writeFileSync(file, text);
    assert.equal(runningProcess(file), undefined, text);
  }
});

test("a process file says when its process last lived", async () => {
  const file = join(folder, "fresh.json");
  writeProcessFile(file, thisProcess());
  utimesSync(file, 1000, 1000);
  const stop = keepFresh(file);
  await eventually("a sign of life", () => readProcessFile(file)!.lastSeen.getTime() !== 1_000_000);
  stop();
  assert.ok(Math.abs(Date.now() - readProcessFile(file)!.lastSeen.getTime()) < 30_000);
  assert.ok(processMemory(process.pid)! > 1024 * 1024);
  assert.equal(processMemory(2 ** 30), undefined);
});

test("one process holds a process file; a dead one's is taken over", () => {
  const file = join(folder, "claimed.json");
  assert.equal(claimProcessFile(file), undefined);
  assert.equal(claimProcessFile(file)?.pid, process.pid);
  writeProcessFile(file, { ...thisProcess(), startTime: 1 });
  assert.equal(claimProcessFile(file), undefined);
  assert.equal(runningProcess(file)?.pid, process.pid);
});

test("the file of the agents says how often they were started again, and how the last ones ended", () => {
  const path = join(folder, "agents.json");
  const file = new AgentsFile(path);
  const read = (): AgentsRecord | undefined => readProcessFile<AgentsRecord>(path)?.record;
  file.ended(1, null);
  assert.equal(read(), undefined, "nothing had started");
  file.started(process.pid);
  assert.deepEqual([read()?.pid, read()?.restarts, read()?.lastEnd], [process.pid, 0, undefined]);
  assert.equal(read()?.phase, undefined);
  file.ready();
  assert.equal(read()?.phase, "ready");
  file.ended(null, "SIGKILL");
  assert.deepEqual([read()?.ended, read()?.lastEnd?.signal], [true, "SIGKILL"]);
  file.started(process.pid);
  const { restarts, lastEnd, ended, phase } = read()!;
  assert.deepEqual([restarts, lastEnd?.signal, ended, phase], [1, "SIGKILL", undefined, undefined]);
});

test("a store is sqlite:PATH, etcd:URL or memory, and means the same from any folder", () => {
  assert.deepEqual(parseStore("memory"), { type: "memory" });
  assert.deepEqual(parseStore("sqlite:/a:b"), { type: "sqlite", path: "/a:b" });
  assert.equal(formatStore(parseStore("sqlite:x.db")), `sqlite:${join(process.cwd(), "x.db")}`);
  for (const text of ["memory:x", "sqlite:", "sqlite", "", "etcd:", "etcd", "redis:x"])
    assert.throws(() => parseStore(text), /must be sqlite:PATH, etcd:URL or memory/, text);
});

test("a store in etcd names its members, the prefix of its keys and the files for TLS", () => {
  assert.deepEqual(parseStore("etcd:http://a:2379"), {
    type: "etcd",
    endpoints: ["http://a:2379"],
    prefix: "",
    files: {},
  });
  const text =
    "etcd:https://a:2379,https://[::1]:2380/clusters/one/?cafile=/ca.pem&certfile=c.pem&keyfile=/k y";
  const store = parseStore(text);
  assert.deepEqual(store, {
    type: "etcd",
    endpoints: ["https://a:2379", "https://[::1]:2380"],
    prefix: "/clusters/one",
    files: { cafile: "/ca.pem", certfile: join(process.cwd(), "c.pem"), keyfile: "/k y" },
  });
  assert.deepEqual(parseStore(formatStore(store)), store);
  for (const [bad, error] of [
    ["etcd:http://x", /"http:\/\/x" must be http:\/\/HOST:PORT/],
    ["etcd:localhost:2379", /"localhost:2379" must be/],
    ["etcd:http://a:1/p,http://b:2", /"http:\/\/a:1\/p" must be/],
    ["etcd:http://user@a:1", /must be/],
    ["etcd:http://a:1,", /"" must be/],
    ["etcd:http://a:1?ca=x", /\?ca=x must be one of cafile, certfile, keyfile/],
    ["etcd:https://a:1?certfile=x", /certfile and keyfile go together/],
  ] as const)
    assert.throws(() => parseStore(bad), error, bad);
});

test("rejects a folder that is a link or that other users can write", () => {
  const ours = join(folder, "ours");
  mkdirSync(ours, { mode: 0o755 });
  checkOwnFolder(ours);
  chmodSync(ours, 0o777);
  assert.throws(() => checkOwnFolder(ours), /ours can be written by other users: remove it/);
  chmodSync(ours, 0o755);
  symlinkSync(ours, join(folder, "alias"));
  assert.throws(() => checkOwnFolder(join(folder, "alias")), /alias is not a folder/);
});

test("a folder of another user is refused", {
  skip: process.getuid?.() !== 0 && "only root makes one",
}, async () => {
  const { chownSync } = await import("node:fs");
  const theirs = join(folder, "theirs");
  mkdirSync(theirs, { mode: 0o755 });
  chownSync(theirs, 65534, 65534);
  assert.throws(() => checkOwnFolder(theirs), /theirs belongs to user 65534, not to user 0/);
  const layout = { ...layoutOf(theirs), runDir: join(theirs, "run") };
  assert.throws(() => prepareRunDir(layout), /belongs to user 65534/);
  assert.equal(existsSync(layout.runDir), false);
});

test("takes another run directory where somebody else has made the first", {
  skip: process.getuid?.() !== 0 && "only root makes folders of others",
}, async () => {
  const { chownSync, lchownSync } = await import("node:fs");
  const at = (name: string): string => join(folder, "bases", name);
  mkdirSync(join(folder, "bases"));
  for (const name of ["own", "theirs", "open"])
    mkdirSync(join(at(name), "id"), { recursive: true, mode: 0o755 });
  chownSync(at("theirs"), 65534, 65534);
  chmodSync(at("open"), 0o777);
  symlinkSync(at("own"), at("link"));
  symlinkSync(at("nowhere"), at("dangling"));
  lchownSync(at("dangling"), 65534, 65534);
  writeFileSync(at("file"), "");
  for (const foreign of ["theirs", "open", "link", "dangling", "file"]) {
    assert.equal(chooseRunBase([at(foreign), at("new")], "id"), at("new"), foreign);
    assert.equal(chooseRunBase([at(foreign)], "id"), at(foreign), foreign);
    assert.throws(
      () => checkOwnFolder(at(foreign)),
      /remove it, or have its owner or root remove it/,
      foreign,
    );
  }
  assert.equal(chooseRunBase([at("new"), at("newer")], "id"), at("new"));
  // A cluster that runs elsewhere stays there when the first place is free again.
  assert.equal(chooseRunBase([at("new"), at("own")], "id"), at("own"));
  assert.equal(chooseRunBase([join(at("missing"), "dray"), at("own")], "other"), at("own"));
});

test("a port that is in use is refused by its number, and 0 finds a free one", async () => {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  const { port } = other.address() as { port: number };
  await assert.rejects(choosePort("127.0.0.1", port), new RegExp(`port ${port} of 127.0.0.1 is in use`));
  const free = await choosePort("127.0.0.1", 0);
  assert.ok(free > 0 && free !== port);
  other.close();
  await new Promise((resolve) => other.once("close", resolve));
  assert.equal(await choosePort("127.0.0.1", port), port);
});

test("deleteData deletes a cluster's files, wherever its store is, and nothing else", async () => {
  const layout = layoutOf(join(folder, "cluster"));
  prepareDataDir(layout);
  const store = join(folder, "elsewhere.db");
  writeConfig(layout, { ...config, store: `sqlite:${store}` });
  for (const path of [store, `${store}-wal`, layout.kubeconfig, join(layout.dataDir, "notes")])
    writeFileSync(path, "mine");
  await deleteData(layout, config.name, assert.fail);
  assert.equal(existsSync(store) || existsSync(`${store}-wal`) || existsSync(layout.kubeconfig), false);
  assert.equal(readFileSync(join(layout.dataDir, "notes"), "utf8"), "mine");
  assert.equal(readConfig(layout), undefined);
});

test("a malformed configuration is an error with its path", () => {
  const layout = layoutOf(join(folder, "broken"));
  prepareDataDir(layout);
  writeFileSync(layout.configFile, "{");
  assert.throws(
    () => readConfig(layout),
    /cluster\.json cannot be read: .*; delete it to start with defaults/,
  );
});

test("a data directory of a newer Dray is refused", () => {
  const layout = layoutOf(join(folder, "newer"));
  prepareDataDir(layout);
  writeConfig(layout, config);
  assert.deepEqual(readConfig(layout), config);
  const text = readFileSync(layout.configFile, "utf8");
  writeFileSync(layout.configFile, text.replace('"format": 1', '"format": 2, "nodes": 7'));
  assert.throws(() => readConfig(layout), {
    message: `the cluster in ${layout.dataDir} is one of a newer Dray (format 2; this one knows 1): use that Dray, or another cluster (--name or --data-dir)`,
  });
});
