import { type Features, StatusError } from "@dray/api";
import { Pod } from "@dray/api/core/v1";
import { isPodTerminal, isSidecar } from "@dray/api/pod";
import { type Client, type Clock, ItemBackOff, type Log } from "@dray/client";
import { crashBackOff, crashKey } from "../pods/back-off.ts";
import { computePodActions } from "../pods/compute-pod-actions.ts";
import type { PodAction, PodMemory, PodPlan } from "../pods/pod-actions.ts";
import { isRestarting } from "../pods/restarts.ts";
import type { Container, Sandbox } from "../runtime/service.ts";
import { restartingCondition } from "../status/conditions.ts";
import { podStatus, rejectedStatus } from "../status/pod-status.ts";
import { StatusReporter } from "../status/status-reporter.ts";
import { allContainers } from "../types/containers.ts";
import type { PodEnd } from "../types/pod-end.ts";
import type { Refusal } from "../types/refusal.ts";
import type { PodAddresses } from "./addresses.ts";
import { endedContainer, recovered, runtimeName, sandboxOf, startedContainer } from "./containers.ts";
import { lifeOf, type PodLife } from "./life.ts";

/** Dependencies that the pods of all simulated nodes share. */
export interface SimulatedPodContext {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly features: Features;
  readonly addresses: PodAddresses;
  /** Address of all simulated nodes. */
  readonly nodeAddress: string;
  /** Returns why the pod cannot use its claims yet; undefined if it can. */
  claimProblem(pod: Pod): string | undefined;
  /** Checks whether a new pod fits the node. */
  admit(pod: Pod): Refusal | undefined;
  requeueAfter(uid: string, milliseconds: number): void;
  event(pod: Pod, type: "Normal" | "Warning", reason: string, message: string): void;
}

/**
 * Milliseconds for which a pod may wait for its claims before an event: the watch of claims may be behind
 * that of pods.
 */
const claimsGrace = 1000;
/** Maximum number of plans in one `sync`; more are a bug in the plan. */
const maxRounds = 100;
const probes = { started: () => true, failed: () => undefined } as const;
/** Always empty, since containers end at once. */
const stopping: PodMemory["stopping"] = new Map();

/**
 * A pod on a simulated node. Its actions are computed as for any pod (`computePodActions`), and performed at
 * once: starting a container only records that it runs. The state follows from the pod's status, so that
 * another process can continue.
 */
export class SimulatedPod {
  readonly #context: SimulatedPodContext;
  readonly #statuses: StatusReporter;
  readonly #crashes: ItemBackOff;
  #pod: Pod;
  #sandbox: Sandbox | undefined;
  #containers: Map<string, readonly Container[]>;
  #failure: PodEnd | undefined;
  #rejected = false;
  #admitted: boolean;
  #restarting: boolean;
  readonly #nextAttempts = new Map<string, number>();
  readonly #replaced = new Set<string>();
  #waiting: PodPlan["waiting"] = new Map();
  /** Why no container can be started. */
  #malformed: string | undefined;
  /** When the pod began to wait for its claims. */
  #waitsSince: number | undefined;
  readonly #reported = new Set<string>();
  #ended = false;
  #isAddressReleased = false;

