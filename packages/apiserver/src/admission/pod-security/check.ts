import type { Container, PodSpec, SecurityContext } from "@dray/api/core/v1";

export type Level = "privileged" | "baseline" | "restricted";

/** Violation by a pod: a short reason and the details. */
export interface Violation {
  readonly reason: string;
  readonly detail: string;
}

export interface Subject {
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: PodSpec;
  readonly containers: readonly Container[];
}

/** One rule of the Pod Security Standards. `minor` is the release of the rules: 36 for 1.36. */
export interface Check {
  readonly level: Exclude<Level, "privileged">;
  /** First release with the check. */
  readonly since?: number;
  /** First release in which a check of the restricted level replaces it. */
  readonly replacedSince?: number;
  readonly run: (subject: Subject, minor: number) => Violation | undefined;
}

export const joined = (items: Iterable<string>): string => [...items].map((item) => `"${item}"`).join(", ");
export const plural = (one: string, many: string, count: number): string => (count === 1 ? one : many);
export const sorted = (items: Iterable<string>): string[] => [...new Set(items)].sort();
export const containersText = (names: readonly string[]): string =>
  `${plural("container", "containers", names.length)} ${joined(names)}`;

export function named(
  subject: Subject,
  bad: (container: Container, context: SecurityContext) => unknown,
): string[] {
  return subject.containers
    .filter((container) => bad(container, container.securityContext ?? {}))
    .map(({ name }) => name);
}

/** Lists the parts of a pod that set a field to a forbidden value: `pod and container "c"`. */
export function setters(pod: boolean, containers: readonly string[]): string[] {
  return [...(pod ? ["pod"] : []), ...(containers.length > 0 ? [containersText(containers)] : [])];
}

export const isWindows = ({ spec }: Subject): boolean => spec.os?.name === "windows";
/** With a user namespace, root in the pod is not root on the node (KEP-127). */
export const hasOwnUsers = ({ spec }: Subject, minor: number): boolean =>
  minor >= 35 && spec.hostUsers === false;

const badSeccomp = (type: string | undefined): boolean =>
  type !== undefined && type !== "RuntimeDefault" && type !== "Localhost";

/** A seccomp profile that is not allowed. */
export function seccompProblem(subject: Subject): Violation | undefined {
  const podType = subject.spec.securityContext?.seccompProfile?.type;
  const containers = named(subject, (_, context) => badSeccomp(context.seccompProfile?.type));
  const who = setters(badSeccomp(podType), containers);
  if (who.length === 0) return undefined;
  const types = [podType, ...subject.containers.map((each) => each.securityContext?.seccompProfile?.type)];
  const values = sorted(types.filter((type) => type !== undefined).filter(badSeccomp));
  return {
    reason: "seccompProfile",
    detail: `${who.join(" and ")} must not set securityContext.seccompProfile.type to ${joined(values)}`,
  };
}

/** A mount type of /proc that exposes more of the node. */
export function procMountProblem(subject: Subject): Violation | undefined {
  const bad = ({ procMount }: SecurityContext): boolean => procMount !== undefined && procMount !== "Default";
  const containers = named(subject, (_, context) => bad(context));
  if (containers.length === 0) return undefined;
  const types = subject.containers.flatMap(({ securityContext }) => {
    const { procMount } = securityContext ?? {};
    return procMount !== undefined && bad({ procMount }) ? [procMount] : [];
  });
  return {
    reason: "procMount",
    detail: `${containersText(containers)} must not set securityContext.procMount to ${joined(sorted(types))}`,
  };
}
