import type { HealthCheck } from "./health.ts";
import type { Startup } from "./startup.ts";

/** The parts of a server that its checks look at. */
export interface CheckedParts {
  readonly storage: {
    /** The store responds and accepts writes, and the caches follow it. */
    readonly healthy: boolean;
    /** The caches follow the store. */
    readonly following: boolean;
  };
  readonly startup: Startup;
  /** Reports whether the server has begun to stop. */
  readonly hasEnded: () => boolean;
}

/**
 * Returns the checks of a server, by kube-apiserver's names and in its order. A check of something that this
 * server does not have is missing; the README lists them.
 *
 * Upstream: apiserver/pkg/server/config.go, options/etcd.go; pkg/controlplane; kube-aggregator/pkg/apiserver
 */
export function healthChecks({ storage, startup, hasEnded }: CheckedParts): readonly HealthCheck[] {
  const etcd = (): string | undefined =>
    storage.healthy ? undefined : "the store does not respond, refuses writes, or its watch has ended";
  return [
    { name: "ping", problem: () => undefined },
    { name: "etcd", problem: etcd },
    { name: "etcd-readiness", readiness: true, problem: etcd },
    {
      name: "informer-sync",
      readiness: true,
      problem: () => (storage.following ? undefined : "the caches do not follow the store"),
    },
    ...startup.steps.map((step) => ({
      // The only step that is not a hook to upstream.
      name: step === "autoregister-completion" ? step : `poststarthook/${step}`,
      problem: () => (startup.has(step) ? undefined : "not finished"),
    })),
    {
      name: "shutdown",
      readiness: true,
      problem: () => (hasEnded() ? "process is shutting down" : undefined),
    },
  ];
}
