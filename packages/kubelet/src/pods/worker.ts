import { createHash } from "node:crypto";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { durationText, encodeJSON, StatusError } from "@dray/api";
import { type Container as ContainerSpec, type Node, Pod } from "@dray/api/core/v1";
import { canRestartAll, isPodTerminal, isSidecar, restartsAllAfter, sidecarsOf } from "@dray/api/pod";
import { type Client, type Clock, type EventRecorder, ItemBackOff, type Log } from "@dray/client";
import type { DraManager } from "../dra/manager.ts";
import type { NodePaths } from "../paths.ts";
import {
  type Container,
  type MountConfig,
  RuntimeError,
  type RuntimeService,
  type Sandbox,
} from "../runtime/service.ts";
import { shortened } from "../text.ts";
import type { Refusal } from "./admission.ts";
import { containerEnvironment, expand, hostname } from "./environment.ts";
import { runHook } from "./hooks.ts";
import type { Probes } from "./probes.ts";
import { attemptAfterReset, isRestarting, restarts } from "./restarts.ts";
import { podStatus, rejectedStatus, restartingCondition } from "./status.ts";
import { StatusReporter } from "./status-reporter.ts";
import { resolveSubPath } from "./sub-path.ts";
import type { Volumes } from "./volumes.ts";

/** What the workers of a node share. */
export interface WorkerContext {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly events: EventRecorder;
  readonly runtime: RuntimeService;
  readonly paths: NodePaths;
  readonly volumes: Volumes;
  readonly probes: Probes;
  readonly dra: DraManager;
  readonly nodeAddress: string;
  readonly apiServer: { readonly host: string; readonly port: number };
  /** Aborts when the agent stops. */
  readonly signal: AbortSignal;
  node(): Node;
  /** Brings `node` up to date with the API server. */
  refreshNode(): Promise<unknown>;
  /** The pod as the API server has it now, which may be newer than what a `sync` began with. */
  pod(uid: string): Pod | undefined;
  /** The node's own look at a new pod. */
  admit(pod: Pod): Refusal | undefined;
  /** Has the worker's `sync` called again. */
  requeue(uid: string): void;
  requeueAfter(uid: string, milliseconds: number): void;
}

/** Times between attempts to set up a pod or what a container needs: upstream waits a minute or more, which nobody likes. */
const setUpBackOff = [1000, 60_000] as const;
/** Times between restarts of a container that ends (CrashLoopBackOff). */
const crashBackOff = [10_000, 300_000] as const;

/** Marks in `told` a pod that the API server no longer has. */
const vanished = "vanished";
/** Time until a container that was stopped, and still runs, is stopped again. */
const stopRetryMilliseconds = 1000;

/**
 * Brings one pod from what is to what should be. `sync` is called whenever something has changed, never twice at a
 * time; it looks at everything anew and waits for nothing that takes long but drivers and images.
 */
export class PodWorker {
  readonly uid: string;
  readonly #context: WorkerContext;
  readonly #crashes: ItemBackOff;
  readonly #setUps: ItemBackOff;
  /** When what a container needs was last found missing. */
  readonly #configFailedAt = new Map<string, number>();
  #setUpFailedAt: number | undefined;
  /** The pod as last seen; undefined for one that was gone before this agent came. */
  #pod: Pod | undefined;
  #failure: Refusal | undefined;
  /** The node did not admit the pod. */
  #rejected = false;
  #admitted = false;
  readonly #waiting = new Map<string, { reason: string; message?: string }>();
  /** Containers that are being stopped, and until when they may take their time. */
  readonly #stopping = new Map<string, number>();
  readonly #told = new Set<string>();
  #places: ReadonlyMap<string, string> | undefined;
  /** Set while all containers are restarted; undefined until this agent has looked at the pod. */
  #restarting: boolean | undefined;
  /** Which attempt the next container of a name is, after all were removed to be restarted. */
  readonly #nextAttempts = new Map<string, number>();
  #ended = false;
  readonly #statuses: StatusReporter;
  #done = false;

