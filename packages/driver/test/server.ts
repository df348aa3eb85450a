import { randomUUID } from "node:crypto";
import { createServer } from "@dray/apiserver";
import { type Client, createClient, systemClock } from "@dray/client";
import { memoryStore } from "@dray/store";

/** A real API server in this process, for what only makes sense against one. */
export interface Server {
  /** As a cluster administrator. */
  connect(userAgent?: string): Client;
  close(): Promise<void>;
}

/** `runtimeConfig`: as `--runtime-config` of kube-apiserver. */
export async function startServer(runtimeConfig: Record<string, boolean> = {}): Promise<Server> {
  const clock = systemClock;
  const store = memoryStore(clock);
  const server = await createServer({ store, clock, newId: randomUUID, runtimeConfig });
  const groups = ["system:masters", "system:authenticated"];
  return {
    connect: (userAgent = "admin") =>
      createClient({ transport: server.transport({ name: "admin", groups }), userAgent, clock }),
    async close() {
      await server.close();
      await store.close();
    },
  };
}
