import assert from "node:assert/strict";
import { test } from "node:test";
import { fakeClock } from "@dray/testing/clock";
import { measuredRuntime } from "./measured.ts";
import type { RuntimeService } from "./service.ts";

test("operations are measured under upstream's names, and everything else is the runtime's own", async () => {
  const clock = fakeClock();
  class Runtime {
    readonly #name = "secret";
    get name(): string {
      return this.#name;
    }
    userOfPod(): number {
      return this.#name.length;
    }
    async startContainer(id: string): Promise<void> {
      clock.advance(250);
      if (id !== "good") throw new Error(`${this.#name}: ${id}`);
    }
  }
  const seen: unknown[] = [];
  // The other methods are not called.
  const runtime = measuredRuntime(new Runtime() as unknown as RuntimeService, clock, (...ended) =>
    seen.push(ended),
  );
  await runtime.startContainer("good");
  await assert.rejects(runtime.startContainer("bad"), { message: "secret: bad" });
  assert.deepEqual(seen, [
    ["start_container", false, 250],
    ["start_container", true, 250],
  ]);
  assert.deepEqual([runtime.name, runtime.userOfPod("uid"), runtime.linuxSandbox], ["secret", 6, undefined]);
});