  constructor(uid: string, context: WorkerContext) {
    this.uid = uid;
    this.#context = context;
    this.#crashes = new ItemBackOff(context.clock, ...crashBackOff);
    this.#setUps = new ItemBackOff(context.clock, ...setUpBackOff);
    this.#statuses = new StatusReporter(context.client, context.log);
  }

  get pod(): Pod | undefined {
    return this.#pod;
  }

  /** True when nothing of the pod is left here: the worker may be forgotten. */
  get done(): boolean {
    return this.#done;
  }

  /** True while the pod counts against the node's resources. */
  get active(): boolean {
    return !this.#ended && this.#failure === undefined;
  }

  /** True from the node's own look at the pod on: it counts for those that come later. */
  get admitted(): boolean {
    return this.#admitted;
  }

  /** A driver has come, or a claim has gone: what failed may work now. */
  retry(): void {
    if (this.#setUpFailedAt === undefined) return;
    this.#setUpFailedAt = undefined;
    this.#context.requeue(this.uid);
  }

  /** `pod` is what the API server has now: undefined when it has no such pod any more. */
  async sync(pod: Pod | undefined): Promise<void> {
    if (pod !== undefined) this.#pod = pod;
    const known = this.#pod;
    if (pod === undefined || known === undefined) return this.#vanish();
    if (known.metadata.deletionTimestamp !== undefined || this.#failure !== undefined || isPodTerminal(known))
      await this.#end(
        known,
        Number(known.metadata.deletionGracePeriodSeconds ?? known.spec.terminationGracePeriodSeconds ?? 30),
      );
    else await this.#run(known);
    // Another agent has said all of a pod that has ended and left nothing here.
    if (!isPodTerminal(known) || this.#statuses.begun || this.#sandboxes().length > 0)
      await this.#report(known);
    if (this.#ended && known.metadata.deletionTimestamp !== undefined) await this.#delete(known);
  }

  // --- What the runtime has -------------------------------------------------------------------------------------

  #sandboxes(): Sandbox[] {
    return this.#context.runtime
      .listPodSandboxes()
      .filter(({ config }) => config.uid === this.uid)
      .sort((a, b) => b.config.attempt - a.config.attempt);
  }

  /** By name, the latest first. */
  #containers(): Map<string, Container[]> {
    const sandboxes = new Set(this.#sandboxes().map(({ id }) => id));
    const all = this.#context.runtime.listContainers().filter(({ sandboxId }) => sandboxes.has(sandboxId));
    all.sort((a, b) => b.config.attempt - a.config.attempt);
    return Map.groupBy(all, ({ config }) => config.name);
  }

  // --- Running --------------------------------------------------------------------------------------------------

  async #run(pod: Pod): Promise<void> {
    const { clock } = this.#context;
    let sandbox = this.#sandboxes().find(({ ready }) => ready);
    if (!this.#admitted && this.#sandboxes().length === 0) {
      const refusal = await this.#admit(pod);
      if (refusal !== undefined) {
        this.#failure = { ...refusal, message: `Pod was rejected: ${refusal.message}` };
        this.#rejected = true;
        this.#event(pod, "Warning", refusal.reason, refusal.message);
        return this.#end(pod, 0);
      }
    }
    this.#admitted = true;
    const deadline = pod.spec.activeDeadlineSeconds;
    if (deadline !== undefined && pod.status?.startTime !== undefined) {
      const left = Date.parse(pod.status.startTime) + Number(deadline) * 1000 - clock.now();
      if (left <= 0) {
        const message = "Pod was active on the node longer than the specified deadline";
        this.#failure = { reason: "DeadlineExceeded", message };
        this.#event(pod, "Normal", "DeadlineExceeded", message);
        return this.#end(pod, Number(pod.spec.terminationGracePeriodSeconds ?? 30));
      }
      this.#context.requeueAfter(this.uid, left);
    }
    if (!(await this.#restartAll(pod))) return;
    if (this.#finishedByItself(pod))
      return this.#end(pod, Number(pod.spec.terminationGracePeriodSeconds ?? 30));
    if (sandbox === undefined) {
      sandbox = await this.#setUp(pod);
      if (sandbox === undefined) return;
    } else if (!(await this.#refreshVolumes(pod))) return;
    await this.#runContainers(pod, sandbox);
    if (this.#finishedByItself(pod))
      await this.#end(pod, Number(pod.spec.terminationGracePeriodSeconds ?? 30));
  }

  /**
   * Where labels of the node are against the pod, the API server is asked once more: the scheduler may have seen a
   * change that our watch has not (kubernetes#134445). Marks the pod in the turn of the decision, so that of two pods
   * that fit alone one is refused.
   */
  async #admit(pod: Pod): Promise<Refusal | undefined> {
    let refusal = this.#context.admit(pod);
    if (refusal?.reason === "NodeAffinity") {
      await this.#context.refreshNode();
      refusal = this.#context.admit(pod);
    }
    this.#admitted = refusal === undefined;
    return refusal;
  }

  /**
   * Restarts all containers in their sandbox once one has ended that has a rule for it: those that run are killed without
   * grace or hooks, then all are removed, so that init containers run again. False while that goes on. As for a container
   * that crashes, each restart waits longer than the one before.
   *
   * Upstream: pkg/kubelet/kuberuntime/kuberuntime_manager.go, computePodActions (KEP-5532).
   */
  async #restartAll(pod: Pod): Promise<boolean> {
    const { probes, runtime } = this.#context;
    if (!canRestartAll(pod.spec)) return true;
    // What an earlier agent began is in the status.
    this.#restarting ??= isRestarting(pod);
    if (!this.#restarting && !this.#triggersRestart(pod)) return true;
    this.#restarting = true;
    await this.#report(pod);
    const containers = await this.#withoutUnstarted();
    const specs = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
    let running = false;
    for (const spec of specs)
      for (const container of containers.get(spec.name) ?? []) {
        if (container.state !== "running") continue;
        running = true;
        this.#stop(pod, spec, container, 0, true);
      }
    if (running) return false;
    const ends = [...containers.values()].flat().map(({ finishedAt, createdAt }) => finishedAt ?? createdAt);
    const end = ends.reduce((a, b) => Math.max(a, b), 0);
    const left = this.#crashes.left(restartingCondition, end);
    if (left > 0) {
      this.#context.requeueAfter(this.uid, left);
      return false;
    }
    this.#crashes.next(restartingCondition, end);
    for (const spec of specs) {
      const latest = containers.get(spec.name)?.[0];
      const attempt = latest === undefined ? attemptAfterReset(pod, spec) : latest.config.attempt + 1;
      if (attempt > 0) this.#nextAttempts.set(spec.name, attempt);
      this.#waiting.delete(spec.name);
      this.#crashes.forget(spec.name);
    }
    for (const { id } of [...containers.values()].flat()) {
      probes.forget(id);
      await runtime.removeContainer(id);
    }
    this.#restarting = false;
    await this.#report(pod);
    return true;
  }

  /** True if a container has ended whose rules restart all. */
  #triggersRestart(pod: Pod): boolean {
    const containers = this.#containers();
    return [...(pod.spec.initContainers ?? []), ...pod.spec.containers].some((spec) => {
      const latest = containers.get(spec.name)?.[0];
      return latest?.state === "exited" && restartsAllAfter(spec, latest.exitCode ?? 0);
    });
  }

  /** Volumes and claims, then the sandbox; undefined if that has to be tried again later. */
  async #setUp(pod: Pod): Promise<Sandbox | undefined> {
    const { runtime, volumes, dra, log } = this.#context;
    if (this.#setUpFailedAt !== undefined) {
      const left = this.#setUps.left("", this.#setUpFailedAt);
      if (left > 0) {
        this.#context.requeueAfter(this.uid, left);
        return undefined;
      }
    }
    // Drivers may look at the pod's volumes: claims are prepared after they are in place, as upstream does.
    const [report, volume] = await Promise.allSettled([this.#report(pod), volumes.setUp(pod)]);
    if (report.status === "rejected")
      log.debug({ pod: pod.metadata.name, err: report.reason }, "cannot report");
    let problem: [reason: string, message: string] | undefined;
    if (volume.status === "rejected") problem = ["FailedMount", (volume.reason as Error).message];
    else {
      try {
        await dra.prepare(pod, this.#context.signal);
      } catch (error) {
        const { message } = error as Error;
        problem = [
          "FailedPrepareDynamicResources",
          `Failed to prepare dynamic resources: prepare dynamic resources: ${message}`,
        ];
      }
    }
    if (volume.status === "rejected" || problem !== undefined) {
      if (problem !== undefined) this.#event(pod, "Warning", ...problem);
      this.#setUps.next("");
      this.#setUpFailedAt = this.#context.clock.now();
      this.#context.requeueAfter(this.uid, this.#setUps.delay(""));
      return undefined;
    }
    this.#setUps.forget("");
    this.#setUpFailedAt = undefined;
    this.#places = volume.value;
    const { namespace, name } = pod.metadata;
    return runtime.runPodSandbox({
      namespace,
      name,
      uid: this.uid,
      attempt: (this.#sandboxes()[0]?.config.attempt ?? -1) + 1,
      hostname: hostname(pod),
      hostNetwork: pod.spec.hostNetwork ?? false,
    });
  }

  /** Keeps what is mounted in running containers up to date. */
  async #refreshVolumes(pod: Pod): Promise<boolean> {
    const { volumes } = this.#context;
    const due = volumes.refreshIn(pod);
    if (this.#places === undefined || due === 0) {
      try {
        this.#places = await volumes.setUp(pod);
      } catch (error) {
        this.#event(pod, "Warning", "FailedMount", (error as Error).message);
        this.#context.requeueAfter(this.uid, 10_000);
        // Containers that run have what they had.
        return this.#places !== undefined;
      }
    }
    const next = volumes.refreshIn(pod);
    if (next !== undefined) this.#context.requeueAfter(this.uid, Math.max(next, 1000));
    return true;
  }

  async #runContainers(pod: Pod, sandbox: Sandbox): Promise<void> {
    const containers = this.#containers();
    const mainBegan = pod.spec.containers.some(({ name }) =>
      (containers.get(name) ?? []).some(({ sandboxId }) => sandboxId === sandbox.id),
    );
    for (const spec of pod.spec.initContainers ?? []) {
      const latest = containers.get(spec.name)?.[0];
      const here = latest?.sandboxId === sandbox.id ? latest : undefined;
      if (isSidecar(spec)) {
        const running = await this.#ensureRunning(pod, spec, sandbox, latest);
        if (!mainBegan && (running === undefined || !this.#context.probes.started(running.id))) return;
        continue;
      }
      if (mainBegan) continue;
      if (here?.state === "exited" && here.exitCode === 0) continue;
      if (here?.state === "exited" && !restarts(pod, spec, here)) return;
      await this.#ensureRunning(pod, spec, sandbox, latest);
      return;
    }
    for (const spec of pod.spec.containers)
      await this.#ensureRunning(pod, spec, sandbox, containers.get(spec.name)?.[0]);
  }

  /** Starts a container, again if its policy says so; the answer is the one that runs now. */
  async #ensureRunning(
    pod: Pod,
    spec: ContainerSpec,
    sandbox: Sandbox,
    latest: Container | undefined,
  ): Promise<Container | undefined> {
    const { probes, runtime } = this.#context;
    if (latest !== undefined && latest.state !== "exited") {
      if (latest.state === "created") {
        // A killed agent had made it and not got further.
        await runtime.removeContainer(latest.id);
        return this.#start(pod, spec, sandbox, latest.config.attempt);
      }
      probes.watch({ containerId: latest.id, spec, podIP: sandbox.ip });
      const failed = probes.failed(latest.id);
      if (failed !== undefined && !this.#stopping.has(latest.id)) {
        this.#event(
          pod,
          "Normal",
          "Killing",
          `Container ${spec.name} failed ${failed.type} probe, will be restarted`,
        );
        this.#stop(pod, spec, latest, Number(pod.spec.terminationGracePeriodSeconds ?? 30), false);
      }
      return latest;
    }
    if (latest !== undefined) probes.forget(latest.id);
    if (latest !== undefined && !restarts(pod, spec, latest)) return undefined;
    // A start that failed stands in the status until the next, also where the container had crashed before.
    const failedAt = this.#configFailedAt.get(spec.name);
    const wait = failedAt === undefined ? 0 : this.#setUps.left(spec.name, failedAt);
    if (wait > 0) {
      this.#context.requeueAfter(this.uid, wait);
      return undefined;
    }
    if (latest === undefined)
      return this.#start(
        pod,
        spec,
        sandbox,
        this.#nextAttempts.get(spec.name) ?? attemptAfterReset(pod, spec),
      );
    const finished = latest.finishedAt ?? latest.createdAt;
    const left = this.#crashes.left(spec.name, finished);
    if (left > 0) {
      const { namespace, name } = pod.metadata;
      const who = `restarting failed container=${spec.name} pod=${name}_${namespace}(${this.uid})`;
      this.#waiting.set(spec.name, {
        reason: "CrashLoopBackOff",
        message: `back-off ${durationText(BigInt(Math.round(this.#crashes.delay(spec.name) * 1e6)))} ${who}`,
      });
      if (!this.#told.has(latest.id)) {
        this.#told.add(latest.id);
        this.#event(
          pod,
          "Warning",
          "BackOff",
          `Back-off restarting failed container ${spec.name} in pod ${name}_${namespace}(${this.uid})`,
        );
      }
      this.#context.requeueAfter(this.uid, left);
      return undefined;
    }
    this.#crashes.next(spec.name, finished);
    return this.#start(pod, spec, sandbox, latest.config.attempt + 1);
  }

  async #start(
    pod: Pod,
    spec: ContainerSpec,
    sandbox: Sandbox,
    attempt: number,
  ): Promise<Container | undefined> {
    const { runtime, log, probes, clock } = this.#context;
    // It may have been deleted while a driver or another container took its time.
    const now = this.#context.pod(this.uid);
    if (now === undefined || now.metadata.deletionTimestamp !== undefined || this.#context.signal.aborted)
      return undefined;
    let container: Container | undefined;
    try {
      runtime.ensureImage(spec.image ?? "", (spec.command ?? []).length > 0);
      this.#eventOnce(
        pod,
        "Normal",
        "Pulled",
        `Container image "${spec.image}" is not pulled on this runtime: its command runs on the host`,
        spec,
      );
      const env = await containerEnvironment(pod, spec, {
        ...this.#context,
        node: this.#context.node(),
        podIP: sandbox.ip,
        hostIP: this.#context.nodeAddress,
      });
      const value = new Map(env);
      container = await runtime.createContainer(sandbox.id, {
        name: spec.name,
        attempt,
        image: spec.image ?? "",
        command: (spec.command ?? []).map((text) => expandFrom(text, value)),
        args: (spec.args ?? []).map((text) => expandFrom(text, value)),
        workingDir: spec.workingDir || undefined,
        env,
        mounts: this.#mounts(pod, spec, value),
        cdiDevices: this.#context.dra.cdiDevices(pod, spec),
        logPath: this.#logPath(pod, spec.name, attempt),
        terminationMessagePath: spec.terminationMessagePath ?? "/dev/termination-log",
        hash: createHash("sha256").update(encodeJSON(spec)).digest("hex").slice(0, 16),
        init: (pod.spec.initContainers ?? []).some(({ name }) => name === spec.name),
        stdin: spec.stdin ?? false,
        stdinOnce: spec.stdinOnce ?? false,
        tty: spec.tty ?? false,
      });
      this.#event(pod, "Normal", "Created", `Created container: ${spec.name}`);
      const left = await runtime.startContainer(container.id);
      if (left.length > 0)
        this.#eventOnce(
          pod,
          "Warning",
          "UnsupportedCDIEdits",
          `Container ${spec.name} runs without the ${left.join(", ")} of its CDI devices: this runtime does not support them`,
          spec,
        );
    } catch (error) {
      const reason = error instanceof RuntimeError ? error.reason : "CreateContainerError";
      const message = shortened((error as Error).message);
      this.#waiting.set(spec.name, { reason, message });
      this.#event(pod, "Warning", "Failed", `Error: ${message}`);
      // What has begun and could not go on counts as an end, and is repeated as the policy says.
      const tried = runtime.listContainers().find(({ id }) => id === container?.id);
      if (tried?.state === "exited") this.#context.requeue(this.uid);
      else {
        if (tried !== undefined) await runtime.removeContainer(tried.id);
        this.#setUps.next(spec.name);
        this.#configFailedAt.set(spec.name, clock.now());
        this.#context.requeueAfter(this.uid, this.#setUps.delay(spec.name));
      }
      log.info({ pod: pod.metadata.name, container: spec.name, reason, message }, "container not started");
      return undefined;
    }
    this.#waiting.delete(spec.name);
    this.#setUps.forget(spec.name);
    this.#configFailedAt.delete(spec.name);
    this.#event(pod, "Normal", "Started", `Started container ${spec.name}`);
    probes.watch({ containerId: container.id, spec, podIP: sandbox.ip });
    await this.#postStart(pod, spec, container, sandbox);
    await this.#prune(spec.name);
    return runtime.listContainers().find(({ id }) => id === container.id);
  }

