import { quoted } from "@dray/api";
import type { ApiResponse, HealthMetrics } from "@dray/client";
import { bodyResponse, textResponse } from "../http/response.ts";

/** A check of `/healthz`, `/livez` and `/readyz`. */
export interface HealthCheck {
  readonly name: string;
  /** Only for `/readyz`: whether requests should be sent here, not whether the process works. */
  readonly readiness?: boolean;
  /** Returns why the check fails; undefined if it passes. */
  readonly problem: () => string | undefined;
}

const roots = ["/healthz", "/livez", "/readyz"];

/**
 * Responds to the health paths: `ok`, one check, or with `?verbose` each of them. Undefined for other paths.
 *
 * Upstream: apiserver/pkg/server/healthz/healthz.go, handleRootHealth, adaptCheckToHandler
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
  const unknown = new Set(excluded);
  const lines: string[] = [];
  let failed = false;
  for (const { name, problem } of own) {
    if (excluded.has(name)) {
      unknown.delete(name);
      lines.push(`[+]${name} excluded: ok`);
    } else if (problem() === undefined) {
      lines.push(`[+]${name} ok`);
    } else {
      failed = true;
      // Everybody may ask: the reason is at the path of the check, which requires a right.
      lines.push(`[-]${name} failed: reason withheld`);
    }
  }
  if (unknown.size > 0) {
    const names = [...unknown].sort().map((name) => quoted(name));
    lines.push(`warn: some health checks cannot be excluded: no matches for ${names.join(",")}`);
  }
  if (!failed && !query.has("verbose")) return textResponse(200, "ok");
  lines.push(`${root.slice(1)} check ${failed ? "failed" : "passed"}`);
  return textResponse(failed ? 500 : 200, `${lines.join("\n")}\n`);
}

function oneCheck(check: HealthCheck | undefined): ApiResponse {
  if (check === undefined) return textResponse(404, "404 page not found\n");
  const problem = check.problem();
  if (problem !== undefined) return textResponse(500, `internal server error: ${problem}\n`);
  const headers = { "cache-control": "no-cache, private", "content-type": "text/plain; charset=utf-8" };
  return bodyResponse(200, headers, () => "ok");
}

const healthTypes = ["healthz", "livez", "readyz"] as const;

/** Makes all checks for the metrics of service level indicators (`/metrics/slis`, KEP-3466). */
export function observeAll(checks: readonly HealthCheck[], metrics: HealthMetrics): void {
  for (const { name, readiness, problem } of checks) {
    const passes = problem() === undefined;
    for (const type of readiness ? (["readyz"] as const) : healthTypes) metrics.observe(name, type, passes);
  }
}
