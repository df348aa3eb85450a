import type { Container, Pod, PodSpec } from "@dray/api/core/v1";
import { baseline } from "./baseline.ts";
import type { Level, Subject, Violation } from "./check.ts";
import { restricted as hardened } from "./restricted.ts";

const checks = [...baseline, ...hardened];

/** Returns the violations of a level by a pod. */
export function violations(
  level: Level,
  minor: number,
  pod: {
    readonly metadata?: { readonly annotations?: Pod["metadata"]["annotations"] };
    readonly spec: PodSpec;
  },
): Violation[] {
  if (level === "privileged") return [];
  const { spec } = pod;
  const subject: Subject = {
    annotations: pod.metadata?.annotations ?? {},
    spec,
    containers: [
      ...(spec.initContainers ?? []),
      ...(spec.containers ?? []),
      ...((spec.ephemeralContainers ?? []) as Container[]),
    ],
  };
  const restricted = level === "restricted";
  return checks.flatMap((check) => {
    if (minor < (check.since ?? 0) || (check.level === "restricted" && !restricted)) return [];
    if (restricted && minor >= (check.replacedSince ?? Number.POSITIVE_INFINITY)) return [];
    return check.run(subject, minor) ?? [];
  });
}
