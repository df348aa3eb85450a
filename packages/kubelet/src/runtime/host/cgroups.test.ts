import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import {
  cgroupMembers,
  cgroupProcesses,
  detectCgroups,
  hierarchies,
  makeCgroup,
  removeCgroup,
  withoutForks,
} from "./cgroups.ts";

for (const hierarchy of hierarchies)
  test(`${hierarchy.type}: holds what enters it and all below, kills it, and can be removed`, async (context) => {
    const cgroups = await detectCgroups(randomUUID, [hierarchy]);
    if ("reason" in cgroups) {
      // Either hierarchy will do, depending on the machine.
      const any = await detectCgroups(randomUUID);
      if ("reason" in any) return context.skip("no cgroups");
      return;
    }
    const cgroup = cgroups.path(`test-${process.pid}`);
    makeCgroup(cgroup);
    mkdirSync(join(cgroup, "below"));
    const enter = 'echo $$ >"$1"; echo in; exec sleep 1000';
    const inside = ["", "below"].map((name) =>
      spawn("/bin/sh", ["-c", enter, "enter", cgroupProcesses(join(cgroup, name))], {
        stdio: ["ignore", "pipe", "inherit"],
      }),
    );
    await Promise.all(inside.map(({ stdout }) => once(stdout, "data")));
    assert.deepEqual(cgroupMembers(cgroup).sort(), inside.map(({ pid }) => pid!).sort());
    removeCgroup(cgroup);
    assert.ok(existsSync(cgroup), "a cgroup with processes stays");
    const ended = inside.map((child) => once(child, "exit"));
    withoutForks(cgroup, () => {
      for (const pid of cgroupMembers(cgroup)) process.kill(pid, "SIGKILL");
    });
    await Promise.all(ended);
    assert.deepEqual(cgroupMembers(cgroup), []);
    removeCgroup(cgroup);
    assert.equal(existsSync(cgroup), false);
    assert.deepEqual(cgroupMembers(cgroup), []);
  });

test("a machine without a cgroup file system has the reason", async () => {
  assert.deepEqual(await detectCgroups(randomUUID, []), { reason: "no cgroup file system is mounted" });
});