  async #postStart(pod: Pod, spec: ContainerSpec, container: Container, sandbox: Sandbox): Promise<void> {
    const hook = spec.lifecycle?.postStart;
    if (hook === undefined) return;
    const target = { containerId: container.id, spec, podIP: sandbox.ip };
    const problem = await runHook(hook, target, this.#context, 30_000);
    if (problem === undefined) return;
    this.#event(pod, "Warning", "FailedPostStartHook", `PostStartHook failed: ${problem}`);
    this.#stop(pod, spec, container, Number(pod.spec.terminationGracePeriodSeconds ?? 30), true);
  }

  /** Keeps the latest container of a name and the one before it, whose log can still be read. */
  async #prune(name: string): Promise<void> {
    for (const container of (this.#containers().get(name) ?? []).slice(2))
      await this.#context.runtime.removeContainer(container.id);
  }

  #mounts(pod: Pod, spec: ContainerSpec, env: ReadonlyMap<string, string>): MountConfig[] {
    return (spec.volumeMounts ?? []).map((mount) => {
      const place = this.#places?.get(mount.name);
      if (place === undefined)
        throw new RuntimeError("CreateContainerConfigError", `volume ${mount.name} is not set up`);
      const subPath = mount.subPathExpr ? expandFrom(mount.subPathExpr, env) : (mount.subPath ?? "");
      let hostPath = place;
      if (subPath !== "")
        try {
          if (subPath.split("/").includes("..") || subPath.startsWith("/"))
            throw new Error(`${JSON.stringify(subPath)} must be relative and must not contain ".."`);
          // Nothing is made on the machine outside the node's root.
          hostPath = resolveSubPath(place, subPath, place.startsWith(`${this.#context.paths.root}/`));
        } catch (error) {
          throw new RuntimeError(
            "CreateContainerConfigError",
            `failed to prepare subPath for volumeMount "${mount.name}" of container "${spec.name}": ${(error as Error).message}`,
            { cause: error },
          );
        }
      const kind = pod.spec.volumes?.find(({ name }) => name === mount.name);
      const generated = !kind?.emptyDir && !kind?.hostPath;
      return {
        hostPath,
        containerPath: mount.mountPath.replace(/(.)\/+$/, "$1"),
        readOnly: (mount.readOnly ?? false) || generated,
      };
    });
  }

