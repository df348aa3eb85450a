import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { type Log, silentLog } from "@dray/client";
import { eventuallyPasses } from "@dray/testing/eventually";
import { temporaryFolder } from "@dray/testing/folder";
import { testCluster } from "../testing/cluster.ts";
import { testDriver } from "../testing/driver.ts";
import { DraPlugins } from "./plugins.ts";
import { PluginWatcher } from "./watcher.ts";

/** A socket without a listener, as a killed driver leaves it. */
async function deadSocket(path: string): Promise<void> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(`${path}-made`, resolve));
  renameSync(`${path}-made`, path);
  await new Promise((resolve) => server.close(resolve));
}

test("entries of plugins_registry that are of no use are named once, and the drivers beside them register", async (t) => {
  const cluster = await testCluster();
  t.after(() => cluster.close());
  const root = cluster.rootDir("n1");
  const registry = join(root, "var/lib/kubelet/plugins_registry");
  mkdirSync(registry, { recursive: true });
  writeFileSync(join(registry, "notes"), "text");
  symlinkSync("/nowhere", join(registry, "dangling"));
  symlinkSync("..", join(registry, "loop"));
  assert.equal(spawnSync("mkfifo", [join(registry, "pipe")]).status, 0);
  const deep = join(registry, "a/b/c/d/e/f/g/h/i");
  mkdirSync(deep, { recursive: true });
  const long = join(registry, "long");
  const longName = `${"x".repeat(90)}-reg.sock`;
  mkdirSync(long);
  // Only a relative path of such a socket is short enough for the system.
  const far = createServer();
  t.after(() => far.close());
  const home = process.cwd();
  process.chdir(long);
  await new Promise<void>((resolve) => far.listen(longName, resolve));
  process.chdir(home);
  await deadSocket(join(registry, "dead-reg.sock"));

  const lines: { message: string; fields: Record<string, unknown> }[] = [];
  const note: Log["warn"] = (fields, message) => lines.push({ message, fields: fields as never });
  await cluster.node("n1", { log: { ...silentLog, warn: note, error: note } });
  const ignored = () =>
    lines.filter(({ message }) => message.includes("is ignored")).map(({ fields }) => fields);
  assert.deepEqual(
    ignored()
      .map(({ path }) => String(path).slice(registry.length + 1))
      .sort(),
    ["a/b/c/d/e/f/g/h/i", "dangling", `long/${longName}`, "loop", "notes", "pipe"],
  );
  for (const { reason, path, node } of ignored()) {
    assert.ok(String(reason).includes(String(path)), String(reason));
    assert.equal(node, "n1");
  }

  const first = await testDriver(root, "gpu.example.com");
  t.after(() => first.close());
  await eventuallyPasses(async () => assert.equal(first.registered.length, 1));
  assert.equal(ignored().length, 6, "once");
  await eventuallyPasses(
    async () => assert.ok(lines.some(({ fields }) => fields["socket"] === join(registry, "dead-reg.sock"))),
    30_000,
  );

  // Drivers that start after the whole folder was removed register.
  rmSync(registry, { recursive: true });
  await eventuallyPasses(async () =>
    assert.doesNotThrow(() => writeFileSync(join(registry, "notes"), "text")),
  );
  await eventuallyPasses(async () => assert.equal(ignored().length, 7));
  const second = await testDriver(root, "nic.example.com");
  t.after(() => second.close());
  await eventuallyPasses(async () => assert.equal(second.registered.length, 1));
});

const linuxOnly = { skip: process.platform !== "linux" && "other systems have no mount name spaces" };

test(
  "a driver registers whose sockets have short paths in its pod and long ones outside",
  linuxOnly,
  async (t) => {
    const cluster = await testCluster();
    t.after(() => cluster.close());
    const node = "node-with-a-long-name";
    const root = cluster.rootDir(node);
    mkdirSync(root, { recursive: true });
    const inPod = temporaryFolder(t);
    symlinkSync(root, join(inPod, "r"));
    await cluster.node(node);
    // As `podUID` names them: for a rolling update, two instances have sockets of their own.
    const driver = await testDriver(join(inPod, "r"), "gpu.example.com", { suffix: `-${"u".repeat(24)}` });
    t.after(() => driver.close());
    const path = join(root, `var/lib/kubelet/plugins_registry/gpu.example.com-${"u".repeat(24)}-reg.sock`);
    assert.ok(path.length > 107, path);
    await eventuallyPasses(async () =>
      assert.deepEqual(driver.registered, [{ pluginRegistered: true, error: "" }]),
    );
  },
);

test("changes that come together are looked at together", async (t) => {
  const directory = temporaryFolder(t);
  const named: unknown[] = [];
  const timers: { milliseconds: number; run: () => void }[] = [];
  const watcher = new PluginWatcher({
    directory,
    plugins: new DraPlugins(silentLog),
    onMachine: (path) => path,
    clock: {
      now: () => 0,
      after: (milliseconds, run) => {
        timers.push({ milliseconds, run });
        return () => {};
      },
    },
    log: { ...silentLog, warn: (fields) => named.push((fields as { path: string }).path) },
  });
  watcher.start();
  for (const name of ["a", "b"]) {
    writeFileSync(join(directory, name), "");
    await eventuallyPasses(async () => assert.equal(timers.length, 1));
  }
  assert.deepEqual(named, []);
  assert.ok(timers.every(({ milliseconds }) => milliseconds > 0));
  timers[0]?.run();
  assert.deepEqual(named, [join(directory, "a"), join(directory, "b")]);
  watcher.close();
});
