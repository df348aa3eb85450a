import type { Pod } from "@dray/api/core/v1";
import { isPodTerminal } from "@dray/api/pod";
import { ItemBackOff } from "@dray/client";
import { ImageManager } from "../images/manager.ts";
import { PodBounds } from "../resources/pod-bounds.ts";
import { PodResize } from "../resources/resize.ts";
import { StatusReporter } from "../status/status-reporter.ts";
import type { PodEnd } from "../types/pod-end.ts";
import { crashBackOff, StartBackOff } from "./back-off.ts";
import { type Observed, observePod } from "./observed.ts";
import type { PodMemory } from "./pod-actions.ts";
import { PodEvents } from "./pod-events.ts";
import { PodVolumes } from "./pod-volumes.ts";
import { Stops } from "./stops.ts";
import type { WorkerContext } from "./worker-context.ts";

/** Everything that the agent remembers of one pod, and that the steps of its worker share. */
export class PodState {
  readonly uid: string;
  readonly context: WorkerContext;
  readonly events: PodEvents;
  readonly images: ImageManager;
  readonly stops: Stops;
  readonly statuses: StatusReporter;
  readonly volumes: PodVolumes;
  readonly resize: PodResize;
  readonly bounds: PodBounds;
  /** Back-off of containers that have ended, by `crashKey`. */
  readonly crashes: ItemBackOff;
  /** Back-off of the set-up, by `podKey`, and of starts that failed, by name of the container. */
  readonly starts: StartBackOff;
  /** Newest object; undefined for a pod that was gone before this agent started. */
  pod: Pod | undefined;
  /** Why the agent ends the pod. */
  failure: PodEnd | undefined;
  /** The node did not admit the pod; `failure` says why. */
  rejected = false;
  admitted = false;
  /** Why containers wait to be restarted, by name. */
  waiting: ReadonlyMap<string, { readonly reason: string; readonly message?: string }> = new Map();
  /** Why containers could not be started, by name. */
  readonly failedStarts = new Map<string, { reason: string; message: string }>();
  /** True while all containers are restarted in place; undefined before the first look at the pod. */
  restarting: boolean | undefined;
  /** Attempt of the next container, by name, after all were removed to be restarted. */
  readonly nextAttempts = new Map<string, number>();
  /** IDs of containers that are stopped to be replaced. */
  readonly replaced = new Set<string>();
  /** When a driver first failed to unprepare claims of a pod that is gone, by its name. */
  readonly lateDrivers = new Map<string, number>();
  /** When the agent saw the pod for the first time, in milliseconds since the epoch. */
  readonly firstSeen: number;
  /** The pod has run. */
  hasRun = false;
  /** No container runs or will run, and the claims are unprepared. */
  ended = false;
  /** Nothing of the pod is left on the node. */
  done = false;
  /** Resolves when the end of the pod has been reported. */
  readonly endReported = Promise.withResolvers<void>();

  constructor(uid: string, context: WorkerContext) {
    const { clock, log, client, signal, runtime } = context;
    this.uid = uid;
    this.firstSeen = clock.now();
    this.context = context;
    this.events = new PodEvents(context.events);
    this.crashes = new ItemBackOff(clock, ...crashBackOff);
    this.starts = new StartBackOff(clock);
    this.statuses = new StatusReporter(client, log);
    this.volumes = new PodVolumes(uid, context, this.events);
    this.resize = new PodResize(context.bounds);
    this.bounds = new PodBounds(runtime.service, context.bounds);
    const event = context.events.event.bind(context.events);
    const { images, service } = runtime;
    const { nodeNetwork } = service;
    this.images = new ImageManager({ client, images, nodeNetwork, clock, signal, event });
    this.stops = new Stops({
      runtime: runtime.service,
      clock,
      log,
      event,
      ended: (milliseconds) =>
        milliseconds === 0 ? context.requeue(uid) : context.requeueAfter(uid, milliseconds),
    });
  }

  observe(): Promise<Observed> {
    return observePod(this.context.runtime.service, this.uid, this.pod);
  }

  /** Containers of the pod may be started. */
  mayRun(pod: Pod): boolean {
    return pod.metadata.deletionTimestamp === undefined && this.failure === undefined && !isPodTerminal(pod);
  }

  /** Records a failure, and requeues the pod for the next attempt. */
  retryLater(key: string): void {
    this.context.requeueAfter(this.uid, this.starts.failed(key));
  }

  /** The input of `computePodActions`. */
  memory(pod: Pod): PodMemory {
    return {
      failure: this.failure,
      ended: this.ended,
      restarting: this.restarting ?? false,
      stopping: this.stops.running,
      replaced: this.replaced,
      nextAttempts: this.nextAttempts,
      setUpWait: this.starts.left(podKey),
      volumesWait: this.volumes.refreshIn(pod),
      startWait: (name) => this.starts.left(name),
      crashBackOff: (key, ended) => ({
        delay: this.crashes.delay(key),
        left: this.crashes.left(key, ended),
      }),
    };
  }
}

/** The key of the pod's set-up in `PodState.starts`, beside the names of its containers. */
export const podKey = "";