  #logPath(pod: Pod, container: string, attempt: number): string {
    const { namespace, name } = pod.metadata;
    return join(this.#context.paths.podLogs, `${namespace}_${name}_${this.uid}`, container, `${attempt}.log`);
  }

  // --- Ending ---------------------------------------------------------------------------------------------------

  /** True when all main containers, or an init container for good, have ended and nothing restarts them. */
  #finishedByItself(pod: Pod): boolean {
    if (this.#triggersRestart(pod)) return false;
    const containers = this.#containers();
    const over = (spec: ContainerSpec): boolean => {
      const latest = containers.get(spec.name)?.[0];
      return latest?.state === "exited" && !restarts(pod, spec, latest);
    };
    const failedInit = (pod.spec.initContainers ?? []).some((spec) => {
      const latest = containers.get(spec.name)?.[0];
      return !isSidecar(spec) && over(spec) && latest?.exitCode !== 0;
    });
    return failedInit || pod.spec.containers.every(over);
  }

  /** Stops what runs, main containers before sidecars; then lets go of the claims. */
  async #end(pod: Pod, graceSeconds: number): Promise<void> {
    if (this.#ended) return;
    const containers = await this.#withoutUnstarted();
    const running = (spec: ContainerSpec): boolean =>
      (containers.get(spec.name) ?? []).some(({ state }) => state === "running");
    const sidecars = sidecarsOf(pod.spec).reverse();
    const first = [
      ...pod.spec.containers,
      ...(pod.spec.initContainers ?? []).filter((spec) => !isSidecar(spec)),
    ].filter(running);
    // One sidecar after the other, the last of the list first (KEP-753).
    const now = first.length > 0 ? first : sidecars.filter(running).slice(0, 1);
    for (const spec of now)
      for (const container of containers.get(spec.name) ?? [])
        if (container.state === "running") this.#stop(pod, spec, container, graceSeconds, true);
    if (now.length > 0) return;
    for (const all of containers.values()) for (const { id } of all) this.#context.probes.forget(id);
    await this.#cleanUp(pod);
    this.#ended = true;
  }

