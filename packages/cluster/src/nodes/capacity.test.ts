import assert from "node:assert/strict";
import { test } from "node:test";
import { type Capacity, checkCapacity } from "./capacity.ts";

const gibibyte = 2 ** 30;
const machine = (small: Partial<Capacity>): Capacity => ({
  memory: 1e15,
  heap: 1e15,
  files: 1e9,
  ...small,
});

test("500 nodes fit into a laptop; fewer than there are need nothing", () => {
  checkCapacity({ nodes: 500 }, { memory: 2 * gibibyte, heap: gibibyte, files: 4096 });
  checkCapacity({ nodes: 0 }, machine({ memory: 0.25 * gibibyte }));
  assert.throws(
    () => checkCapacity({ nodes: 500, drivers: 1 }, machine({ memory: 2 * gibibyte })),
    /with their drivers, and 2\.0 GiB are available: 58 would fit$/,
  );
  checkCapacity({ nodes: 2, running: 5 }, machine({ memory: 0 }));
});

for (const [what, small, message] of [
  [
    "memory",
    { memory: gibibyte },
    /^--nodes 100000: they need about 13\d\.\d GiB of memory without their pods, and 1\.0 GiB are available: (\d+) would fit$/,
  ],
  [
    "heap",
    { heap: gibibyte },
    /about a heap of 48\.9 GiB, and its limit is 1\.0 GiB \(NODE_OPTIONS=--max-old-space-size=50060 raises it\): (\d+) would fit$/,
  ],
  [
    "files",
    { files: 1024 },
    /about 400100 open files, and the limit is 1024 \(see `ulimit -Hn`\): (\d+) would fit$/,
  ],
] as const) {
  test(`more nodes than there is ${what} for are refused, and the error says how many fit`, () => {
    for (const running of [undefined, 10]) {
      const fitting = Number(
        message.exec(errorOf(() => checkCapacity({ nodes: 100_000 }, machine(small))))?.[1] ??
          assert.fail(errorOf(() => checkCapacity({ nodes: 100_000 }, machine(small)))),
      );
      checkCapacity({ nodes: fitting, running }, machine(small));
      assert.throws(() => checkCapacity({ nodes: fitting + 1000, running }, machine(small)));
    }
    assert.throws(() => checkCapacity({ nodes: 100_000, running: 10 }, machine(small)), /would fit/);
  });
}

function errorOf(work: () => void): string {
  try {
    work();
  } catch (error) {
    return (error as Error).message;
  }
  return "";
}

test("simulated nodes take less, and are refused when there are too many", () => {
  const has = { memory: 2 * 2 ** 30, heap: 2 ** 30, files: 1024 };
  checkCapacity({ nodes: 0, simulated: 5000 }, has);
  assert.throws(
    () => checkCapacity({ nodes: 0, simulated: 20_000 }, has),
    /^Error: 20000 simulated nodes need about .* of memory and a heap of .* would fit$/,
  );
  assert.throws(
    () => checkCapacity({ nodes: 800, simulated: 5000 }, has),
    /^Error: --nodes 800: they need about/,
  );
});
