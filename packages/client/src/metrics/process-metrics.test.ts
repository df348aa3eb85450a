import assert from "node:assert/strict";
import { test } from "node:test";
import { fakeClock } from "@dray/testing/clock";
import { readExposition } from "@dray/testing/exposition";
import { ProcessMetrics } from "./process-metrics.ts";

const release = "1.37";

test("the figures of this process, from the system", {
  skip: process.platform !== "linux" && "no /proc",
}, () => {
  const clock = fakeClock(1_700_000_000_000);
  const metrics = new ProcessMetrics({ clock, release });
  const value = (name: string): number =>
    readExposition(metrics.text()).get(name)?.samples[0]?.value ?? Number.NaN;
  assert.ok(value("process_cpu_seconds_total") > 0);
  assert.ok(value("process_resident_memory_bytes") > 10 << 20);
  assert.ok(value("process_virtual_memory_bytes") > value("process_resident_memory_bytes"));
  assert.ok(value("process_open_fds") > 2 && value("process_open_fds") < value("process_max_fds"));
  const started = value("process_start_time_seconds");
  assert.ok(started < 1_700_000_000 && started > 1_699_900_000, String(started));
  clock.advance(60_000);
  assert.equal(value("process_start_time_seconds"), started);
});

test("figures that the system lacks are left out", () => {
  const unknown = { virtualBytes: undefined, openFiles: undefined, maxFiles: undefined };
  let cpuSeconds = 1;
  const figures = () => ({ ...unknown, cpuSeconds: cpuSeconds++, residentBytes: 4096 });
  const metrics = new ProcessMetrics({ clock: fakeClock(0), release, figures });
  const read = readExposition(metrics.text());
  assert.equal(read.get("process_cpu_seconds_total")?.samples[0]?.value, 2);
  assert.equal(read.get("process_open_fds")?.samples.length, 0);
  assert.equal(read.get("process_virtual_memory_bytes")?.samples.length, 0);
  const { labels } = read.get("kubernetes_build_info")?.samples[0] ?? {};
  assert.deepEqual(
    [labels?.["git_version"], labels?.["major"], labels?.["minor"]],
    ["v1.37.0+dray", "1", "37"],
  );
});
