import type { Pod } from "@dray/api/core/v1";
import type { Container, Sandbox } from "../runtime/service.ts";
import type { StartableContainer } from "../types/containers.ts";
import type { PodEnd } from "../types/pod-end.ts";

/** Input of `computePodActions`: a pod, its sandboxes and containers, and the agent's memory of it. */
export interface PodView {
  readonly pod: Pod;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Latest first. */
  readonly sandboxes: readonly Sandbox[];
  /** By name, latest first. */
  readonly containers: ReadonlyMap<string, readonly Container[]>;
  readonly memory: PodMemory;
  readonly probes: {
    /** The container's startup probe has succeeded, or it has none. */
    started(containerId: string): boolean;
    /** The probe that has failed for good. */
    failed(
      containerId: string,
    ): { readonly type: string; readonly graceSeconds?: number | undefined } | undefined;
  };
}

/** State of a pod that only the agent knows. */
export interface PodMemory {
  /** Why the agent ends the pod: DeadlineExceeded, OutOfcpu, Evicted, ... */
  readonly failure: PodEnd | undefined;
  /** No container runs, and the claims are unprepared. */
  readonly ended: boolean;
  /** All containers are being restarted in place (KEP-5532). */
  readonly restarting: boolean;
  /** Deadline of a container that is being stopped, by its ID. */
  readonly stopping: ReadonlyMap<string, number>;
  /** IDs of containers that were stopped because their spec has changed. */
  readonly replaced: ReadonlySet<string>;
  /** Attempt of the next container by name, after all were removed to be restarted. */
  readonly nextAttempts: ReadonlyMap<string, number>;
  /** Milliseconds until the set-up may be retried; 0 if now. */
  readonly setUpWait: number;
  /**
   * Milliseconds until the volumes of the running pod are due for a refresh; 0 if now, undefined if never.
   */
  readonly volumesWait: number | undefined;
  /** Milliseconds until a failed start may be retried; 0 if now. */
  startWait(name: string): number;
  /**
   * Delay after `ended` before a crashed container is restarted, and the rest of it. `key` is its `crashKey`,
   * or the condition of a restart of all containers.
   */
  crashBackOff(key: string, ended: number): { readonly delay: number; readonly left: number };
}

/** An action. Actions are performed in order, each after the one before. */
export type PodAction =
  /** Fails the pod: from now on it ends. */
  | { readonly type: "fail"; readonly reason: string; readonly message: string }
  /** Volumes, claims and a sandbox. */
  | { readonly type: "setUp" }
  | { readonly type: "refreshVolumes" }
  | { readonly type: "beginRestart" }
  /** Removes all containers, to be started anew with these attempts. */
  | { readonly type: "reset"; readonly attempts: ReadonlyMap<string, number>; readonly ended: number }
  | {
      readonly type: "start";
      readonly spec: StartableContainer;
      readonly sandbox: Sandbox;
      readonly attempt: number;
      /** When the previous container ended, if that is the reason of the start. */
      readonly crashedAt: number | undefined;
    }
  /** Begins to stop a container, or hurries a stop that takes longer than it now may. */
  | {
      readonly type: "stop";
      readonly spec: StartableContainer;
      readonly container: Container;
      readonly graceSeconds: number;
      /** Message of the Killing event. */
      readonly message: string;
      /** The spec has changed: another container replaces this one, whatever the pod's policy. */
      readonly replace: boolean;
    }
  /** Watches the probes of a container that runs. */
  | {
      readonly type: "watch";
      readonly spec: StartableContainer;
      readonly container: Container;
      readonly ip: string;
    }
  /** Removes a container that was created and not started: an agent was killed in between. */
  | { readonly type: "remove"; readonly container: Container }
  /** Nothing runs any more: sandboxes are stopped and claims let go. */
  | { readonly type: "cleanUp" };

export interface PodPlan {
  readonly actions: readonly PodAction[];
  /** Why containers wait to be restarted (`state.waiting`), by name. */
  readonly waiting: ReadonlyMap<string, { readonly reason: string; readonly message: string }>;
  /** Milliseconds until the plan has to be computed again without a change. */
  readonly lookAgain: number | undefined;
}
