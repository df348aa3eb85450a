import { lstat } from "node:fs/promises";
import { type Caller, type Channel, RpcError, unixChannel } from "@dray/rpc";
import { ImageServiceDefinition, RuntimeServiceDefinition } from "@dray/rpc/cri/v1";
import { RuntimeError } from "../error.ts";

/** Maximum size of a response in bytes. Upstream: staging/src/k8s.io/cri-client/pkg/utils.go, maxMsgSize. */
const maxMessageBytes = 16 << 20;
/** Timeout of ordinary calls in milliseconds (`runtimeRequestTimeout`). */
export const requestTimeout = 120_000;

/** A connection to a runtime that speaks CRI v1. It reconnects after a restart of the runtime. */
export interface CriConnection {
  readonly runtime: Caller<typeof RuntimeServiceDefinition>;
  readonly images: Caller<typeof ImageServiceDefinition>;
  /** Name of the runtime: `containerd`, `cri-o`. */
  readonly name: string;
  readonly version: string;
  close(): void;
}

/** Path of a runtime's socket, from `/run/containerd/containerd.sock` with or without `unix://`. */
function socketPath(endpoint: string): string {
  const path = endpoint.startsWith("unix://") ? endpoint.slice("unix://".length) : endpoint;
  if (path.startsWith("/")) return path;
  throw new RuntimeError(
    "RuntimeUnavailable",
    `container runtime ${JSON.stringify(endpoint)} must be the absolute path of a unix socket, with or without unix://`,
  );
}

/**
 * Connects to the runtime, and gets its name. Rejects within `connectTimeout` milliseconds with what is
 * missing and what would help.
 */
export async function connectCri(endpoint: string, connectTimeout: number): Promise<CriConnection> {
  const path = socketPath(endpoint);
  const refuse = (why: string, cause?: unknown): RuntimeError =>
    new RuntimeError("RuntimeUnavailable", `container runtime ${path}: ${why}`, { cause });
  try {
    if (!(await lstat(path)).isSocket()) throw refuse("is not a socket");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT" && code !== "ENOTDIR") throw error;
    throw refuse("there is no such socket: start containerd or CRI-O, or name the socket that it listens on");
  }
  const channel: Channel = unixChannel(path, { maxReceiveBytes: maxMessageBytes });
  try {
    await channel.ready(connectTimeout).catch((error: unknown) => {
      throw refuse("nothing answers on the socket: is the runtime running?", error);
    });
    const runtime = channel.caller(RuntimeServiceDefinition);
    const { runtimeName, runtimeVersion } = await runtime
      .version({ version: "v1" }, { timeout: connectTimeout })
      .catch((error: unknown) => {
        if (!RpcError.is(error, "Unimplemented")) throw refuse((error as Error).message, error);
        const help = "containerd needs version 1.6 or later, and its CRI plugin must not be disabled";
        throw refuse(`does not serve runtime.v1.RuntimeService (CRI v1); ${help}`, error);
      });
    const images = channel.caller(ImageServiceDefinition);
    return { runtime, images, name: runtimeName, version: runtimeVersion, close: () => channel.close() };
  } catch (error) {
    channel.close();
    throw error;
  }
}
