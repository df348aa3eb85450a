import { quoted } from "@dray/api";
import type { ApiResponse } from "@dray/client";
import { bodyResponse, textResponse } from "../http/response.ts";

/** A check of `/healthz`, `/livez` and `/readyz`. */
export interface HealthCheck {
  readonly name: string;
  /** Only for `/readyz`: whether requests should be sent here, not whether the process works. */
  readonly readiness?: boolean;
  readonly passes: () => boolean;
}

const roots = ["/healthz", "/livez", "/readyz"];

/**
 * Responds to the health paths: `ok`, one check, or with `?verbose` each of them. Undefined for other paths.
 */
export function healthResponse(
  path: string,
  query: URLSearchParams,
  checks: readonly HealthCheck[],
): ApiResponse | undefined {
  const root = roots.find((candidate) => path === candidate || path.startsWith(`${candidate}/`));
  if (root === undefined) return undefined;
  const own = checks.filter(({ readiness }) => readiness !== true || root === "/readyz");
  if (path !== root) return oneCheck(own.find(({ name }) => path === `${root}/${name}`));
  const excluded = new Set(query.getAll("exclude"));
  const lines: string[] = [];
  let failed = false;
  for (const { name, passes } of own) {
    if (excluded.delete(name)) {
      lines.push(`[+]${name} excluded: ok`);
    } else if (passes()) {
      lines.push(`[+]${name} ok`);
    } else {
      failed = true;
      lines.push(`[-]${name} failed: reason withheld`);
    }
  }
  if (excluded.size > 0) {
    const names = [...excluded].sort().map((name) => quoted(name));
    lines.push(`warn: some health checks cannot be excluded: no matches for ${names.join(",")}`);
  }
  if (!failed && !query.has("verbose")) return textResponse(200, "ok");
  lines.push(`${root.slice(1)} check ${failed ? "failed" : "passed"}`);
  return textResponse(failed ? 500 : 200, `${lines.join("\n")}\n`);
}

function oneCheck(check: HealthCheck | undefined): ApiResponse {
  if (check === undefined) return textResponse(404, "404 page not found\n");
  if (!check.passes()) return textResponse(500, "internal server error: reason withheld\n");
  const headers = { "cache-control": "no-cache, private", "content-type": "text/plain; charset=utf-8" };
  return bodyResponse(200, headers, () => "ok");
}

/** Start-up steps, by kube-apiserver's names. */
const afterStart = [
  "start-apiserver-admission-initializer",
  "generic-apiserver-start-informers",
  "start-system-namespaces-controller",
  "rbac/bootstrap-roles",
  "scheduling/bootstrap-system-priority-classes",
  "bootstrap-controller",
];

/** Returns the checks of a server on this storage; `ended` reports whether it has stopped. */
export function healthChecks(
  storage: { readonly healthy: boolean },
  ended: () => boolean,
): readonly HealthCheck[] {
  return [
    { name: "ping", passes: () => true },
    { name: "log", passes: () => true },
    { name: "etcd", passes: () => storage.healthy },
    { name: "etcd-readiness", readiness: true, passes: () => storage.healthy },
    { name: "informer-sync", readiness: true, passes: () => true },
    // These steps are done before the server accepts requests.
    ...afterStart.map((name) => ({ name: `poststarthook/${name}`, passes: () => true })),
    { name: "shutdown", readiness: true, passes: () => !ended() },
  ];
}

/** Formats the checks as the metric for service level indicators (`/metrics/slis`, KEP-3466). */
export function healthText(checks: readonly HealthCheck[]): string {
  const lines = ["# TYPE kubernetes_healthcheck gauge"];
  for (const { name, readiness, passes } of checks) {
    for (const type of readiness ? ["readyz"] : ["healthz", "livez", "readyz"]) {
      lines.push(`kubernetes_healthcheck{name="${name}",type="${type}"} ${passes() ? 1 : 0}`);
    }
  }
  return `${lines.join("\n")}\n`;
}
