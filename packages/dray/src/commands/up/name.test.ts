import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { dray, inFolder } from "../../testing/program.ts";

test("clusters with names of their own live beside each other", () =>
  inFolder(async (folder) => {
    const env = { XDG_DATA_HOME: folder };
    const run = async (...args: string[]): Promise<string> => {
      const { code, stdout, stderr } = await dray(args, env);
      assert.equal(code, 0, stderr);
      return stdout;
    };
    const up = ["up", "--detach", "--nodes", "0", "--store", "memory"];
    try {
      await Promise.all([run(...up), run(...up, "--name", "ci-1")]);
      const json = async (...args: string[]): Promise<Record<string, unknown>> =>
        JSON.parse(await run("status", "-o", "json", ...args)) as Record<string, unknown>;
      const [first, second] = [await json(), await json("--name", "ci-1")];
      assert.equal(first["name"], "dray");
      assert.equal(first["dataDir"], join(folder, "dray", "dray"));
      assert.equal(second["name"], "ci-1");
      assert.equal(second["dataDir"], join(folder, "dray", "ci-1"));
      assert.notEqual(first["server"], second["server"]);
      assert.match(await run("status"), /\n\nOther clusters, for --name:\n {2}ci-1 {2}running\n$/);

      await run("down", "--name", "ci-1");
      assert.match(await run("status"), /\n {2}ci-1 {2}stopped\n$/);
      await run("down", "--delete-data");
      // The cluster without a name is gone, the other one is not.
      const gone = await dray(["status"], env);
      assert.equal(gone.code, 1);
      assert.match(
        gone.stdout,
        /^there is no cluster in .*\n(.*\n)*Other clusters, for --name:\n {2}ci-1 {2}stopped\n$/,
      );
      assert.match(await run("down"), /does not exist\n\nOther clusters/);
    } finally {
      await dray(["down", "--delete-data"], env);
      await dray(["down", "--delete-data", "--name", "ci-1"], env);
    }
    assert.equal(existsSync(join(folder, "dray", "ci-1")), false);
  }));

test("a name is checked, and stays that of its data directory", () =>
  inFolder(async (folder) => {
    const env = { XDG_DATA_HOME: folder, DRAY_DATA_DIR: join(folder, "chosen") };
    for (const name of ["../x", "A", ""]) {
      for (const command of ["up", "down", "status", "apiserver"]) {
        const { code, stderr } = await dray([command, "--name", name], env);
        assert.deepEqual(
          [code, stderr.startsWith(`error: --name ${name}: must be at most 63`)],
          [2, true],
          stderr,
        );
      }
    }
    const up = ["up", "--detach", "--nodes", "0", "--store", "memory"];
    try {
      const { code, stderr } = await dray([...up, "--name", "a", "--data-dir", join(folder, "chosen")], env);
      assert.equal(code, 0, stderr);
      const other = await dray(["status", "--name", "b", "--data-dir", join(folder, "chosen")], env);
      assert.equal(other.code, 2);
      const named = `error: --name b: the cluster in ${join(folder, "chosen")} is named a\n`;
      assert.ok(other.stderr.startsWith(named), other.stderr);
      // The environment names the folder unless a flag or a name does.
      assert.equal((await dray(["status"], env)).code, 0);
      const byName = await dray(["status", "--name", "a"], env);
      assert.ok(
        byName.stdout.startsWith(`there is no cluster in ${join(folder, "dray", "a")}:`),
        byName.stdout,
      );
    } finally {
      await dray(["down", "--delete-data"], env);
    }
  }));
