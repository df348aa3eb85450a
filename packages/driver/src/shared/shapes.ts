import { PoolError } from "../types/errors.ts";

/**
 * Checks of what a driver's author returns: TypeScript has seen the types of a driver, JavaScript has not,
 * and what `discover` reads from a file or a device is often a cast. The API server checks the rest.
 */
function shown(value: unknown): string {
  if (typeof value === "function") return "a function";
  if (value instanceof Promise) return "a Promise";
  let text: string | undefined;
  try {
    text = JSON.stringify(value, (_, one: unknown) => (typeof one === "bigint" ? Number(one) : one));
  } catch {
    text = undefined;
  }
  if (text === undefined) return String(value);
  return text.length > 80 ? `${text.slice(0, 80)}...` : text;
}

/** An error of what has a wrong shape: where, what is there, what would be accepted. */
export function wrongShape(path: string, value: unknown, accepted: string): string {
  return `${path}: ${shown(value)} must be ${accepted}`;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function list(path: string, value: unknown, accepted: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new PoolError(wrongShape(path, value, accepted));
  return value;
}

function object(path: string, value: unknown, accepted: string): Record<string, unknown> {
  if (!isObject(value)) throw new PoolError(wrongShape(path, value, accepted));
  return value;
}

const dnsLabel = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;

function name(path: string, value: unknown): void {
  if (typeof value !== "string" || value.length > 63 || !dnsLabel.test(value)) {
    throw new PoolError(
      wrongShape(path, value, "a DNS label: at most 63 lower-case letters, digits and dashes"),
    );
  }
}

/** Throws a PoolError if `pools`, which `discover` yielded, is not a list of pools. */
export function checkPools(pools: unknown): void {
  for (const [i, one] of list("pools", pools, "a list of pools").entries()) {
    const at = `pools[${i}]`;
    const pool = object(at, one, "a pool, an object with devices");
    if (pool["name"] !== undefined && (typeof pool["name"] !== "string" || pool["name"] === "")) {
      throw new PoolError(wrongShape(`${at}.name`, pool["name"], "a string that is not empty"));
    }
    const { generation, allNodes, nodeSelector } = pool;
    if (generation !== undefined && !(Number.isSafeInteger(generation) && (generation as number) >= 0)) {
      throw new PoolError(wrongShape(`${at}.generation`, generation, "an integer from 0 on"));
    }
    if (allNodes !== undefined && allNodes !== true)
      throw new PoolError(wrongShape(`${at}.allNodes`, allNodes, "true, or absent"));
    if (nodeSelector !== undefined)
      object(`${at}.nodeSelector`, nodeSelector, "an object, a NodeSelector with one term");
    if (pool["skipNodeOperations"] !== undefined)
      list(`${at}.skipNodeOperations`, pool["skipNodeOperations"], "a list of operations");
    for (const [j, each] of list(`${at}.devices`, pool["devices"], "a list of devices").entries()) {
      const device = object(`${at}.devices[${j}]`, each, "a device, an object with a name");
      name(`${at}.devices[${j}].name`, device["name"]);
      for (const field of ["attributes", "capacity"] as const) {
        if (device[field] !== undefined)
          object(`${at}.devices[${j}].${field}`, device[field], "an object, by name");
      }
      for (const field of ["taints", "consumesCounters"] as const) {
        if (device[field] !== undefined) list(`${at}.devices[${j}].${field}`, device[field], "a list");
      }
    }
    if (pool["sharedCounters"] === undefined) continue;
    const sets = list(`${at}.sharedCounters`, pool["sharedCounters"], "a list of counter sets");
    for (const [j, each] of sets.entries()) {
      const set = object(`${at}.sharedCounters[${j}]`, each, "a counter set, an object with a name");
      name(`${at}.sharedCounters[${j}].name`, set["name"]);
    }
  }
}

/** Throws an Error if `devices`, which `health` yielded, is not a list of devices with their health. */
export function checkHealth(devices: unknown): void {
  if (!Array.isArray(devices)) throw new Error(wrongShape("health()", devices, "a list of devices"));
  for (const [i, one] of devices.entries()) {
    const at = `health()[${i}]`;
    if (!isObject(one)) throw new Error(wrongShape(at, one, "an object {pool, device, health}"));
    for (const field of ["pool", "device"] as const) {
      if (typeof one[field] !== "string" || one[field] === "")
        throw new Error(wrongShape(`${at}.${field}`, one[field], "a string that is not empty"));
    }
    if (!["Healthy", "Unhealthy", "Unknown"].includes(one["health"] as string))
      throw new Error(wrongShape(`${at}.health`, one["health"], "Healthy, Unhealthy or Unknown"));
    if (one["message"] !== undefined && typeof one["message"] !== "string")
      throw new Error(wrongShape(`${at}.message`, one["message"], "a string"));
  }
}
