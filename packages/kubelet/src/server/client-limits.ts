import { StatusError } from "@dray/api";
import { Budget, ConnectionLimit, maxConnections, shareOfFiles } from "@dray/streams";

/** Limits of the clients of all nodes of a process. */
export interface ClientLimits {
  readonly connections: ConnectionLimit;
  /** Logs, commands and forwarded ports: each takes a few files of its own. */
  readonly streams: Budget;
}

/** Limits for all nodes of a process: half of its files is left for pods, and for connections of Services. */
export function clientLimits(): ClientLimits {
  return {
    connections: new ConnectionLimit(maxConnections(1 / 4)),
    streams: new Budget(shareOfFiles(1 / 16)),
  };
}

/** Takes a stream until `end` closes. Throws 429 if there are too many. */
export function takeStream(
  { streams }: ClientLimits,
  end: { readonly destroyed: boolean; once(event: "close", free: () => void): unknown },
): void {
  if (end.destroyed) return;
  if (!streams.take())
    throw StatusError.of(
      "TooManyRequests",
      `${streams.max} logs, commands and forwarded ports are open on the nodes of this process, as many as its limit of open files allows (\`ulimit -n\`): end some, or raise it`,
    );
  end.once("close", () => streams.free());
}
