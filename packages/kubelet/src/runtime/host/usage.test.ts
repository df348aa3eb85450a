import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { eventually } from "@dray/testing/eventually";
import { isolations } from "../../testing/agent.ts";
import { processesWith } from "../../testing/processes.ts";
import { withRuntime } from "../../testing/runtime.ts";

/** Without cgroups, which other users than root cannot make anyway. */
const uncounted = isolations.length === 1 ? isolations : ["pids", "plain+uncounted"];

/** CPU time in nanoseconds that is certainly more than starting a shell takes. */
const enough = 100e6;

for (const isolation of uncounted)
  describe(`usage without cgroups, ${isolation}`, () => {
    const burn = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
    for (const [name, command] of [
      ["a child that its parent waits for", "sh -c 'BURN' MARK; exec sleep 1000"],
      ["a child that nobody waits for", "(sh -c 'BURN' MARK &); exec sleep 1000"],
      ["a child whose parent is asleep", "sh -c 'BURN' MARK & exec sleep 1000"],
    ] as const)
      test(`the CPU time of ${name} stays when it has ended`, () =>
        withRuntime(isolation, async ({ start, runtime }) => {
          const mark = `burning-${process.pid}-${name.length}`;
          // Its last second is to be measured.
          const script = command.replace("BURN", `${burn}; sleep 1`).replace("MARK", mark);
          const id = await start({ command: ["sh", "-c", script] });
          let last = 0;
          const measure = async (): Promise<number> => {
            const stats = await runtime.listContainerStats();
            const { cpuNanoseconds = 0, memoryWorkingSetBytes = 0 } =
              stats.find(({ containerId }) => containerId === id) ?? {};
            assert.ok(cpuNanoseconds >= last, `${cpuNanoseconds} after ${last}`);
            assert.ok(memoryWorkingSetBytes < 1e9);
            last = cpuNanoseconds;
            return memoryWorkingSetBytes;
          };
          await eventually("the child ends", async () => {
            await measure();
            return last > enough && processesWith(mark).length === 0;
          });
          const memory = await measure();
          assert.ok(memory > 10_000, `${memory}`);
          assert.ok(last > enough);
        }));
  });
