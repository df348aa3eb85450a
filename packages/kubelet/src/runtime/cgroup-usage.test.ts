import assert from "node:assert/strict";
import { test } from "node:test";
import { cgroupUsage } from "./cgroup-usage.ts";

const files =
  (texts: Readonly<Record<string, string>>) =>
  (controller: string, name: string): string | undefined =>
    texts[`${controller}/${name}`];

test("the unified hierarchy", () => {
  const usage = cgroupUsage(
    files({
      "cpu/cpu.stat":
        "usage_usec 1500\nuser_usec 1000\nsystem_usec 500\nnr_periods 7\nnr_throttled 2\nthrottled_usec 30\n",
      "memory/memory.current": "5000\n",
      "memory/memory.stat": "anon 3000\nfile 1500\ninactive_file 1000\n",
      "memory/memory.swap.current": "10\n",
      "io/io.stat": "8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0\n8:16\n",
    }),
  );
  assert.deepEqual(usage, {
    cpuNanoseconds: 1_500_000,
    memoryWorkingSetBytes: 4000,
    details: {
      memory: { usage: 5000, rss: 3000, cache: 1500, swap: 10 },
      throttling: { periods: 7, throttledPeriods: 2, throttledNanoseconds: 30_000 },
      disks: [{ device: "8:0", readBytes: 1, writtenBytes: 2, reads: 3, writes: 4 }],
    },
  });
});

test("the controllers of version 1, with the totals of cgroups below", () => {
  const usage = cgroupUsage(
    files({
      "cpuacct/cpuacct.usage": "2000\n",
      "cpu/cpu.stat": "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n",
      "memory/memory.usage_in_bytes": "9000\n",
      "memory/memory.stat":
        "cache 1\nrss 2\nswap 3\ninactive_file 4\ntotal_cache 4000\ntotal_rss 5000\ntotal_swap 6\ntotal_inactive_file 3000\n",
      "blkio/blkio.throttle.io_service_bytes_recursive":
        "8:0 Read 10\n8:0 Write 20\n8:0 Total 30\nTotal 30\n",
      "blkio/blkio.throttle.io_serviced_recursive": "8:0 Read 1\n8:0 Write 2\n8:0 Total 3\nTotal 3\n",
    }),
  );
  assert.deepEqual(usage, {
    cpuNanoseconds: 2000,
    memoryWorkingSetBytes: 6000,
    details: {
      memory: { usage: 9000, rss: 5000, cache: 4000, swap: 6 },
      throttling: { periods: 0, throttledPeriods: 0, throttledNanoseconds: 0 },
      disks: [{ device: "8:0", readBytes: 10, writtenBytes: 20, reads: 1, writes: 2 }],
    },
  });
});

test("figures without a controller are absent, and all are without CPU time or memory", () => {
  const memory = { "memory/memory.current": "100", "memory/memory.stat": "" };
  assert.equal(cgroupUsage(files(memory)), undefined);
  assert.equal(cgroupUsage(files({ "cpu/cpu.stat": "usage_usec 1\n" })), undefined);
  assert.deepEqual(cgroupUsage(files({ ...memory, "cpu/cpu.stat": "usage_usec 1\n" })), {
    cpuNanoseconds: 1000,
    memoryWorkingSetBytes: 100,
    details: { memory: undefined, throttling: undefined, disks: undefined },
  });
});
