import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "@dray/testing/folder";
import { Exchange, withoutExchange } from "../../testing/exchange.ts";
import { detectIsolation } from "./detect-isolation.ts";
import { unshareCommand } from "./isolation.ts";
import { planRoot } from "./root-plan.ts";
import { writeRoot } from "./root-write.ts";

test("an entry of the machine that has gone since the plan was made is left out, a volume is not", async (t) => {
  const folder = temporaryFolder(t);
  const { isolation, reason } = await detectIsolation(folder, folder);
  if (isolation.type === "plain") return t.skip(`no mount name spaces: ${reason}`);
  const [there, gone] = [join(folder, "there"), join(folder, "gone")];
  mkdirSync(there);
  writeFileSync(join(there, "file"), "");
  const mountAll = (source: string, target: string) => {
    const root = join(folder, `root-${target.replaceAll("/", "-")}`);
    const mounts = [
      { source, target, readOnly: false },
      { source: there, target: "/last", readOnly: false },
    ];
    const plan = {
      directories: [target, "/last"],
      copies: [],
      files: [],
      links: [],
      mounts,
    };
    const table = join(folder, "table");
    writeFileSync(table, writeRoot(plan, root, false).table);
    const [program = "", ...args] = unshareCommand(isolation, "machine");
    const script = '"$1" -a -T "$2" && ls "$3/last"';
    return spawnSync(program, [...args, "/bin/sh", "-c", script, "sh", isolation.tools.mount, table, root], {
      encoding: "utf8",
    });
  };
  assert.equal(mountAll(gone, gone).stdout, "file\n");
  const volume = mountAll(gone, "/volume");
  assert.notEqual(volume.status, 0);
  assert.match(volume.stderr, /gone does not exist/);
});

const skip = withoutExchange ?? false;

test("a mount point in a volume is made nowhere else while the volume's folders are exchanged", {
  skip,
}, async (t) => {
  const [node, outside] = [temporaryFolder(t), temporaryFolder(t)];
  const [volume, other] = [join(node, "volume"), join(node, "other")];
  for (const path of [join(volume, "inside"), other]) mkdirSync(path, { recursive: true });
  symlinkSync(outside, join(volume, "evil"));
  const mount = (hostPath: string, containerPath: string) => ({ hostPath, containerPath, readOnly: false });
  const exchange = new Exchange(join(volume, "inside"), join(volume, "evil"));
  try {
    for (let tries = 0; tries < 300; tries++) {
      try {
        planRoot([mount(volume, "/of-race"), mount(other, `/of-race/inside/${tries}/made`)], node);
      } catch (error) {
        assert.match(String(error), /ENOTDIR|EEXIST|a directory is there|is a file/);
      }
      await new Promise(setImmediate);
    }
  } finally {
    await exchange.stop();
  }
  assert.deepEqual(readdirSync(outside), []);
  assert.ok(readdirSync(join(volume, "inside")).length + readdirSync(join(volume, "evil")).length > 0);
});

test("a part of a volume that was exchanged for a link is not mounted, and nothing is made behind the link", (t) => {
  const [node, outside] = [temporaryFolder(t), temporaryFolder(t)];
  const [inside, other] = [join(node, "inside"), join(node, "other")];
  for (const path of [inside, other]) mkdirSync(path);
  const { dev, ino } = statSync(inside);
  const mounts = [
    { hostPath: inside, containerPath: "/of-part", readOnly: false, identity: `${dev}:${ino}` },
    { hostPath: other, containerPath: "/of-part/made", readOnly: false },
  ];
  planRoot(mounts, node);
  assert.deepEqual(readdirSync(inside), ["made"]);
  rmSync(inside, { recursive: true });
  symlinkSync(outside, inside);
  assert.throws(() => planRoot(mounts, node), /cannot mount .*inside: it was exchanged meanwhile/);
  assert.deepEqual(readdirSync(outside), []);
});

test("a container does not start on something else than what was planned to be mounted", async (t) => {
  const folder = temporaryFolder(t);
  const { isolation, reason } = await detectIsolation(folder, folder);
  if (isolation.type === "plain") return t.skip(`no mount name spaces: ${reason}`);
  const [planned, other] = [join(folder, "planned"), join(folder, "other")];
  for (const path of [planned, other]) mkdirSync(path);
  const mounts = [{ hostPath: planned, containerPath: "/of-check", readOnly: false }];
  const root = join(folder, "root");
  const { table, check } = writeRoot(planRoot(mounts, folder), root, false);
  const [program = "", ...args] = unshareCommand(isolation, "machine");
  const run = (text: string) => {
    writeFileSync(join(folder, "table"), text);
    const script = `"$1" -a -T "$2" && ${check}`;
    const words = ["-c", script, "sh", isolation.tools.mount, join(folder, "table")];
    return spawnSync(program, [...args, "/bin/sh", ...words], { encoding: "utf8" });
  };
  assert.equal(run(table).status, 0, run(table).stderr);
  assert.equal(run(table.replaceAll(`${planned} `, `${other} `)).status, 1);
});

test("only a proc file system covers /proc", (t) => {
  const folder = temporaryFolder(t);
  const plan = (hostPath: string, containerPath: string) =>
    planRoot([{ hostPath, containerPath, readOnly: false }], folder);
  assert.throws(() => plan(folder, "/proc"), {
    reason: "RunContainerError",
    message: `cannot mount at /proc: only a proc file system can be there, and ${folder} is not one`,
  });
  assert.throws(() => plan(folder, "/tmp/.././proc/"), /cannot mount at/);
  assert.ok(plan("/proc", "/proc").mounts.some(({ target }) => target === "/proc"));
});
