import type { Pod } from "@dray/api/core/v1";
import type { Container, Sandbox } from "../runtime/service.ts";
import type { StartableContainer } from "../types/containers.ts";
import type { PodEnd } from "../types/pod-end.ts";

/** What the planner looks at: a pod, what there is of it, and what the agent remembers. */
export interface PodView {
  readonly pod: Pod;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** The latest first. */
  readonly sandboxes: readonly Sandbox[];
  /** By name, the latest first. */
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

/** What the agent remembers of a pod beside what the runtime and the API server have. */
export interface PodMemory {
  /** Set when the agent has given the pod up: DeadlineExceeded, OutOfcpu, Evicted, ... */
  readonly failure: PodEnd | undefined;
  /** Nothing of the pod runs and its claims are let go. */
  readonly ended: boolean;
  /** All containers are being restarted in place (KEP-5532). */
  readonly restarting: boolean;
  /** By container id: until when the one that is being stopped may take its time. */
  readonly stopping: ReadonlyMap<string, number>;
  /** By container id: it was stopped because its part of the pod has changed. */
  readonly replaced: ReadonlySet<string>;
  /** By name: which attempt the next container is, after all were removed to be restarted. */
  readonly nextAttempts: ReadonlyMap<string, number>;
  /** Milliseconds until the pod may be set up again; 0 if now. */
  readonly setUpWait: number;
  /** Milliseconds until the volumes of the running pod are due to be refreshed; 0 if now, undefined if never. */
  readonly volumesWait: number | undefined;
  /** Milliseconds until a container whose start failed may be tried again; 0 if now. */
  startWait(name: string): number;
  /**
   * How long to wait from `ended` on until a container that crashed is started again, and how much of that is left.
   * `key`: its `crashKey`, or the condition of a restart of all.
   */
  crashBackOff(key: string, ended: number): { readonly delay: number; readonly left: number };
}

/** One thing to do. They are done in their order, each when the one before has been done. */
export type PodAction =
  /** The pod is given up: from now on it ends. */
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
      /** When the container before it ended, if it is restarted because of that. */
      readonly crashedAt: number | undefined;
    }
  /** Begins to stop a container, or hurries a stop that takes longer than it now may. */
  | {
      readonly type: "stop";
      readonly spec: StartableContainer;
      readonly container: Container;
      readonly graceSeconds: number;
      /** Of the Killing event. */
      readonly message: string;
      /** Its part of the pod has changed: another is started in its place, whatever the pod's policy is. */
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
  /** Milliseconds until another look is due, should nothing happen before. */
  readonly lookAgain: number | undefined;
}
