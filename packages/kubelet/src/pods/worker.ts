import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { StatusError } from "@dray/api";
import {
  type Container as ContainerSpec,
  type ContainerStatus,
  type LifecycleHandler,
  type Node,
  Pod,
  type ResourceStatus,
  type Service,
} from "@dray/api/core/v1";
import { isPodTerminal } from "@dray/api/pod";
import { type Client, type Clock, type EventRecorder, ItemBackOff, type Log, sleep } from "@dray/client";
import type { NodePaths } from "../base/paths.ts";
import { shortened } from "../base/text.ts";
import { containerConfig } from "../containers/container-config.ts";
import type { ClusterDns } from "../containers/dns.ts";
import { withLastWord } from "../containers/exit-message.ts";
import type { VolumeImage } from "../containers/mounts.ts";
import { runtimeHandlerOf } from "../containers/runtime-class.ts";
import { sandboxConfig } from "../containers/sandbox-config.ts";
import type { ApiServerAddress } from "../containers/service-environment.ts";
import type { DevicePluginManager } from "../device-plugins/manager.ts";
import { type DraManager, UnprepareError } from "../dra/manager.ts";
import { ImageManager } from "../images/manager.ts";
import type { ProbeTarget } from "../lifecycle/handlers.ts";
import { runHook } from "../lifecycle/hooks.ts";
import { removeLog } from "../logs/log-rotation.ts";
import type { Probes } from "../prober/probes.ts";
import { checkMemoryShrinks } from "../resources/memory-shrink.ts";
import { PodBounds } from "../resources/pod-bounds.ts";
import type { WholePod } from "../resources/pod-level-status.ts";
import { PodResize, type ResizeEvent } from "../resources/resize.ts";
import { type BoundsOptions, containerResources } from "../resources/resource-config.ts";
import { RuntimeError } from "../runtime/error.ts";
import type { Container, NodeRuntime, Sandbox } from "../runtime/service.ts";
import { podStatus, rejectedStatus, restartingCondition } from "../status/status.ts";
import { StatusReporter } from "../status/status-reporter.ts";
import { allContainers, type StartableContainer } from "../types/containers.ts";
import type { PodEnd } from "../types/pod-end.ts";
import { podText } from "../types/pod-text.ts";
import type { Refusal } from "../types/refusal.ts";
import { isStaticPod } from "../types/static-pod.ts";
import { NotIssuedError } from "../volumes/pod-certificates.ts";
import type { SetUpVolumes, Volumes } from "../volumes/volumes.ts";
import { crashBackOff } from "./back-off.ts";
import { crashKey, type PodAction, type PodMemory, planPod } from "./plan.ts";
import { isRestarting } from "./restarts.ts";
import { Stops } from "./stops.ts";

/** What the workers of a node share. */
export interface WorkerContext {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly events: EventRecorder;
  readonly runtime: NodeRuntime;
  readonly paths: NodePaths;
  readonly volumes: Volumes;
  readonly probes: Probes;
  readonly dra: DraManager;
  readonly devicePlugins: DevicePluginManager;
  /** The health of the devices of a container, as `allocatedResourcesStatus` has it. */
  resourceHealth(pod: Pod, container: ContainerSpec): readonly ResourceStatus[];
  readonly nodeAddress: string;
  /** How many processes a pod may have; undefined: any number. */
  readonly podMaxPids: number | undefined;
  readonly bounds: BoundsOptions;
  /** The status of pods says what they have as a whole (KEP-5419). */
  readonly reportsWholePods: boolean;
  /** Where a pod finds the API server. */
  apiServer(pod: Pod): ApiServerAddress;
  readonly dns: ClusterDns;
  /** Aborts when the agent stops. */
  readonly signal: AbortSignal;
  node(): Node;
  /** Of all namespaces. */
  services(): readonly Service[];
  /** Brings `node` up to date with the API server. */
  refreshNode(): Promise<unknown>;
  /** The pod as the API server has it now, which may be newer than what a `sync` began with. */
  pod(uid: string): Pod | undefined;
  /** The object in the API that shows a pod: the pod itself, or the mirror of a static one if it is there. */
  apiPod(pod: Pod): Pod | undefined;
  /** Why the node takes no such pod now, whatever room it has. */
  refusal(pod: Pod): Refusal | undefined;
  /** The node's own look at a new pod. */
  admit(pod: Pod): Refusal | undefined;
  /** Called between every two steps of what is done for a pod, with the name of the step that has ended. */
  at(step: string): void;
  /** Has the worker's `sync` called again. */
  requeue(uid: string): void;
  requeueAfter(uid: string, milliseconds: number): void;
}

