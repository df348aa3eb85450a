import { randomUUID } from "node:crypto";
import { createServer } from "@dray/apiserver";
import { type Client, type Clock, createClient } from "@dray/client";
import { memoryStore } from "@dray/store";

/** Runs a test against a real API server in this process. `connect` makes a client of a cluster admin. */
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
