/** For tests: a server on a memory store, and requests to it in wire format. */
import {
  type ApiRequest,
  type ApiResponse,
  type Clock,
  type Credential,
  systemClock,
  type WatchEvent,
} from "@dray/client";
import { memoryStore, type Store } from "@dray/store";
import { textOf } from "@dray/testing/http";
import { type ApiServer, createServer, type ServerOptions } from "../index.ts";

export interface Answer {
  readonly status: number;
  readonly headers: ApiResponse["headers"];
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every kind.
  readonly body: any;
}

export interface CallOptions {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly credential?: Credential;
  readonly user?: string;
  readonly groups?: readonly string[];
}

export const adminToken = "admin-token";

export interface TestServer {
  readonly server: ApiServer;
  readonly store: Store;
  call(method: string, url: string, options?: CallOptions): Promise<Answer>;
  /** Returns this number of events, then ends the watch. */
  // biome-ignore lint/suspicious/noExplicitAny: see above.
  watch(url: string, count: number, options?: CallOptions): Promise<WatchEvent<any>[]>;
  /** Creates a namespace with its default service account. */
  namespace(name: string): Promise<void>;
}

export async function testServer(options: Partial<ServerOptions> = {}): Promise<TestServer> {
  const clock: Clock = options.clock ?? systemClock;
  const store = options.store ?? memoryStore(clock);
  const server = await createServer({
    store,
    // Only large requests pause: tests with a fake clock count turns of the event loop.
    elapsed: () => 0,
    tokens: [{ token: adminToken, user: { name: "admin", groups: ["system:masters"] } }],
    ...options,
  });
  const request = (method: string, url: string, call: CallOptions, signal: AbortSignal): ApiRequest => {
    const headers: Record<string, string> = {
      accept: "application/json",
      "user-agent": "test/1",
      ...call.headers,
    };
    if (call.user !== undefined) headers["impersonate-user"] = call.user;
    const { groups = [] } = call;
    if (groups[0] !== undefined) headers["impersonate-group"] = groups[0];
    const { body } = call;
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const bytes = body instanceof Uint8Array ? body : new TextEncoder().encode(text);
    if (body !== undefined && headers["content-type"] === undefined) {
      headers["content-type"] = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    }
    return {
      method,
      url,
      headers,
      ...(groups.length > 1 ? { repeated: { "impersonate-group": groups } } : {}),
      ...(body === undefined ? {} : { body: bytes }),
      credential: call.credential ?? { type: "bearer", token: adminToken },
      signal,
    };
  };
  const tested: TestServer = {
    server,
    store,
    async call(method, url, call = {}) {
      const response = await server.handle(request(method, url, call, new AbortController().signal));
      if (response.type !== "body" && response.type !== "bytes")
        throw new Error(`${url} was answered by a ${response.type}`);
      const text =
        response.type === "body" ? new TextDecoder().decode(response.bytes()) : await textOf(response.chunks);
      const json = String(response.headers["content-type"]).startsWith("application/json");
      const body = json && text !== "" ? JSON.parse(text) : text;
      return { status: response.status, headers: response.headers, body };
    },
    async watch(url, count, call = {}) {
      const gone = new AbortController();
      const response = await server.handle(request("GET", url, call, gone.signal));
      if (response.type !== "watch") throw new Error(`${url} is no watch: ${response.status}`);
      const events: WatchEvent<object>[] = [];
      for await (const frame of response.events) {
        events.push(JSON.parse(new TextDecoder().decode(frame.bytes())) as WatchEvent<object>);
        if (events.length >= count) break;
      }
      gone.abort();
      return events;
    },
    async namespace(name) {
      await tested.call("POST", "/api/v1/namespaces", { body: { metadata: { name } } });
      await tested.call("POST", `/api/v1/namespaces/${name}/serviceaccounts`, {
        body: { metadata: { name: "default" } },
      });
    },
  };
  return tested;
}
