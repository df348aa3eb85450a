import { StatusError } from "@dray/api";
import type { Budget } from "@dray/streams";
import { isLongRunning } from "../request/long-running.ts";
import type { Filter } from "./call.ts";

/**
 * Limits the logs, commands, forwarded ports and proxied requests in progress: each is a connection of its
 * own to another server, many share one of the client, and neither seats nor timeouts apply to them.
 * kube-apiserver has no limit, and fails to dial when it may open no more files.
 */
export function withPassedOnLimit({ passedOn }: { readonly passedOn: Budget }): Filter {
  return (next) => (call) => {
    const { request, info } = call;
    const isPassedOn = info.verb !== "watch" && isLongRunning(info);
    // A caller in this process may never abort its signal.
    if (!isPassedOn || request.credential.type === "user") return next(call);
    if (!passedOn.take()) throw tooMany(passedOn.max);
    const { signal } = request;
    if (signal.aborted) passedOn.free();
    else signal.addEventListener("abort", () => passedOn.free(), { once: true });
    return next(call);
  };
}

function tooMany(max: number): StatusError {
  return StatusError.of(
    "TooManyRequests",
    `${max} logs, commands, forwarded ports and proxied requests are in progress, as many as the server's limit of open files allows (\`ulimit -n\`): try again later`,
    { retryAfterSeconds: 1 },
  );
}
