import type { LifecycleHandler, Pod } from "@dray/api/core/v1";
import { sleep } from "@dray/client";
import { shortened } from "../../base/text.ts";
import { containerConfig } from "../../containers/container-config.ts";
import type { VolumeImage } from "../../containers/mounts.ts";
import type { ProbeTarget } from "../../lifecycle/handlers.ts";
import { runHook } from "../../lifecycle/hooks.ts";
import { removeLog } from "../../logs/log-rotation.ts";
import type { ContainerConfig, TargetContainer } from "../../runtime/config.ts";
import { RuntimeError } from "../../runtime/error.ts";
import type { Container } from "../../runtime/service.ts";
import type { StartableContainer } from "../../types/containers.ts";
import { crashKey } from "../back-off.ts";
import type { PodAction } from "../pod-actions.ts";
import type { PodState } from "../pod-state.ts";

/** Limit of a postStart hook in milliseconds; upstream has none but the life of the pod. */
const postStartTimeout = 24 * 60 * 60 * 1000;

type StartAction = PodAction & { type: "start" };

/**
 * Starts a container, and runs its postStart hook. Returns false if the start failed and is tried again
 * later.
 */
export async function startContainer(state: PodState, pod: Pod, action: StartAction): Promise<boolean> {
  const { spec, sandbox, crashedAt } = action;
  const { context, events } = state;
  // A driver or another container may have taken a while.
  if (!stillWanted(state)) return false;
  if (crashedAt !== undefined) state.crashes.next(crashKey(spec), crashedAt);
  const attempt = new StartAttempt(state, pod, action);
  let id: string;
  try {
    id = await attempt.run();
  } catch (error) {
    return attempt.failed(error as Error);
  }
  state.failedStarts.delete(spec.name);
  state.starts.succeeded(spec.name);
  events.record(pod, { type: "Normal", reason: "Started", message: `Started container ${spec.name}` });
  const target = { podUid: state.uid, containerId: id, spec, podIP: sandbox.ips[0] ?? "" };
  context.probes.watch(target);
  const hook = spec.lifecycle?.postStart;
  const problem = hook === undefined ? undefined : await runPostStart(state, pod, hook, target);
  const { containers } = await state.observe();
  const all = containers.get(spec.name) ?? [];
  const started = all.find((one) => one.id === id);
  if (problem !== undefined && started !== undefined) {
    events.warn(pod, "FailedPostStartHook", `PostStartHook failed: ${problem}`);
    stopAfterHook(state, pod, target, started);
  }
  await removeOlder(state, all);
  return true;
}

/** The pod may have been deleted since the action was planned. */
function stillWanted({ context, uid }: PodState): boolean {
  const now = context.pod(uid);
  return now !== undefined && now.metadata.deletionTimestamp === undefined && !context.signal.aborted;
}

class StartAttempt {
  readonly #state: PodState;
  readonly #pod: Pod;
  readonly #action: StartAction;
  #id: string | undefined;

  constructor(state: PodState, pod: Pod, action: StartAction) {
    this.#state = state;
    this.#pod = pod;
    this.#action = action;
  }