  /**
   * Removes containers that were created and not started: an agent was killed in between. Nothing of them can be
   * stopped, and in a pod that ends nothing will start them.
   */
  async #withoutUnstarted(): Promise<Map<string, Container[]>> {
    const containers = this.#containers();
    const unstarted = [...containers.values()].flat().filter(({ state }) => state === "created");
    if (unstarted.length === 0) return containers;
    for (const { id } of unstarted) await this.#context.runtime.removeContainer(id);
    return this.#containers();
  }

  /** Nothing runs: claims are let go before anyone is told that the pod has ended. */
  async #cleanUp(pod: Pod | undefined): Promise<void> {
    const { dra, runtime } = this.#context;
    for (const { id } of this.#sandboxes()) await runtime.stopPodSandbox(id);
    try {
      await dra.unprepare(this.uid, this.#context.signal);
    } catch (error) {
      const message = (error as Error).message;
      if (pod !== undefined)
        this.#event(
          pod,
          "Warning",
          "FailedUnprepareDynamicResources",
          `Failed to unprepare dynamic resources: ${message}`,
        );
      this.#setUpFailedAt ??= this.#context.clock.now();
      throw error;
    }
    this.#setUpFailedAt = undefined;
  }

  /** Begins to stop a container, or hurries a stop that takes longer than it now may. */
  #stop(pod: Pod, spec: ContainerSpec, container: Container, graceSeconds: number, tell: boolean): void {
    const { clock, runtime, log, probes } = this.#context;
    const until = clock.now() + graceSeconds * 1000;
    const known = this.#stopping.get(container.id);
    if (known !== undefined && known <= until) return;
    this.#stopping.set(container.id, until);
    probes.forget(container.id);
    if (known === undefined && tell) this.#event(pod, "Normal", "Killing", `Stopping container ${spec.name}`);
    const work = async (): Promise<void> => {
      const hook = spec.lifecycle?.preStop;
      const ip = this.#sandboxes()[0]?.ip ?? "";
      if (hook !== undefined && known === undefined && graceSeconds > 0) {
        const target = { containerId: container.id, spec, podIP: ip };
        const problem = await runHook(hook, target, this.#context, graceSeconds * 1000);
        if (problem !== undefined)
          this.#event(pod, "Warning", "FailedPreStopHook", `PreStopHook failed: ${problem}`);
      }
      // Two seconds at least, as upstream gives after a hook that took all the time.
      const left = Math.max(until - clock.now(), hook === undefined ? 0 : 2000);
      await runtime.stopContainer(container.id, left);
    };
    work()
      .catch((error: unknown) =>
        log.error({ container: container.id, err: error }, "cannot stop a container"),
      )
      .finally(() => {
        this.#stopping.delete(container.id);
        const left = runtime.listContainers().find(({ id }) => id === container.id);
        if (left?.state === "running") {
          log.warn({ container: container.id }, "a container still runs after it was stopped");
          this.#context.requeueAfter(this.uid, stopRetryMilliseconds);
        } else this.#context.requeue(this.uid);
      });
  }

  /** The API server has no such pod any more: whatever there is of it goes. */
  async #vanish(): Promise<void> {
    const { runtime, volumes } = this.#context;
    for (const containers of this.#containers().values())
      for (const { id, state } of containers) {
        this.#context.probes.forget(id);
        if (state !== "exited") await runtime.stopContainer(id, 1000);
      }
    // Said once: the pod's namespace may be gone, too, and what cannot be unprepared stays for ever.
    const first = this.#pod !== undefined && !this.#told.has(vanished);
    this.#told.add(vanished);
    await this.#cleanUp(first ? this.#pod : undefined);
    for (const { id } of this.#sandboxes()) await runtime.removePodSandbox(id);
    volumes.tearDown(this.uid);
    this.#removeLogs();
    this.#ended = true;
    this.#done = true;
  }

  /** By the UID alone: of a pod that went while no agent looked nothing else may be known. */
  #removeLogs(): void {
    const { podLogs } = this.#context.paths;
    for (const name of readdirSync(podLogs))
      if (name.endsWith(`_${this.uid}`)) rmSync(join(podLogs, name), { recursive: true, force: true });
  }

  async #delete(pod: Pod): Promise<void> {
    const { namespace, name, uid } = pod.metadata;
    try {
      await this.#context.client
        .resource(Pod)
        .delete({ namespace, name }, { gracePeriodSeconds: 0, preconditions: { uid } });
    } catch (error) {
      if (!StatusError.is(error, "NotFound") && !StatusError.is(error, "Conflict")) throw error;
    }
  }

  // --- Reporting ------------------------------------------------------------------------------------------------

  async #report(pod: Pod): Promise<void> {
    const { probes, clock, nodeAddress } = this.#context;
    const [sandbox] = this.#sandboxes();
    const status =
      this.#rejected && this.#failure !== undefined
        ? rejectedStatus(pod, this.#failure, clock.now())
        : podStatus({
            pod,
            now: clock.now(),
            nodeAddress,
            podIP: sandbox?.ip ?? pod.status?.podIP,
            sandboxReady: sandbox?.ready ?? false,
            containers: this.#containers(),
            waiting: this.#waiting,
            started: ({ id }) => probes.started(id),
            ready: ({ id }) => probes.ready(id) && !this.#stopping.has(id),
            restarting: this.#restarting ?? false,
            nextAttempts: this.#nextAttempts,
            failure: this.#failure,
            ending:
              pod.metadata.deletionTimestamp !== undefined || this.#failure !== undefined || this.#ended,
            ended: this.#ended,
          });
    await this.#statuses.report(pod, status);
  }

  #event(pod: Pod, type: "Normal" | "Warning", reason: string, message: string): void {
    this.#context.events.event(pod, type, reason, message);
  }

  #eventOnce(
    pod: Pod,
    type: "Normal" | "Warning",
    reason: string,
    message: string,
    container: ContainerSpec,
  ): void {
    const key = `${reason}/${container.name}`;
    if (this.#told.has(key)) return;
    this.#told.add(key);
    this.#event(pod, type, reason, message);
  }
}

function expandFrom(text: string, values: ReadonlyMap<string, string>): string {
  return expand(text, (name) => values.get(name));
}