/** Times between attempts to set up a pod or what a container needs: upstream waits a minute or more, which nobody likes. */
const setUpBackOff = [1000, 60_000] as const;
/** Milliseconds until volumes that could not be brought up to date are tried again. */
const volumeRetry = 10_000;
/** Milliseconds between two refreshes of the volumes of a pod, at least. */
const minVolumeInterval = 1_000;
/** Milliseconds until a change of resources that found no room, or could not be done, is tried again. */
const resizeRetry = 10_000;
/** Milliseconds that a postStart hook may take. */
const maxPostStart = 24 * 60 * 60 * 1000;
/** A pod whose plan still brings something to do after so many rounds goes to the end of the queue. */
const maxRounds = 100;

/** Milliseconds that a driver may be late, as after a restart of the agent, before the node says that it is waited for. */
const lateDriverTimeout = 5000;

/** Milliseconds that the signer of a certificate may take before the pod says that it waits for it. */
const signerTimeout = 3000;

/** Marks in `told` a pod that the API server no longer has. */
const vanished = "vanished";

/** What there is of a pod on the node. */
interface Observed {
  /** The latest first. */
  readonly sandboxes: readonly Sandbox[];
  /** By name, the latest first. */
  readonly containers: ReadonlyMap<string, readonly Container[]>;
}

/**
 * Brings one pod from what is to what should be: looks at what there is, asks the planner (`planPod`) what is next, and
 * does it, until nothing is left to do. `sync` is called whenever something has changed, never twice at a time; it waits
 * for nothing that takes long but drivers, images and hooks after a start.
 */
export class PodWorker {
  readonly uid: string;
  readonly #context: WorkerContext;
  readonly #images: ImageManager;
  readonly #stops: Stops;
  readonly #statuses: StatusReporter;
  readonly #crashes: ItemBackOff;
  readonly #setUps: ItemBackOff;
  readonly #resize: PodResize;
  readonly #bounds: PodBounds;
  /** When the start of a container last failed, by its name; that of the pod's set-up as "". */
  readonly #failedAt = new Map<string, number>();
  /** The pod as last seen; undefined for one that was gone before this agent came. */
  #pod: Pod | undefined;
  #failure: PodEnd | undefined;
  /** The node did not admit the pod. */
  #rejected = false;
  #admitted = false;
  /** Why containers do not run, by name: what the planner says, and starts that failed. */
  #waiting: ReadonlyMap<string, { readonly reason: string; readonly message?: string }> = new Map();
  readonly #failedStarts = new Map<string, { reason: string; message: string }>();
  readonly #told = new Set<string>();
  /** When a driver first could not unprepare the claims of a pod that is gone. */
  readonly #waitsForSince = new Map<string, number>();
  #places: ReadonlyMap<string, string> | undefined;
  #volumesNotBefore = 0;
  /** Since when the pod's volumes lack a certificate. */
  #waitsForSigner: number | undefined;
  /** Set while all containers are restarted; undefined until this agent has looked at the pod. */
  #restarting: boolean | undefined;
  readonly #nextAttempts = new Map<string, number>();
  readonly #replaced = new Set<string>();
  #ended = false;
  #done = false;
  readonly #endReported = Promise.withResolvers<void>();

