import type { FieldErrors } from "./field.ts";

type Counts = Readonly<Record<string, unknown>>;

interface PartOptions {
  /** Numbers that are no greater than `replicas`. */
  readonly parts?: readonly string[];
  /** How a message names `readyReplicas`. */
  readonly ready?: string;
}

/** Numbers of a status: none below 0, and those of a part no greater than the whole. */
export function checkCounts(
  errors: FieldErrors,
  status: object | undefined,
  names: readonly string[],
  { parts = [], ready = "readyReplicas" }: PartOptions = {},
): void {
  const counts = (status ?? {}) as Counts;
  const count = (name: string): number => Number(counts[name] ?? 0);
  for (const name of names)
    errors
      .at("status")
      .at(name)
      .notNegative(counts[name] as number | undefined);
  for (const name of parts) {
    if (count(name) > count("replicas")) {
      errors.at("status").at(name).invalid(count(name), "cannot be greater than status.replicas");
    }
  }
  if (parts.includes("availableReplicas") && count("availableReplicas") > count("readyReplicas")) {
    errors
      .at("status.availableReplicas")
      .invalid(count("availableReplicas"), `cannot be greater than ${ready}`);
  }
}

interface Collisions {
  readonly collisionCount?: number;
}

export function checkCollisions(
  errors: FieldErrors,
  status: Collisions | undefined,
  old: Collisions | undefined,
): void {
  const [now, before] = [status?.collisionCount, old?.collisionCount];
  if (before !== undefined && (now === undefined || now < before)) {
    errors.at("status.collisionCount").invalid(now ?? 0, "cannot be decremented");
  }
}
