import type { RequestInfo } from "./info.ts";

const verbs = new Set(["watch", "proxy"]);
const subresources = new Set(["attach", "exec", "log", "portforward", "proxy"]);

/**
 * Watches, logs and streams to a container last until the client ends them: neither the timeout nor the
 * limits on requests in flight apply.
 */
export function isLongRunning(info: RequestInfo): boolean {
  return verbs.has(info.verb) || subresources.has(info.subresource);
}
