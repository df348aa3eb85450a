import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { eventually } from "@dray/testing/eventually";
import { dray, inFolder, output, processesWith, start } from "../../testing/program.ts";

test("up and apiserver refuse data of a newer release, and leave them alone", () =>
  inFolder(async (folder) => {
    const dataDir = join(folder, "data");
    const data = ["--data-dir", dataDir];
    const up = ["up", "--detach", "--nodes", "0", ...data];
    try {
      for (const version of ["1.36", "1.37"]) {
        const { code, stderr } = await dray([...up, "--kubernetes-version", version]);
        assert.equal(code, 0, stderr);
        await dray(["down", ...data]);
      }
      const older = await dray([...up, "--kubernetes-version", "1.36"]);
      assert.equal(older.code, 1);
      const message = `error: the objects in the store ${join(dataDir, "state.db")} are those of Kubernetes 1.37, and 1.36 cannot read all of them: use --kubernetes-version 1.37, another cluster`;
      assert.ok(older.stderr.startsWith(message), older.stderr);
      assert.deepEqual(processesWith(dataDir), []);
      const server = await dray(["apiserver", "--port", "0", ...data, "--kubernetes-version", "1.34"]);
      assert.equal(server.code, 1);
      assert.match(server.stderr, /are those of Kubernetes 1\.37, and 1\.34 cannot read all of them/);
      // No setting is stored.
      const again = await dray([...up, "-o", "json"]);
      assert.equal(again.code, 0, again.stderr);
      assert.equal(JSON.parse(again.stdout).kubernetesVersion, "1.37");
    } finally {
      await dray(["down", "--delete-data", ...data]);
    }
  }));

test("apiserver says when it takes data to a newer release", () =>
  inFolder(async (folder) => {
    for (const [version, said] of [
      ["1.35", ""],
      ["1.36", "the objects of Kubernetes 1.35 are those of 1.36 from now on\n"],
    ] as const) {
      const flags = ["--data-dir", join(folder, "data"), "--port", "0", "--kubernetes-version", version];
      const server = start(["apiserver", ...flags]);
      const ended = output(server);
      let ready = "";
      server.stdout?.on("data", (chunk: Buffer) => (ready += chunk.toString()));
      await eventually("it is ready", () => ready.includes("kubeconfig"));
      server.kill("SIGTERM");
      assert.equal((await ended).stderr, said);
    }
  }));
