import type { ApiResponse } from "@dray/client";
import { textResponse } from "./response.ts";

/** A check of `/healthz`, `/livez` and `/readyz`: its name, and whether it passes. */
export interface HealthCheck {
  readonly name: string;
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
  const one = path.slice(root.length + 1);
  const excluded = query.getAll("exclude");
  const chosen =
    one === ""
      ? checks.filter(({ name }) => !excluded.includes(name))
      : checks.filter(({ name }) => name === one);
  if (one !== "" && chosen.length === 0) return textResponse(404, "404 page not found\n");
  const results = chosen.map(({ name, passes }) => ({ name, passed: passes() }));
  const failed = results.some(({ passed }) => !passed);
  if (!failed && (one !== "" || !query.has("verbose"))) return textResponse(200, "ok");
  const lines = results.map(({ name, passed }) =>
    passed ? `[+]${name} ok` : `[-]${name} failed: reason withheld`,
  );
  const last = `${root.slice(1)} check ${failed ? "failed" : "passed"}`;
  return textResponse(failed ? 500 : 200, `${lines.join("\n")}\n${last}\n`);
}