  constructor(uid: string, context: WorkerContext) {
    const { clock, log, client, signal } = context;
    this.uid = uid;
    this.#context = context;
    this.#crashes = new ItemBackOff(clock, ...crashBackOff);
    this.#setUps = new ItemBackOff(clock, ...setUpBackOff);
    this.#statuses = new StatusReporter(client, log);
    this.#resize = new PodResize(context.bounds);
    this.#bounds = new PodBounds(context.runtime.service, context.bounds);
    const event = this.#event.bind(this);
    this.#images = new ImageManager({ client, images: context.runtime.images, clock, signal, event });
    this.#stops = new Stops({
      runtime: context.runtime.service,
      clock,
      log,
      event,
      ended: (milliseconds) =>
        milliseconds === 0 ? context.requeue(uid) : context.requeueAfter(uid, milliseconds),
    });
  }

  /** With the resources that it was given, whatever its spec says meanwhile. */
  get pod(): Pod | undefined {
    return this.#pod === undefined ? undefined : this.#resize.effective(this.#pod);
  }

  /** True when nothing of the pod is left here: the worker may be forgotten. */
  get done(): boolean {
    return this.#done;
  }

  /** True while the pod counts against the node's resources. */
  get active(): boolean {
    return !this.#ended && this.#failure === undefined;
  }

  /** True when nothing of the pod runs any more, nor will: its devices are free. */
  get ended(): boolean {
    return this.#ended;
  }

  /** True from the node's own look at the pod on: it counts for those that come later. */
  get admitted(): boolean {
    return this.#admitted;
  }

  /** A driver has come, or a claim has gone: what failed may work now. */
  retry(): void {
    if (!this.#failedAt.delete("")) return;
    this.#context.requeue(this.uid);
  }

  /** Sources of volumes have changed: volumes of running containers are updated, and a failed set-up is retried. */
  volumesChanged(): void {
    const { volumes, clock, requeue } = this.#context;
    volumes.markOutdated(this.uid);
    this.#failedAt.delete("");
    this.#volumesNotBefore = Math.min(this.#volumesNotBefore, clock.now() + minVolumeInterval);
    requeue(this.uid);
  }

  /** Begins to end the pod. Resolves when nothing of it runs and the API server has been told. */
  end(end: PodEnd): Promise<void> {
    if (this.#failure === undefined && !this.#ended) this.#failure = end;
    this.#context.requeue(this.uid);
    return this.#endReported.promise;
  }

  /** What the pod's containers waited for has come: starts that failed may work now. */
  retryStarts(): void {
    if (this.#failedAt.size === 0) return;
    this.#failedAt.clear();
    this.#context.requeue(this.uid);
  }

  /** `pod` is what the API server has now: undefined when it has no such pod any more. */
  async sync(pod: Pod | undefined): Promise<void> {
    if (pod !== undefined) this.#pod = pod;
    const known = this.#pod;
    if (pod === undefined || known === undefined) return this.#vanish();
    const observed = await this.#advance(known);
    // Another agent has said all of a pod that has ended and left nothing here.
    if (!isPodTerminal(known) || this.#statuses.begun || observed.sandboxes.length > 0)
      await this.#report(known, observed);
    if (this.#ended) this.#endReported.resolve();
    if (this.#ended && known.metadata.deletionTimestamp !== undefined) await this.#delete(known);
  }

  /** Goes on until nothing is left to do at once; answers what there is then. */
  async #advance(known: Pod): Promise<Observed> {
    let observed = await this.#observe();
    if (!this.#admitted && observed.sandboxes.length === 0 && this.#mayRun(known)) {
      const refusal = await this.#admit(known);
      if (refusal !== undefined) {
        this.#failure = { ...refusal, message: `Pod was rejected: ${refusal.message}` };
        this.#rejected = true;
        this.#event(known, "Warning", refusal.reason, refusal.message);
      }
    }
    this.#admitted = true;
    this.#restarting ??= isRestarting(known);
    let pod = known;
    for (let round = 0; round < maxRounds; round++) {
      pod = await this.#resizeWhatRuns(known, observed);
      const plan = planPod({
        pod,
        now: this.#context.clock.now(),
        ...observed,
        memory: this.#memory(pod),
        probes: this.#context.probes,
      });
      this.#waiting = plan.waiting;
      this.#tellOfCrashes(pod, observed);
      if (plan.lookAgain !== undefined) this.#context.requeueAfter(this.uid, plan.lookAgain);
      let progress = false;
      for (const action of plan.actions) {
        this.#context.at(`planned ${action.type}`);
        const outcome = await this.#perform(pod, action, observed);
        this.#context.at(`performed ${action.type}`);
        progress ||= outcome === "done";
        if (outcome === "failed") break;
      }
      observed = await this.#observe();
      if (!progress) return observed;
    }
    this.#context.requeue(this.uid);
    return observed;
  }

  #mayRun(pod: Pod): boolean {
    return pod.metadata.deletionTimestamp === undefined && this.#failure === undefined && !isPodTerminal(pod);
  }

  #memory(pod: Pod): PodMemory {
    const { clock, volumes } = this.#context;
    const wait = (name: string): number => {
      const at = this.#failedAt.get(name);
      return at === undefined ? 0 : this.#setUps.left(name, at);
    };
    const dueIn = volumes.refreshIn(pod);
    return {
      failure: this.#failure,
      ended: this.#ended,
      restarting: this.#restarting ?? false,
      stopping: this.#stops.running,
      replaced: this.#replaced,
      nextAttempts: this.#nextAttempts,
      setUpWait: wait(""),
      volumesWait:
        this.#places !== undefined && dueIn === undefined
          ? undefined
          : Math.max(dueIn ?? 0, this.#volumesNotBefore - clock.now(), 0),
      startWait: wait,
      crashBackOff: (key, ended) => ({
        delay: this.#crashes.delay(key),
        left: this.#crashes.left(key, ended),
      }),
    };
  }

  async #observe(): Promise<Observed> {
    const { runtime } = this.#context;
    const [sandboxes, containers] = await Promise.all([
      runtime.service.listPodSandboxes(this.uid),
      runtime.service.listContainers(this.uid),
    ]);
    const specs = new Map(
      (this.#pod === undefined ? [] : allContainers(this.#pod)).map((spec) => [spec.name, spec]),
    );
    const told = await Promise.all(
      containers.map((container) =>
        withLastWord(container, specs.get(container.config.name), runtime.service),
      ),
    );
    told.sort((a, b) => b.config.attempt - a.config.attempt);
    return {
      sandboxes: sandboxes.toSorted((a, b) => b.config.attempt - a.config.attempt),
      containers: Map.groupBy(told, ({ config }) => config.name),
    };
  }

  /**
   * Where labels of the node are against the pod, the API server is asked once more: the scheduler may have seen a
   * change that our watch has not (kubernetes#134445). Marks the pod in the turn of the decision, so that of two pods
   * that fit alone one is refused. Device plugins come first, as upstream has it.
   */
  async #admit(pod: Pod): Promise<Refusal | undefined> {
    const notNow = this.#context.refusal(pod);
    if (notNow !== undefined) return notNow;
    const noDevices = await this.#context.devicePlugins.admit(pod);
    this.#context.at("devices allocated");
    if (noDevices !== undefined) return noDevices;
    let refusal = this.#context.admit(pod);
    if (refusal?.reason === "NodeAffinity") {
      await this.#context.refreshNode();
      refusal = this.#context.admit(pod);
    }
    this.#admitted = refusal === undefined;
    return refusal;
  }

  /** Gives containers that run the bounds that the pod has now (KEP-1287); answers the pod as it was admitted. */
  async #resizeWhatRuns(known: Pod, observed: Observed): Promise<Pod> {
    if (!this.#mayRun(known)) return this.#resize.effective(known);
    const { runtime, node, admit, log, bounds } = this.#context;
    const tell = (event: ResizeEvent | undefined): void => {
      if (event !== undefined) this.#event(known, event.type, event.reason, event.message);
    };
    tell(this.#resize.consider(known, node(), admit));
    if (this.#resize.isDeferred) this.#context.requeueAfter(this.uid, resizeRetry);
    const pod = this.#resize.effective(known);
    const failed = (error: unknown, container?: string): void => {
      const message = shortened((error as Error).message);
      tell(this.#resize.failed(known, message));
      log.info({ pod: known.metadata.name, container, message }, "not resized");
      this.#context.requeueAfter(this.uid, resizeRetry);
    };
    const { containers, sandboxes } = observed;
    const sandbox = sandboxes[0]?.ready === true ? sandboxes[0].id : undefined;
    const outdated = this.#resize.outdated(pod, containers);
    const running = this.#resize.running(pod, containers);
    let complete = true;
    try {
      if (this.#resize.isInProgress)
        await checkMemoryShrinks(runtime.service, { before: running, pod, outdated, containers }, bounds);
      if (sandbox !== undefined && outdated.length > 0) await this.#bounds.widen(sandbox, running, pod);
    } catch (error) {
      failed(error);
      return pod;
    }
    for (const { spec, container, restart } of outdated) {
      if (this.#stops.running.has(container.id)) {
        complete = false;
        continue;
      }
      if (restart) {
        complete = false;
        const message = `Container ${spec.name} resize requires restart`;
        const graceSeconds = Number(pod.spec.terminationGracePeriodSeconds ?? 30);
        const action = { type: "stop", spec, container, graceSeconds, message, replace: true } as const;
        await this.#perform(pod, action, observed);
        continue;
      }
      try {
        const resources = containerResources(pod, spec, node(), bounds);
        await runtime.service.updateContainerResources(container.id, resources);
        this.#resize.started(container.id, spec, pod);
      } catch (error) {
        complete = false;
        failed(error, spec.name);
      }
    }
    if (!complete) return pod;
    try {
      if (sandbox !== undefined) await this.#bounds.settle(sandbox, pod);
      this.#resize.settled(pod);
      tell(this.#resize.completed(known));
    } catch (error) {
      failed(error);
    }
    return pod;
  }

  // --- Actions --------------------------------------------------------------------------------------------------

  /** `done`: the plan is out of date; `begun`: it goes on elsewhere; `failed`: what follows has to wait. */
  async #perform(pod: Pod, action: PodAction, observed: Observed): Promise<"done" | "begun" | "failed"> {
    const { probes, runtime } = this.#context;
    switch (action.type) {
      case "fail": {
        const { reason, message } = action;
        this.#failure = { reason, message };
        this.#event(pod, "Normal", reason, message);
        return "done";
      }
      case "setUp":
        return (await this.#setUp(pod, observed)) ? "done" : "failed";
      case "refreshVolumes":
        return (await this.#refreshVolumes(pod)) ? "done" : "failed";
      case "beginRestart":
        this.#restarting = true;
        await this.#report(pod, observed);
        return "done";
      case "reset":
        await this.#reset(pod, action, observed);
        return "done";
      case "start":
        return (await this.#start(pod, action)) ? "done" : "begun";
      case "stop": {
        const { spec, container, graceSeconds, message, replace } = action;
        if (replace) this.#replaced.add(container.id);
        probes.forget(container.id);
        const podIP = observed.sandboxes[0]?.ips[0] ?? "";
        this.#stops.begin({ pod, spec, container, graceSeconds, message, podIP });
        return "begun";
      }
      case "watch": {
        const { spec, container, ip } = action;
        const target = { podUid: this.uid, containerId: container.id, spec, podIP: ip };
        probes.watch(target, reportedHealth(pod, container.id));
        return "begun";
      }
      case "remove":
        await runtime.service.removeContainer(action.container.id);
        return "done";
      case "cleanUp":
        for (const { id } of [...observed.containers.values()].flat()) probes.forget(id);
        await this.#cleanUp(pod, observed.sandboxes);
        this.#ended = true;
        return "done";
    }
  }

  /** Volumes and claims, then the sandbox; false if that has to be tried again later. */
  async #setUp(pod: Pod, observed: Observed): Promise<boolean> {
    const { runtime, volumes, dra, log, paths } = this.#context;
    // Drivers may look at the pod's volumes: claims are prepared after they are in place, as upstream does.
    const [report, volume] = await Promise.allSettled([this.#report(pod, observed), volumes.setUp(pod)]);
    if (report.status === "rejected")
      log.debug({ pod: pod.metadata.name, err: report.reason }, "cannot report");
    if (volume.status === "rejected") {
      this.#tellFailedMount(pod, volume.reason as Error);
      this.#retryLater("");
      return false;
    }
    this.#context.at("volumes set up");
    try {
      await dra.prepare(pod, this.#context.signal);
      this.#context.at("claims prepared");
    } catch (error) {
      const { message } = error as Error;
      const text = `Failed to prepare dynamic resources: prepare dynamic resources: ${message}`;
      return this.#setUpFailed(pod, "FailedPrepareDynamicResources", text);
    }
    this.#takeVolumes(pod, volume.value);
    const attempt = (observed.sandboxes[0]?.config.attempt ?? -1) + 1;
    try {
      const handler = await runtimeHandlerOf(pod, this.#context.client);
      const { config, warnings } = sandboxConfig(pod, attempt, paths, this.#context, handler);
      for (const { reason, message } of warnings) this.#eventOnce(pod, "Warning", reason, message, message);
      const { unsupported } = await runtime.service.runPodSandbox(config);
      this.#bounds.made(pod);
      this.#resize.settled(pod);
      this.#tellUnsupported(pod, "The pod", unsupported);
    } catch (error) {
      if (!(error instanceof RuntimeError)) throw error;
      const text = `Failed to create pod sandbox: ${error.message}`;
      return this.#setUpFailed(pod, "FailedCreatePodSandBox", text);
    }
    this.#setUps.forget("");
    this.#failedAt.delete("");
    return true;
  }

  #setUpFailed(pod: Pod, reason: string, message: string): false {
    this.#event(pod, "Warning", reason, message);
    this.#retryLater("");
    return false;
  }

  /** Notes that something failed; it is tried again after the back-off of its key. */
  #retryLater(key: string): void {
    this.#setUps.next(key);
    this.#failedAt.set(key, this.#context.clock.now());
    this.#context.requeueAfter(this.uid, this.#setUps.delay(key));
  }

  /** Keeps what is mounted in running containers up to date. */
  async #refreshVolumes(pod: Pod): Promise<boolean> {
    const { volumes, clock } = this.#context;
    try {
      this.#takeVolumes(pod, await volumes.setUp(pod));
    } catch (error) {
      this.#tellFailedMount(pod, error as Error);
      this.#volumesNotBefore = clock.now() + volumeRetry;
      this.#context.requeueAfter(this.uid, volumeRetry);
      // Containers that run have what they had.
      return this.#places !== undefined;
    }
    return true;
  }

  #tellFailedMount(pod: Pod, { message, cause }: Error): void {
    if (cause instanceof NotIssuedError) {
      const now = this.#context.clock.now();
      this.#waitsForSigner ??= now;
      if (now - this.#waitsForSigner < signerTimeout) return;
    }
    this.#event(pod, "Warning", "FailedMount", message);
  }

  #takeVolumes(pod: Pod, { places, warnings }: SetUpVolumes): void {
    this.#places = places;
    this.#waitsForSigner = undefined;
    for (const { reason, message } of warnings) this.#eventOnce(pod, "Warning", reason, message, message);
    this.#volumesNotBefore = this.#context.clock.now() + minVolumeInterval;
  }

  async #reset(
    pod: Pod,
    { attempts, ended }: PodAction & { type: "reset" },
    observed: Observed,
  ): Promise<void> {
    const { probes, runtime } = this.#context;
    this.#crashes.next(restartingCondition, ended);
    for (const [name, attempt] of attempts) this.#nextAttempts.set(name, attempt);
    for (const { name } of allContainers(pod)) {
      this.#failedStarts.delete(name);
      this.#crashes.forgetAll(`${name}/`);
    }
    for (const { id } of [...observed.containers.values()].flat()) {
      probes.forget(id);
      await runtime.service.removeContainer(id);
    }
    this.#restarting = false;
    await this.#report(pod, await this.#observe());
  }

  /**
   * The images that the container mounts. Rejects with RuntimeError.
   *
   * Upstream: pkg/kubelet/kuberuntime/kuberuntime_manager.go, getImageVolumes (KEP-4639).
   */
  async #volumeImages(pod: Pod, spec: StartableContainer): Promise<ReadonlyMap<string, VolumeImage>> {
    const { runtime } = this.#context;
    const found = new Map<string, VolumeImage>();
    for (const { name } of spec.volumeMounts ?? []) {
      const { image } = pod.spec.volumes?.find((volume) => volume.name === name) ?? {};
      if (image === undefined || found.has(name)) continue;
      const { reference = "", pullPolicy } = image;
      if (!runtime.images.pulls) {
        const message = `Container ${spec.name} cannot run: volume "${name}" is an image, and the runtime "${runtime.service.name}" has no files of images`;
        this.#eventOnce(pod, "Warning", "UnsupportedByRuntime", message, `${spec.name}/${name}`);
        throw new RuntimeError("CreateContainerConfigError", message);
      }
      const policy = pullPolicy === undefined ? {} : { imagePullPolicy: pullPolicy };
      const { ref } = await this.#images.ensure(pod, { image: reference, ...policy });
      found.set(name, { ref, name: reference });
    }
    return found;
  }

  /** False if the start failed and is tried again later. */
  async #start(pod: Pod, action: PodAction & { type: "start" }): Promise<boolean> {
    const { runtime, log, probes, signal } = this.#context;
    const { spec, sandbox, attempt, crashedAt } = action;
    // It may have been deleted while a driver or another container took its time.
    const now = this.#context.pod(this.uid);
    if (now === undefined || now.metadata.deletionTimestamp !== undefined || signal.aborted) return false;
    if (crashedAt !== undefined) this.#crashes.next(crashKey(spec), crashedAt);
    const podIP = sandbox.ips[0] ?? "";
    let id: string | undefined;
    try {
      const image = await this.#images.ensure(pod, spec);
      if (!runtime.images.pulls)
        this.#eventOnce(
          pod,
          "Normal",
          "Pulled",
          `Container image "${spec.image}" is not pulled on this runtime: its command runs on the host`,
          spec.name,
        );
      const volumeImages = await this.#volumeImages(pod, spec);
      const podIPs = sandbox.ips;
      const places = this.#places ?? new Map();
      const input = { pod, container: spec, attempt, image, podIPs, places, volumeImages };
      const config = await containerConfig(input, {
        ...this.#context,
        recursiveReadOnly: runtime.service.recursiveReadOnly ?? false,
        // Processes of the machine run as users of their own, and see its files read-only.
        writesMachine: runtime.images.pulls,
        cdiDevices: (one, container) => this.#context.dra.cdiDevices(one, container),
        deviceOptions: (one, container) => this.#context.devicePlugins.container(one, container),
      });
      const made = await runtime.service.createContainer(sandbox.id, config);
      id = made.id;
      this.#resize.started(id, spec, pod);
      this.#context.at("container created");
      this.#event(pod, "Normal", "Created", `Created container: ${spec.name}`);
      this.#tellUnsupported(pod, `Container ${spec.name}`, made.unsupported);
      await runtime.service.startContainer(id);
      this.#context.at("container started");
    } catch (error) {
      const reason = error instanceof RuntimeError ? error.reason : "CreateContainerError";
      const message = shortened((error as Error).message);
      this.#failedStarts.set(spec.name, { reason, message });
      this.#event(pod, "Warning", "Failed", `Error: ${message}`);
      log.info({ pod: pod.metadata.name, container: spec.name, reason, message }, "container not started");
      // What has begun and could not go on counts as an end, and is repeated as the policy says.
      const tried = (await runtime.service.listContainers(this.uid)).find((one) => one.id === id);
      if (tried?.state === "exited") return true;
      if (tried !== undefined) await runtime.service.removeContainer(tried.id);
      this.#retryLater(spec.name);
      return false;
    }
    this.#failedStarts.delete(spec.name);
    this.#setUps.forget(spec.name);
    this.#failedAt.delete(spec.name);
    this.#event(pod, "Normal", "Started", `Started container ${spec.name}`);
    const target = { podUid: this.uid, containerId: id, spec, podIP };
    probes.watch(target);
    const hook = spec.lifecycle?.postStart;
    const problem = hook === undefined ? undefined : await this.#runPostStart(pod, hook, target);
    const { containers } = await this.#observe();
    const all = containers.get(spec.name) ?? [];
    const started = all.find((one) => one.id === id);
    if (problem !== undefined && started !== undefined) {
      this.#event(pod, "Warning", "FailedPostStartHook", `PostStartHook failed: ${problem}`);
      probes.forget(id);
      const graceSeconds = Number(pod.spec.terminationGracePeriodSeconds ?? 30);
      const message = "FailedPostStartHook";
      this.#stops.begin({ pod, spec, container: started, graceSeconds, message, podIP });
    }
    // The latest of a name stays, and the one before it, whose log can still be read.
    for (const old of all.slice(2)) {
      await runtime.service.removeContainer(old.id);
      await removeLog(old.config.logPath);
    }
    return true;
  }

  /** Has no limit but the life of the pod. Resolves with what went wrong. */
  async #runPostStart(pod: Pod, hook: LifecycleHandler, target: ProbeTarget): Promise<string | undefined> {
    const { clock, runtime, signal } = this.#context;
    let problem: string | undefined;
    const over = new AbortController();
    const end = runHook(pod, hook, target, { runtime: runtime.service, clock }, maxPostStart).then((said) => {
      problem = said;
      over.abort();
    });
    const waits = (): boolean => {
      const now = this.#context.pod(this.uid);
      return now !== undefined && now.metadata.deletionTimestamp === undefined && !signal.aborted;
    };
    while (!over.signal.aborted && waits()) await Promise.race([end, sleep(clock, 1000, over.signal)]);
    return problem;
  }

  /** Nothing runs: claims are let go before anyone is told that the pod has ended. */
  async #cleanUp(pod: Pod | undefined, sandboxes: readonly Sandbox[]): Promise<void> {
    const { dra, devicePlugins, runtime, clock } = this.#context;
    for (const { id } of sandboxes) await runtime.service.stopPodSandbox(id);
    this.#context.at("sandboxes stopped");
    devicePlugins.release(this.uid);
    try {
      await dra.unprepare(this.uid, this.#context.signal);
      this.#context.at("claims unprepared");
    } catch (error) {
      const message = `Failed to unprepare dynamic resources: ${(error as Error).message}`;
      if (pod !== undefined) this.#event(pod, "Warning", "FailedUnprepareDynamicResources", message);
      if (!this.#failedAt.has("")) this.#failedAt.set("", clock.now());
      throw error;
    }
    this.#failedAt.delete("");
  }

  /** The API server has no such pod any more: whatever there is of it goes. */
  async #vanish(): Promise<void> {
    const { volumes, probes, runtime } = this.#context;
    const { sandboxes, containers } = await this.#observe();
    // A manifest that goes is how a static pod is deleted.
    const isStatic = this.#pod !== undefined && isStaticPod(this.#pod);
    const grace = isStatic ? Number(this.#pod?.spec.terminationGracePeriodSeconds ?? 30) * 1000 : 1000;
    for (const { id, state } of [...containers.values()].flat()) {
      probes.forget(id);
      if (state !== "exited") await runtime.service.stopContainer(id, grace);
    }
    // Said once: the pod's namespace may be gone, too, and what cannot be unprepared stays for ever.
    const first = this.#pod !== undefined && !this.#told.has(vanished);
    this.#told.add(vanished);
    try {
      await this.#cleanUp(first ? this.#pod : undefined, sandboxes);
    } catch (error) {
      this.#tellNode(error as Error);
      throw error;
    }
    for (const { id } of sandboxes) await runtime.service.removePodSandbox(id);
    this.#context.at("sandboxes removed");
    volumes.tearDown(this.uid);
    this.#context.at("volumes removed");
    this.#images.forget(this.uid);
    probes.metrics.forget(this.uid);
    this.#removeLogs();
    this.#ended = true;
    this.#done = true;
    this.#endReported.resolve();
  }

  /** Nobody can look at the pod any more: the node says once which driver its claims wait for. */
  #tellNode(error: Error): void {
    const { events, node, clock } = this.#context;
    const who = this.#pod === undefined ? this.uid : podText(this.#pod);
    const now = clock.now();
    for (const driver of error instanceof UnprepareError ? error.drivers : []) {
      const since = this.#waitsForSince.get(driver) ?? now;
      this.#waitsForSince.set(driver, since);
      if (now - since < lateDriverTimeout || this.#told.has(driver)) continue;
      this.#told.add(driver);
      const message = `Claims of pod ${who}, which is gone, are still prepared: waiting for DRA driver ${driver}: ${error.message}`;
      events.event(node(), "Warning", "FailedUnprepareDynamicResources", shortened(message));
    }
  }

  /** By the UID alone: of a pod that went while no agent looked nothing else may be known. */
  #removeLogs(): void {
    const { podLogs } = this.#context.paths;
    for (const name of readdirSync(podLogs))
      if (name.endsWith(`_${this.uid}`)) rmSync(join(podLogs, name), { recursive: true, force: true });
  }

  async #delete(pod: Pod): Promise<void> {
    const { namespace, name, uid } = pod.metadata;
    this.#context.at("end reported");
    try {
      await this.#context.client
        .resource(Pod)
        .delete({ namespace, name }, { gracePeriodSeconds: 0, preconditions: { uid } });
    } catch (error) {
      if (!StatusError.is(error, "NotFound") && !StatusError.is(error, "Conflict")) throw error;
    }
  }

  // --- Telling --------------------------------------------------------------------------------------------------

  async #report(pod: Pod, { sandboxes, containers }: Observed): Promise<void> {
    const { probes, clock, nodeAddress, runtime } = this.#context;
    const [sandbox] = sandboxes;
    const status =
      this.#rejected && this.#failure !== undefined
        ? rejectedStatus(pod, this.#failure, clock.now())
        : podStatus({
            pod: this.#resize.effective(pod),
            now: clock.now(),
            runtimeName: runtime.service.name,
            recursiveReadOnly: runtime.service.recursiveReadOnly ?? false,
            nodeAddress,
            podIP: sandbox?.ips[0] ?? pod.status?.podIP,
            sandboxReady: sandbox?.ready ?? false,
            containers,
            allocatedResources: (container) => this.#context.resourceHealth(pod, container),
            waiting: new Map([...this.#failedStarts, ...this.#waiting]),
            started: ({ id }) => probes.started(id),
            ready: ({ id }) => probes.ready(id) && !this.#stops.running.has(id),
            restarting: this.#restarting ?? false,
            resize: this.#resize,
            ...this.#wholePod(pod),
            nextAttempts: this.#nextAttempts,
            failure: this.#failure,
            ending:
              pod.metadata.deletionTimestamp !== undefined || this.#failure !== undefined || this.#ended,
            ended: this.#ended,
          });
    const shown = this.#context.apiPod(pod);
    if (shown !== undefined) await this.#statuses.report(shown, status);
  }

  #wholePod(pod: Pod): { readonly whole?: WholePod } {
    const { bounds: options, reportsWholePods } = this.#context;
    return reportsWholePods ? { whole: { bounds: this.#bounds.of(pod), options } } : {};
  }

  /** Says of each container that waits after a crash, once, that it does. */
  #tellOfCrashes(pod: Pod, { containers }: Observed): void {
    for (const name of this.#waiting.keys()) {
      const id = containers.get(name)?.[0]?.id;
      if (id === undefined || this.#told.has(id)) continue;
      this.#told.add(id);
      const message = `Back-off restarting failed container ${name} in pod ${podText(pod)}`;
      this.#event(pod, "Warning", "BackOff", message);
    }
  }

  /** Says once what the runtime does not do, so that nobody relies on it. */
  #tellUnsupported(pod: Pod, who: string, unsupported: readonly string[]): void {
    if (unsupported.length === 0) return;
    const { name } = this.#context.runtime.service;
    const message = `${who} runs without ${unsupported.join(", ")}: the runtime "${name}" does not support that`;
    this.#eventOnce(pod, "Warning", "UnsupportedByRuntime", message, who);
  }

  #event(pod: Pod, type: "Normal" | "Warning", reason: string, message: string): void {
    this.#context.events.event(pod, type, reason, message);
  }

  #eventOnce(pod: Pod, type: "Normal" | "Warning", reason: string, message: string, about: string): void {
    const key = `${reason}/${about}`;
    if (this.#told.has(key)) return;
    this.#told.add(key);
    this.#event(pod, type, reason, message);
  }
}

/** What an earlier agent has said of a container: it stands until probes say something else. */
function reportedHealth({ status }: Pod, id: string): ContainerStatus | undefined {
  const all = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return all.find(({ containerID }) => containerID?.endsWith(`//${id}`));
}
