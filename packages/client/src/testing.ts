import { randomUUID } from "node:crypto";
import { createServer } from "@dray/apiserver";
import { type Client, type Clock, createClient } from "@dray/client";
import { memoryStore } from "@dray/store";

/** A real API server in this process, for tests of what only makes sense against one. */
export async function withServer(
  clock: Clock,
  run: (connect: (name?: string) => Client) => Promise<void>,
): Promise<void> {
  const store = memoryStore(clock);
  const server = await createServer({ store, clock, newId: randomUUID });
  const connect = (name = "admin"): Client => {
    const groups = ["system:masters", "system:authenticated"];
    return createClient({ transport: server.transport({ name, groups }), userAgent: name, clock });
  };
  try {
    await run(connect);
  } finally {
    await server.close();
    await store.close();
  }
}

/** Time that passes when the test says so. */
export function handClock(): Clock & { pass(milliseconds: number): void } {
  let now = Date.parse("2026-01-01T00:00:00Z");
  const timers = new Set<{ at: number; run: () => void }>();
  return {
    now: () => now,
    after(milliseconds, run) {
      const timer = { at: now + milliseconds, run };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    pass(milliseconds) {
      now += milliseconds;
      for (const timer of [...timers]) if (timer.at <= now && timers.delete(timer)) timer.run();
    },
  };
}

/** Some turns of the event loop. */
export async function turns(count = 10): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setTimeout(resolve, 2));
}
