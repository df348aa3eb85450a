import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { Pod, ServiceAccount } from "@dray/api/core/v1";
import { silentLog, systemClock } from "@dray/client";
import { fastClock } from "@dray/testing/clock";
import { eventuallyPasses } from "@dray/testing/eventually";
import { testRuntime } from "../testing/agent.ts";
import { podBecomes, podOn, type TestCluster, testCluster } from "../testing/cluster.ts";
import { LogRotation } from "./log-rotation.ts";

describe("logs of containers", () => {
  let cluster: TestCluster;
  before(async () => {
    cluster = await testCluster();
    const account = { metadata: { namespace: "default", name: "default" } };
    await cluster.admin.resource(ServiceAccount).create(account);
    await cluster.node("n1", { clock: fastClock(30), logs: { maxSize: 1000, maxFiles: 3 } });
  });
  after(() => cluster.close());

  async function folderOf(name: string): Promise<string> {
    const running = (pod: Pod): boolean => pod.status?.phase === "Running";
    const { metadata } = await podBecomes(cluster.admin, { namespace: "default", name }, running);
    return join(cluster.rootDir("n1"), "var/log/pods", `default_${name}_${metadata.uid}`, "main");
  }

  test("one that is too long is rotated, older ones are compressed, the oldest removed", async () => {
    const command = ["bash", "-c", "for ((i = 0; ; i++)); do printf 'line %095d\\n' $i; sleep 0.02; done"];
    await cluster.admin
      .resource(Pod)
      .create(podOn("n1", "talker", { containers: [{ name: "main", command }] }));
    const folder = await folderOf("talker");
    // The host runtime keeps the times of lines in a file beside the log, which is not a log.
    const rotated = (): string[] =>
      readdirSync(folder)
        .filter((file) => /^0\.log\.\d{8}-[\d.]+(\.gz)?$/.test(file))
        .sort();
    let first = "";
    await eventuallyPasses(async () => {
      const [oldest = "", second] = rotated();
      assert.ok(oldest.endsWith(".gz") && second !== undefined, readdirSync(folder).join());
      first ||= oldest;
      const text = gunzipSync(readFileSync(join(folder, oldest))).toString();
      // No line is broken or lost.
      const numbers = text
        .split("\n")
        .slice(0, -1)
        .map((line) => Number(line.replace("line ", "")));
      assert.ok(numbers.length >= 10);
      assert.deepEqual(
        numbers,
        numbers.map((_, index) => (numbers[0] ?? 0) + index),
      );
    });
    await eventuallyPasses(async () => {
      assert.ok(!rotated().includes(first), rotated().join());
      assert.ok(rotated().length <= 2, rotated().join());
    });
    await cluster.admin.resource(Pod).delete({ namespace: "default", name: "talker" });
  });

  test("those of containers that are gone go, too", async () => {
    const command = ["bash", "-c", "echo once; exit 1"];
    await cluster.admin
      .resource(Pod)
      .create(podOn("n1", "crasher", { containers: [{ name: "main", command }] }));
    const folder = await folderOf("crasher");
    await eventuallyPasses(async () => {
      const files = readdirSync(folder).filter((file) => file.endsWith(".log"));
      // Containers are restarted fast here.
      const attempts = files.map((file) => Number.parseInt(file, 10)).sort((a, b) => a - b);
      assert.ok(attempts.length <= 3 && (attempts.at(-1) ?? 0) >= 3 && (attempts[0] ?? 0) > 0, files.join());
    });
    await cluster.admin.resource(Pod).delete({ namespace: "default", name: "crasher" });
  });
});

test("limits that keep nothing are refused", () => {
  const make = (maxSize: number, maxFiles: number) => () =>
    new LogRotation({
      runtime: testRuntime("/nowhere", "plain"),
      clock: systemClock,
      log: silentLog,
      limits: { maxSize, maxFiles },
    });
  assert.throws(make(0, 5), { message: "containerLogMaxSize 0 must be greater than 0" });
  assert.throws(make(1, 1), { message: "containerLogMaxFiles 1 must be an integer of at least 2" });
});