  /** Resolves with the ID of the container. Rejects with RuntimeError. */
  async run(): Promise<string> {
    const { context, events, resize } = this.#state;
    const { spec, sandbox } = this.#action;
    const { service } = context.runtime;
    const config = await this.#config();
    const { id, unsupported, warnings = [] } = await service.createContainer(sandbox.id, config);
    this.#id = id;
    resize.started(id, spec, this.#pod);
    context.at("container created");
    const message = `Created container: ${spec.name}`;
    events.record(this.#pod, { type: "Normal", reason: "Created", message });
    events.warnUnsupported(this.#pod, `Container ${spec.name}`, unsupported, service.name);
    for (const text of warnings)
      events.warnOnce(this.#pod, "UnsupportedByRuntime", `Container ${spec.name}: ${text}`);
    await service.startContainer(id);
    context.at("container started");
    return id;
  }

  async #config(): Promise<ContainerConfig> {
    const { context, events, images, volumes } = this.#state;
    const { spec, sandbox, attempt } = this.#action;
    const { runtime } = context;
    const pod = this.#pod;
    const image = await images.ensure(pod, spec);
    if (!runtime.images.pulls) {
      const message = `Container image "${spec.image}" is not pulled on this runtime: its command runs on the host`;
      events.recordOnce(pod, { type: "Normal", reason: "Pulled", message }, spec.name);
    }
    const volumeImages = await volumeImagesOf(this.#state, pod, spec);
    const input = {
      pod,
      container: spec,
      attempt,
      image,
      podIPs: sandbox.ips,
      volumes: volumes.mounted ?? new Map(),
      volumeImages,
      target: await this.#target(),
    };
    return containerConfig(input, {
      ...context,
      runsAsRoot: runtime.service.runsAsRoot ?? true,
      recursiveReadOnly: runtime.service.recursiveReadOnly ?? false,
      checksMounts: runtime.service.checksMounts ?? false,
      ownNetwork: runtime.service.nodeNetwork !== undefined,
      // Without images, containers are processes of the machine: users of their own that see its files
      // read-only.
      writesMachine: runtime.images.pulls,
      cdiDevices: (one, container) => context.dra.cdiDevices(one, container),
      deviceOptions: (one, container) => context.devicePlugins.container(one, container),
    });
  }

  /** Upstream: pkg/kubelet/kuberuntime/kuberuntime_container.go, getTargetID. */
  async #target(): Promise<TargetContainer | undefined> {
    const { spec } = this.#action;
    const name = "targetContainerName" in spec ? spec.targetContainerName : undefined;
    if (!name) return undefined;
    const { containers } = await this.#state.observe();
    const [target] = containers.get(name) ?? [];
    if (target !== undefined) return { id: target.id, name };
    throw new RuntimeError("CreateContainerConfigError", `unable to find target container ${name}`);
  }

  /** Returns true if the container exists and counts as one that has ended, which its policy may restart. */
  async failed(error: Error): Promise<boolean> {
    const { context, events, failedStarts, uid } = this.#state;
    const { name } = this.#action.spec;
    const reason = error instanceof RuntimeError ? error.reason : "CreateContainerError";
    const message = shortened(error.message);
    failedStarts.set(name, { reason, message });
    events.warn(this.#pod, "Failed", `Error: ${message}`);
    const pod = this.#pod.metadata.name;
    context.log.info({ pod, container: name, reason, message }, "container not started");
    const { service } = context.runtime;
    const container = (await service.listContainers(uid)).find((one) => one.id === this.#id);
    if (container?.state === "exited") return true;
    if (container !== undefined) await service.removeContainer(container.id);
    this.#state.retryLater(name);
    return false;
  }
}

/**
 * Images that the container mounts, by name of the volume. Rejects with RuntimeError.
 *
 * Upstream: pkg/kubelet/kuberuntime/kuberuntime_manager.go, getImageVolumes (KEP-4639).
 */
async function volumeImagesOf(
  { context, events, images }: PodState,
  pod: Pod,
  spec: StartableContainer,
): Promise<ReadonlyMap<string, VolumeImage>> {
  const { runtime } = context;
  const found = new Map<string, VolumeImage>();
  for (const { name } of spec.volumeMounts ?? []) {
    const { image } = pod.spec.volumes?.find((volume) => volume.name === name) ?? {};
    if (image === undefined || found.has(name)) continue;
    const { reference = "", pullPolicy } = image;
    if (!runtime.images.pulls) {
      const message = `Container ${spec.name} cannot run: volume "${name}" is an image, and the runtime "${runtime.service.name}" has no files of images`;
      events.warnOnce(pod, "UnsupportedByRuntime", message, `${spec.name}/${name}`);
      throw new RuntimeError("CreateContainerConfigError", message);
    }
    const policy = pullPolicy === undefined ? {} : { imagePullPolicy: pullPolicy };
    const { ref } = await images.ensure(pod, { image: reference, ...policy });
    found.set(name, { ref, name: reference });
  }
  return found;
}

/** Runs the hook until it ends or the pod is deleted. Resolves with the problem, or undefined. */
async function runPostStart(
  state: PodState,
  pod: Pod,
  hook: LifecycleHandler,
  target: ProbeTarget,
): Promise<string | undefined> {
  const { clock, runtime } = state.context;
  let problem: string | undefined;
  const over = new AbortController();
  const tools = { runtime: runtime.service, clock };
  const end = runHook({ pod, hook, target, timeout: postStartTimeout }, tools).then((result) => {
    problem = result;
    over.abort();
  });
  while (!over.signal.aborted && stillWanted(state))
    await Promise.race([end, sleep(clock, 1000, over.signal)]);
  return problem;
}

function stopAfterHook(
  { stops, context }: PodState,
  pod: Pod,
  { spec, podIP }: ProbeTarget,
  container: Container,
): void {
  context.probes.forget(container.id);
  const graceSeconds = Number(pod.spec.terminationGracePeriodSeconds ?? 30);
  stops.begin({ pod, spec, container, graceSeconds, message: "FailedPostStartHook", podIP });
}

/** Keeps the latest container of a name, and the one before it, whose log can still be read. */
async function removeOlder({ context }: PodState, latestFirst: readonly Container[]): Promise<void> {
  for (const old of latestFirst.slice(2)) {
    await context.runtime.service.removeContainer(old.id);
    await removeLog(old.config.logPath);
  }
}
