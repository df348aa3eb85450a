import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { ConfigMap, Node } from "@dray/api/core/v1";
import type { Client } from "@dray/client";
import { layoutOf, runningProcess } from "@dray/cluster";
import { eventually } from "@dray/testing/eventually";
import { fillDisk, smallDisk, withoutMounts } from "../../../../store/src/testing/disk.ts";
import { connect } from "../../connection/connect.ts";
import { dray } from "../../testing/program.ts";

/**
 * Mounts a small disk, whose cluster is stopped before the disk is unmounted: hooks run in the order in which
 * they were added.
 */
function clusterDisk(t: TestContext, size: number): { disk: string; dataDir: string } {
  let dataDir = "";
  t.after(() => dray(["down", "--data-dir", dataDir]));
  const disk = smallDisk(t, size);
  dataDir = join(disk, "data");
  return { disk, dataDir };
}

const configMap = (name: string, bytes: number) => ({
  metadata: { namespace: "default", name },
  data: { text: "x".repeat(bytes) },
});

/** Returns the lines of a log with the text. */
const logged = (path: string, text: string): Record<string, unknown>[] =>
  readFileSync(path, "utf8")
    .trimEnd()
    .split("\n")
    .filter((line) => line.includes(text))
    .map((line) => JSON.parse(line) as Record<string, unknown>);

async function metric(client: Client, name: string): Promise<number> {
  const text = await client.text("GET", "/metrics");
  return Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text)?.[1]);
}

test("a full disk refuses writes, and nothing else; with room again the cluster goes on by itself", {
  skip: withoutMounts,
  timeout: 120_000,
}, async (t) => {
  const { disk, dataDir } = clusterDisk(t, 8);
  const started = await dray(["up", "--detach", "--nodes", "1", "--data-dir", dataDir]);
  assert.equal(started.code, 0, started.stderr);
  const { pid } = runningProcess(layoutOf(dataDir).processFile)!;
  const { client } = await connect({ kubeconfig: join(dataDir, "kubeconfig") }, "test");
  t.after(() => client.close());
  const maps = client.resource(ConfigMap);
  const stop = new AbortController();
  const informer = client.informer(ConfigMap, { namespace: "default" });
  await informer.start(stop.signal);

  const free = fillDisk(disk);
  // Also fills the last page of the log.
  for (let index = 0; index < 60; index++) {
    await assert.rejects(maps.create(configMap(`lost-${index}`, 10_000)), {
      message: `${join(dataDir, "state.db")} cannot be written, nothing was stored: no space is left on its disk; make room there, and writes go on`,
    });
  }
  assert.ok((await metric(client, "dray_log_lines_dropped_total")) > 0);
  const { items } = await maps.list({ namespace: "default" });
  assert.deepEqual(
    items.map(({ metadata }) => metadata.name),
    ["kube-root-ca.crt"],
  );

  free();
  await maps.create(configMap("kept", 10_000));
  await informer.until(() => informer.get({ namespace: "default", name: "kept" }) !== undefined);
  stop.abort();
  const log = join(dataDir, "logs", "control-plane.log");
  await eventually("the log goes on", () => logged(log, "lines before this one are missing").length > 0);
  const [line] = logged(log, "lines before this one are missing");
  assert.equal(line?.["dropped"], await metric(client, "dray_log_lines_dropped_total"));
  assert.equal(runningProcess(layoutOf(dataDir).processFile)?.pid, pid);
  const { items: nodes } = await client.resource(Node).list();
  assert.equal(nodes.length, 1);
});

test("on a disk without room `up` says at once what cannot be written", {
  skip: withoutMounts,
  timeout: 120_000,
}, async (t) => {
  // Each size suffices for one more step: the folders, the keys, some of the first objects.
  for (const [room, what] of [
    [8, "state.db.lock"],
    [128, "cluster.json"],
    [480, "state.db"],
  ] as const) {
    const { disk, dataDir } = clusterDisk(t, 1);
    fillDisk(disk, room * 1024);
    const { code, stderr } = await dray(["up", "--detach", "--nodes", "1", "--data-dir", dataDir]);
    assert.equal(code, 1, `${room} KiB: ${stderr}`);
    assert.match(stderr, /^error: .*[Nn]o space/im, `${room} KiB`);
    assert.ok(stderr.includes(dataDir), `${room} KiB, ${what}: ${stderr}`);
  }
});
