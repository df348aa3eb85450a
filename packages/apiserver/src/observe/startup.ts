/** Conditions of the steps of a start. */
export interface StartConditions {
  /** `36` of release 1.36 */
  readonly minor: number;
  /** API Priority and Fairness is enabled. */
  readonly hasFlowControl: boolean;
}

/** Steps of the start by kube-apiserver's names of its post-start hooks, in the order of its checks. */
const steps = {
  "start-apiserver-admission-initializer": undefined,
  "generic-apiserver-start-informers": undefined,
  "priority-and-fairness-config-consumer": ({ hasFlowControl }) => hasFlowControl,
  "priority-and-fairness-filter": ({ hasFlowControl }) => hasFlowControl,
  "max-in-flight-filter": ({ hasFlowControl }) => !hasFlowControl,
  "start-apiextensions-informers": undefined,
  "start-apiextensions-controllers": undefined,
  "crd-informer-synced": undefined,
  "start-system-namespaces-controller": undefined,
  "start-cluster-authentication-info-controller": undefined,
  // Since 1.36 by default: feature gate WatchCacheInitializationPostStartHook.
  "storage-readiness": ({ minor }) => minor >= 36,
  "start-legacy-token-tracking-controller": undefined,
  "start-service-ip-repair-controllers": undefined,
  "rbac/bootstrap-roles": undefined,
  "scheduling/bootstrap-system-priority-classes": undefined,
  "priority-and-fairness-config-producer": undefined,
  "bootstrap-controller": undefined,
  "start-kubernetes-service-cidr-controller": undefined,
  "start-kube-aggregator-informers": undefined,
  "apiservice-status-local-available-controller": undefined,
  "apiservice-status-remote-available-controller": undefined,
  "apiservice-registration-controller": undefined,
  "apiservice-discovery-controller": undefined,
  "kube-apiserver-autoregistration": undefined,
  "autoregister-completion": undefined,
  "apiservice-openapi-controller": undefined,
  "apiservice-openapiv3-controller": undefined,
} as const satisfies Record<string, ((conditions: StartConditions) => boolean) | undefined>;

export type StartStep = keyof typeof steps;

/** The steps of a server's start, and which of them are complete. */
export class Startup {
  /** Those that this server takes, in the order of their checks. */
  readonly steps: readonly StartStep[];
  readonly #completed = new Set<StartStep>();

  constructor(conditions: StartConditions) {
    const all = Object.entries(steps) as [
      StartStep,
      ((conditions: StartConditions) => boolean) | undefined,
    ][];
    this.steps = all.filter(([, isTaken]) => isTaken?.(conditions) ?? true).map(([step]) => step);
  }

  complete(...completed: readonly StartStep[]): void {
    for (const step of completed) this.#completed.add(step);
  }

  has(step: StartStep): boolean {
    return this.#completed.has(step);
  }
}