  constructor(pod: Pod, context: SimulatedPodContext) {
    const { clock, client, log, addresses } = context;
    this.#context = context;
    this.#pod = pod;
    this.#statuses = new StatusReporter(client, log);
    this.#crashes = new ItemBackOff(clock, ...crashBackOff);
    ({ sandbox: this.#sandbox, containers: this.#containers } = recovered(pod));
    this.#admitted = this.#sandbox !== undefined;
    this.#restarting = isRestarting(pod);
    for (const ip of this.#sandbox?.ips ?? []) addresses.occupy(ip);
  }

  get pod(): Pod {
    return this.#pod;
  }

  /** True while the pod counts against the node's resources. */
  get active(): boolean {
    return this.#admitted && !this.#ended && this.#failure === undefined;
  }

  /** True if a change of its claims may let it run. */
  get waitsForClaims(): boolean {
    return this.#waitsSince !== undefined;
  }

  /** Advances the pod, and reports its status. Rejects if the API server is unavailable. */
  async sync(pod: Pod): Promise<void> {
    this.#pod = pod;
    const isTerminal = isPodTerminal(pod);
    this.#advance();
    const waits = this.#waitsSince;
    if (waits !== undefined && this.#context.clock.now() - waits < claimsGrace) return;
    if (!isTerminal || this.#statuses.begun) await this.#report();
    if (this.#ended && pod.metadata.deletionTimestamp !== undefined) await this.#delete();
  }

  /** Forgets a pod that the API server no longer has. */
  forget(): void {
    this.#releaseAddress();
  }

  #advance(): void {
    if (!this.#admitted) {
      const refusal = this.#mayRun() ? this.#context.admit(this.#pod) : undefined;
      if (refusal !== undefined) {
        this.#failure = { ...refusal, message: `Pod was rejected: ${refusal.message}` };
        this.#rejected = true;
        this.#context.event(this.#pod, "Warning", refusal.reason, refusal.message);
      }
      this.#admitted = true;
    }
    for (let round = 0; round < maxRounds; round++) {
      const nextEnd = this.#endDue();
      const plan = this.#plan();
      this.#waiting = plan.waiting;
      const later = [plan.lookAgain, nextEnd].filter((time) => time !== undefined);
      if (later.length > 0) this.#context.requeueAfter(this.#pod.metadata.uid, Math.min(...later));
      let progress = false;
      for (const action of plan.actions) progress = this.#perform(action) || progress;
      if (!progress) return;
    }
    throw new Error(`the plan of pod ${this.#pod.metadata.name} does not end`);
  }

  #mayRun(): boolean {
    return (
      this.#pod.metadata.deletionTimestamp === undefined &&
      this.#failure === undefined &&
      !isPodTerminal(this.#pod)
    );
  }

  #plan(): PodPlan {
    const sandboxes = this.#sandbox === undefined ? [] : [this.#sandbox];
    const memory: PodMemory = {
      failure: this.#failure,
      ended: this.#ended,
      restarting: this.#restarting,
      stopping,
      replaced: this.#replaced,
      nextAttempts: this.#nextAttempts,
      setUpWait: 0,
      volumesWait: undefined,
      startWait: () => 0,
      crashBackOff: (key, ended) => ({
        delay: this.#crashes.delay(key),
        left: this.#crashes.left(key, ended),
      }),
    };
    const { clock } = this.#context;
    return computePodActions({
      pod: this.#pod,
      now: clock.now(),
      sandboxes,
      containers: this.#containers,
      memory,
      probes,
    });
  }

  /** Ends containers whose time is over. Returns the milliseconds until the next one ends. */
  #endDue(): number | undefined {
    let life: PodLife;
    try {
      life = lifeOf(this.#pod);
      this.#malformed = undefined;
    } catch (error) {
      this.#malformed = (error as Error).message;
      return undefined;
    }
    if (life.runsFor === undefined) return undefined;
    let next: number | undefined;
    for (const { name } of this.#pod.spec.containers) {
      const [latest] = this.#containers.get(name) ?? [];
      if (latest?.state !== "running") continue;
      const end = (latest.startedAt ?? 0) + life.runsFor;
      const left = end - this.#context.clock.now();
      if (left <= 0) this.#replace(endedContainer(latest, life.exitCode, end));
      else next = Math.min(next ?? left, left);
    }
    return next;
  }

  /** Returns true if the plan is out of date. */
  #perform(action: PodAction): boolean {
    const now = this.#context.clock.now();
    switch (action.type) {
      case "fail": {
        const { reason, message } = action;
        this.#failure = { reason, message };
        this.#context.event(this.#pod, "Normal", reason, message);
        return true;
      }
      case "setUp":
        return this.#setUp(now);
      case "beginRestart":
        this.#restarting = true;
        return true;
      case "reset":
        this.#reset(action);
        return true;
      case "start":
        return this.#start(action, now);
      case "stop":
        if (action.replace) this.#replaced.add(action.container.id);
        this.#replace(endedContainer(action.container, 0, now));
        return true;
      case "cleanUp":
        this.#ended = true;
        this.#waitsSince = undefined;
        if (this.#sandbox !== undefined) this.#sandbox = { ...this.#sandbox, ready: false };
        this.#releaseAddress();
        return true;
      // Nothing is probed or mounted, and a container is never created without being started.
      case "watch":
      case "refreshVolumes":
      case "remove":
        return false;
    }
  }

  /** Allocates the pod's address once it may use its claims. */
  #setUp(now: number): boolean {
    const { claimProblem, addresses, nodeAddress, requeueAfter, event } = this.#context;
    const pod = this.#pod;
    const problem = claimProblem(pod);
    if (problem !== undefined) {
      this.#waitsSince ??= now;
      const left = this.#waitsSince + claimsGrace - now;
      if (left > 0) requeueAfter(pod.metadata.uid, left);
      else if (!this.#reported.has(problem)) {
        this.#reported.add(problem);
        const text = `Failed to prepare dynamic resources: ${problem}`;
        event(pod, "Warning", "FailedPrepareDynamicResources", text);
      }
      return false;
    }
    this.#waitsSince = undefined;
    const ip = pod.spec.hostNetwork === true ? nodeAddress : addresses.take();
    this.#sandbox = sandboxOf(pod, ip, now);
    return true;
  }

  /** Init containers succeed at once, others run. */
  #start({ spec, attempt, crashedAt }: PodAction & { type: "start" }, now: number): boolean {
    if (this.#malformed !== undefined) return false;
    if (crashedAt !== undefined) this.#crashes.next(crashKey(spec), crashedAt);
    const { initContainers = [] } = this.#pod.spec;
    const started = startedContainer(this.#pod, spec, attempt, now);
    const isInit = initContainers.some((one) => one.name === spec.name && !isSidecar(one));
    const [before] = this.#containers.get(spec.name) ?? [];
    const latest = isInit ? endedContainer(started, 0, now) : started;
    this.#containers.set(spec.name, before === undefined ? [latest] : [latest, before]);
    return true;
  }

  /** Removes all containers, so that they are started anew (KEP-5532). */
  #reset({ attempts, ended }: PodAction & { type: "reset" }): void {
    this.#crashes.next(restartingCondition, ended);
    for (const [name, attempt] of attempts) this.#nextAttempts.set(name, attempt);
    for (const { name } of allContainers(this.#pod)) this.#crashes.forgetAll(`${name}/`);
    this.#containers.clear();
    this.#restarting = false;
  }

  #replace(container: Container): void {
    const [, ...others] = this.#containers.get(container.config.name) ?? [];
    this.#containers.set(container.config.name, [container, ...others]);
  }

  /** Once: another pod may have it afterwards. */
  #releaseAddress(): void {
    if (this.#isAddressReleased) return;
    this.#isAddressReleased = true;
    for (const ip of this.#sandbox?.ips ?? []) this.#context.addresses.release(ip);
  }

  async #report(): Promise<void> {
    const { clock, nodeAddress } = this.#context;
    const pod = this.#pod;
    if (this.#rejected && this.#failure !== undefined)
      return this.#statuses.report(pod, rejectedStatus(pod, this.#failure, clock.now()));
    const status = podStatus({
      pod,
      now: clock.now(),
      runtimeName,
      nodeAddress,
      recursiveReadOnly: false,
      podIP: this.#sandbox?.ips[0] ?? pod.status?.podIP,
      sandboxReady: this.#sandbox?.ready ?? false,
      containers: this.#containers,
      waiting: this.#waitingTexts(),
      started: probes.started,
      ready: () => true,
      allocatedResources: () => [],
      restarting: this.#restarting,
      nextAttempts: this.#nextAttempts,
      failure: this.#failure,
      ending: pod.metadata.deletionTimestamp !== undefined || this.#failure !== undefined || this.#ended,
      ended: this.#ended,
    });
    await this.#statuses.report(pod, status);
  }

  #waitingTexts(): PodPlan["waiting"] {
    const message = this.#malformed;
    if (message === undefined || this.#sandbox === undefined) return this.#waiting;
    const reason = "CreateContainerConfigError";
    return new Map(allContainers(this.#pod).map(({ name }) => [name, { reason, message }]));
  }

  async #delete(): Promise<void> {
    const { namespace, name, uid } = this.#pod.metadata;
    const pods = this.#context.client.resource(Pod);
    try {
      await pods.delete({ namespace, name }, { gracePeriodSeconds: 0, preconditions: { uid } });
    } catch (error) {
      if (!StatusError.is(error, "NotFound") && !StatusError.is(error, "Conflict")) throw error;
    }
  }
}
