import { quoted } from "@dray/api";
import type { ApiResponse } from "@dray/client";
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

/** Formats the checks as the metric for service level indicators (`/metrics/slis`, KEP-3466). */
export function healthText(checks: readonly HealthCheck[]): string {
  const lines = ["# TYPE kubernetes_healthcheck gauge"];
  for (const { name, readiness, problem } of checks) {
    for (const type of readiness ? ["readyz"] : ["healthz", "livez", "readyz"]) {
      lines.push(`kubernetes_healthcheck{name="${name}",type="${type}"} ${problem() === undefined ? 1 : 0}`);
    }
  }
  return `${lines.join("\n")}\n`;
}
