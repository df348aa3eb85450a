import type { Container as ContainerSpec, Pod, ResourceStatus } from "@dray/api/core/v1";
import type { WholePod } from "../resources/pod-level-status.ts";
import type { PodResize } from "../resources/resize.ts";
import type { Container } from "../runtime/service.ts";
import type { PodEnd } from "../types/pod-end.ts";

/** Input of a status: the pod, its containers, and the state of the agent. */
export interface StatusInput {
  readonly pod: Pod;
  readonly now: number;
  /** Prefix of container IDs: `host`. */
  readonly runtimeName: string;
  readonly nodeAddress: string;
  /** The runtime supports mounts that are read-only recursively. */
  readonly recursiveReadOnly: boolean;
  /** Absent without a sandbox. */
  readonly podIP: string | undefined;
  readonly sandboxReady: boolean;
  /** All containers of the pod by name, latest first. */
  readonly containers: ReadonlyMap<string, readonly Container[]>;
  /** Why containers do not run, by name. */
  readonly waiting: ReadonlyMap<string, { readonly reason: string; readonly message?: string }>;
  /** By container id. */
  readonly started: (container: Container) => boolean;
  readonly ready: (container: Container) => boolean;
  /** Health of the devices of a main container, for `allocatedResourcesStatus`. */
  readonly allocatedResources: (container: ContainerSpec) => readonly ResourceStatus[];
  /** Actual resources of containers, and conditions of a resize; without it, those of the pod. */
  readonly resize?: Pick<PodResize, "actual" | "conditions">;
  /** Resources of the pod as a whole; absent if they are not reported. */
  readonly whole?: WholePod;
  /** All containers are being removed, to be started anew. */
  readonly restarting: boolean;
  /** Attempt of the next container by name, after a removal for a restart. */
  readonly nextAttempts: ReadonlyMap<string, number>;
  /** Why the agent ended the pod: DeadlineExceeded, OutOfcpu, ... */
  readonly failure: PodEnd | undefined;
  /** No container of the pod will be started. */
  readonly ending: boolean;
  /** No container runs, and everything is cleaned up. */
  readonly ended: boolean;
}
