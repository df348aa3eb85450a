import { once } from "node:events";
import { connect } from "node:net";
import { type Caller, RpcError, type Service, serveTtrpc, ttrpcClient } from "@dray/rpc";
import {
  type ConfigureRequest,
  ConfigureResponse,
  PluginDefinition,
  RuntimeDefinition,
  type SynchronizeRequest,
} from "@dray/rpc/nri/v1alpha1";
import { Mux, muxConnection } from "../nri/mux.ts";
import type { PluginRequest } from "../nri/plugin.ts";

type Requests = Caller<typeof PluginDefinition>;
/** Handlers of a plugin's requests; missing ones are Unimplemented. */
export type PluginMethods = {
  readonly [R in PluginRequest | "stateChange" | "synchronize" | "configure"]?: (
    request: Parameters<Requests[R]>[0],
  ) => Promise<Awaited<ReturnType<Requests[R]>>>;
};

/** An NRI plugin like those in Go: it registers, and gets requests on the same connection. */
export interface TestPlugin {
  readonly configured: Promise<ConfigureRequest>;
  /** All parts of the first synchronization. */
  readonly synchronized: Promise<readonly SynchronizeRequest[]>;
  readonly runtime: Caller<typeof RuntimeDefinition>;
  readonly closed: Promise<void>;
  close(): void;
}

/** Events that the plugin subscribes to, as bits, or none for all. */
export interface TestPluginOptions {
  readonly name?: string;
  readonly index?: string;
  readonly events?: number;
}

/** Connects to the socket and registers. Rejects if that is refused. */
export async function testPlugin(
  socketPath: string,
  methods: PluginMethods,
  { name = "test", index = "00", events = 0 }: TestPluginOptions = {},
): Promise<TestPlugin> {
  const socket = connect(socketPath);
  await once(socket, "connect");
  const mux = new Mux(socket);
  const configured = Promise.withResolvers<ConfigureRequest>();
  const synchronized = Promise.withResolvers<readonly SynchronizeRequest[]>();
  const parts: SynchronizeRequest[] = [];
  const handlers: Record<string, (request: never) => Promise<unknown>> = {};
  for (const key of Object.keys(PluginDefinition.methods)) {
    handlers[key] = async (request: never) => {
      if (key === "configure") configured.resolve(request);
      if (key === "synchronize") {
        parts.push(request);
        if (!(request as SynchronizeRequest).more) synchronized.resolve(parts);
      }
      const method = methods[key as keyof PluginMethods] as
        | ((request: never) => Promise<unknown>)
        | undefined;
      if (method !== undefined) return method(request);
      if (key === "configure") return ConfigureResponse.fromPartial({ events });
      if (key === "synchronize") return { update: [], more: (request as SynchronizeRequest).more };
      throw new RpcError("Unimplemented", `no method ${key}`);
    };
  }
  serveTtrpc(mux.open(muxConnection.plugin), [
    { definition: PluginDefinition, handlers: handlers as Service["handlers"] },
  ]);
  const runtime = ttrpcClient(mux.open(muxConnection.runtime)).caller(RuntimeDefinition);
  try {
    await runtime.registerPlugin({ pluginName: name, pluginIdx: index, NRIVersion: "v0.12.2" });
  } catch (error) {
    mux.close();
    throw error;
  }
  return {
    configured: configured.promise,
    synchronized: synchronized.promise,
    runtime,
    closed: mux.closed,
    close: () => mux.close(),
  };
}
