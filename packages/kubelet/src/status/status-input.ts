import type { Container as ContainerSpec, Pod, ResourceStatus } from "@dray/api/core/v1";
import type { WholePod } from "../resources/pod-level-status.ts";
import type { PodResize } from "../resources/resize.ts";
import type { Container } from "../runtime/service.ts";
import type { PodEnd } from "../types/pod-end.ts";

/** What a status is made from: the pod, what the runtime has of it, and what the agent knows beside. */
export interface StatusInput {
  readonly pod: Pod;
  readonly now: number;
  /** What the ids of containers begin with: `host`. */
  readonly runtimeName: string;
  readonly nodeAddress: string;
  /** The runtime can make mounts read-only with all that is below them. */
  readonly recursiveReadOnly: boolean;
  /** Absent before there is a sandbox. */
  readonly podIP: string | undefined;
  readonly sandboxReady: boolean;
  /** All containers of the pod, by name, the latest first. */
  readonly containers: ReadonlyMap<string, readonly Container[]>;
  /** Why containers wait that do not run. */
  readonly waiting: ReadonlyMap<string, { readonly reason: string; readonly message?: string }>;
  /** By container id. */
  readonly started: (container: Container) => boolean;
  readonly ready: (container: Container) => boolean;
  /** The health of the devices of a container that is no init container, as `allocatedResourcesStatus` has it. */
  readonly allocatedResources: (container: ContainerSpec) => readonly ResourceStatus[];
  /** With which resources containers run, and what is said of a change; without it they run with those of the pod. */
  readonly resize?: Pick<PodResize, "actual" | "conditions">;
  /** What the pod as a whole has; absent where that is not reported. */
  readonly whole?: WholePod;
  /** All containers are stopped and removed, to be started anew. */
  readonly restarting: boolean;
  /** By name, of containers that were removed to be restarted: which attempt the next one is. */
  readonly nextAttempts: ReadonlyMap<string, number>;
  /** Set by the agent when it ended the pod: DeadlineExceeded, OutOfcpu, ... */
  readonly failure: PodEnd | undefined;
  /** No container of the pod will be started any more. */
  readonly ending: boolean;
  /** Nothing of the pod runs any more and everything is cleaned up. */
  readonly ended: boolean;
}
