import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "@dray/testing/folder";
import { detectIsolation } from "./detect-isolation.ts";
import { writeRoot } from "./root-plan.ts";

test("an entry of the machine that has gone since the plan was made is left out, a volume is not", async (t) => {
  const folder = temporaryFolder(t);
  const { isolation, reason } = await detectIsolation(folder, folder, false);
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
    writeFileSync(table, writeRoot(plan, root, false));
    const [program = "", ...args] = isolation.unshare;
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
