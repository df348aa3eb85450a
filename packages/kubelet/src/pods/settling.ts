import type { Observed } from "./observed.ts";

/** Milliseconds for which a container has to run before the status of its pod says so. */
const settlingTime = 100;

/**
 * Returns the milliseconds until all containers that run have settled; 0 if they have. In releases before
 * 1.36 a container that ends before is never reported as running, so that its pod is not ready for a moment.
 *
 * Upstream: pkg/kubelet/pleg/generic.go, which observes a container at the next of its rounds, one a second
 * (`genericPlegRelistPeriod` in pkg/kubelet/kubelet.go). From 1.36 on (PLEGOnDemandRelist) it observes the
 * pod right after the start, too.
 */
export function settlesIn({ containers }: Pick<Observed, "containers">, now: number): number {
  const ages = [...containers.values()].flatMap(([latest]) =>
    latest?.state === "running" && latest.startedAt !== undefined ? [now - latest.startedAt] : [],
  );
  // A clock that was set back must not hold the status.
  return Math.max(0, ...ages.filter((age) => age >= 0).map((age) => settlingTime - age));
}
