import type { ApiResponse } from "@dray/client";
import { bodyResponse, textResponse } from "./response.ts";

/** A check of `/healthz`, `/livez` and `/readyz`: its name, and whether it passes. */
export interface HealthCheck {
  readonly name: string;
  /** Only for `/readyz`: whether requests should be sent here, not whether the process works. */
  readonly readiness?: boolean;
  readonly passes: () => boolean;
}

const roots = ["/healthz", "/livez", "/readyz"];

/** Answers the health paths: `ok`, one check, or with `?verbose` each of them. Undefined for other paths. */
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
    const names = [...excluded].sort().map((name) => JSON.stringify(name));
    lines.push(`warn: some health checks cannot be excluded: no matches for ${names.join(",")}`);
  }
  if (!failed && !query.has("verbose")) return textResponse(200, "ok");
  lines.push(`${root.slice(1)} check ${failed ? "failed" : "passed"}`);
  return textResponse(failed ? 500 : 200, `${lines.join("\n")}\n`);
}

function oneCheck(check: HealthCheck | undefined): ApiResponse {
  if (check === undefined) return textResponse(404, "404 page not found\n");
  if (!check.passes()) return textResponse(500, "internal server error: reason withheld\n");
  return bodyResponse(200, { "content-type": "text/plain; charset=utf-8" }, () => "ok");
}
