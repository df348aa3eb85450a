import assert from "node:assert/strict";
import { test } from "node:test";
import { parseReading } from "./reading.ts";

test("/metrics/resource of a kubelet: its node, and pods with complete samples", () => {
  const { node, pods } = parseReading(
    `# HELP container_cpu_usage_seconds_total [STABLE] Cumulative cpu time consumed by the container in core-seconds
# TYPE container_cpu_usage_seconds_total counter
container_cpu_usage_seconds_total{container="main",namespace="a",pod="p"} 4.710169 1633253809720
container_cpu_usage_seconds_total{container="side",namespace="a",pod="p"} 0 1633253809721
container_cpu_usage_seconds_total{container="main",namespace="a",pod="ended"} 3 1633253809720
container_memory_working_set_bytes{container="main",namespace="a",pod="p"} 2.253062144e+09 1633253809700
container_memory_working_set_bytes{container="side",namespace="a",pod="p"} 4096 1633253809701
container_memory_working_set_bytes{container="main",namespace="b",pod="p"} NaN 1633253809701
container_start_time_seconds{container="main",namespace="a",pod="p"} 1.63325380e+09
container_swap_usage_bytes{container="main",namespace="a",pod="p"} 7
node_cpu_usage_seconds_total 357.35491 1633253809720
node_memory_working_set_bytes 1.616273408e+09 1633253809720
pod_cpu_usage_seconds_total{namespace="a",pod="p"} 4.7 1633253809720
resource_scrape_error 0
`,
    42,
  );
  assert.deepEqual(node, { at: 1633253809720, cpuSeconds: 357.35491, memoryBytes: 1616273408 });
  assert.deepEqual([...pods.keys()], ["a/p"]);
  assert.deepEqual(Object.fromEntries(pods.get("a/p")!), {
    main: {
      at: 1633253809720,
      cpuSeconds: 4.710169,
      memoryBytes: 2253062144,
      startedAt: 1633253800000,
    },
    side: { at: 1633253809721, cpuSeconds: 0, memoryBytes: 4096 },
  });
});

test("samples without a time have the time of the reading; labels may have any order and characters", () => {
  const { node, pods } = parseReading(
    String.raw`node_cpu_usage_seconds_total 1
container_cpu_usage_seconds_total{pod="a\"}, pod=\"b",container="c\\",namespace="n"} 1
container_memory_working_set_bytes{namespace="n",pod="a\"}, pod=\"b",container="c\\"} 2
container_cpu_usage_seconds_total{pod="no-container",namespace="n"} 1
no metric at all`,
    42,
  );
  assert.equal(node, undefined);
  assert.deepEqual([...pods.keys()], ['n/a"}, pod="b']);
  assert.deepEqual([...pods.values()][0]?.get("c\\"), { at: 42, cpuSeconds: 1, memoryBytes: 2 });
});
