import { randomUUID } from "node:crypto";
import { type ApiServer, createServer, type ServerOptions } from "@dray/apiserver";
import { type Client, createClient, systemClock, type Transport } from "@dray/client";
import { memoryStore, type Store } from "@dray/store";

/** An API server of this process, without a listener. */
export interface TestApiServer {
  readonly server: ApiServer;
  readonly store: Store;
  /** A transport of a user; the server adds no groups but `system:authenticated`. */
  transport(user: string, ...groups: string[]): Transport;
  /** A client of a user, named like the user in its requests. */
  connect(user: string, ...groups: string[]): Client;
  /** A client that may do everything. */
  admin(userAgent?: string): Client;
  close(): Promise<void>;
}

/** Starts an API server on a memory store; by the system's clock, unless `options` name another. */
export async function startApiServer(options: Partial<ServerOptions> = {}): Promise<TestApiServer> {
  const { clock = systemClock, log } = options;
  const store = options.store ?? memoryStore(clock);
  // Tests with a fake clock count turns of the event loop: requests never pause.
  const elapsed = (): number => 0;
  const server = await createServer({ clock, elapsed, newId: randomUUID, ...options, store });
  const transport: TestApiServer["transport"] = (name, ...groups) =>
    server.transport({ name, groups: [...groups, "system:authenticated"] });
  const client = (over: Transport, userAgent: string): Client =>
    createClient({ transport: over, userAgent, clock, ...(log && { log }) });
  return {
    server,
    store,
    transport,
    connect: (user, ...groups) => client(transport(user, ...groups), user),
    admin: (userAgent = "admin") => client(transport("admin", "system:masters"), userAgent),
    async close() {
      await server.close();
      await store.close();
    },
  };
}

/** Runs `test` on an API server of its own. */
export async function withApiServer(
  options: Partial<ServerOptions>,
  test: (server: TestApiServer) => Promise<void>,
): Promise<void> {
  const server = await startApiServer(options);
  try {
    await test(server);
  } finally {
    await server.close();
  }
}
