import { StatusError } from "@dray/api";
import { type ControllerRevision, StatefulSet, type StatefulSetStatus } from "@dray/api/apps/v1";
import { Pod, type PodTemplateSpec } from "@dray/api/core/v1";
import {
  type Client,
  type EventRecorder,
  hasReached,
  type Informer,
  isNamespaceTerminating,
} from "@dray/client";
import { controllerReference } from "../shared/owners.ts";
import { writeStatus } from "../shared/status.ts";
import type { StatefulClaims } from "./claims.ts";
import type { StatefulSteps } from "./plan.ts";
import { ordinalsOf, podNameOf, repairedPod, statefulPod } from "./pods.ts";
import type { StatefulUpdate } from "./status.ts";

/** Pods made in one go. */
const burst = 500;

interface Parts {
  readonly sets: Informer<StatefulSet>;
  readonly pods: Informer<Pod>;
  readonly claims: StatefulClaims;
  readonly recorder: EventRecorder;
}

/** Writes of the StatefulSet controller; each waits for the cache to have what it wrote. */
export class StatefulWrites {
  readonly #client: Client;
  readonly #sets: Informer<StatefulSet>;
  readonly #pods: Informer<Pod>;
  readonly #claims: StatefulClaims;
  readonly #recorder: EventRecorder;

  constructor(client: Client, { sets, pods, claims, recorder }: Parts) {
    this.#client = client;
    this.#sets = sets;
    this.#pods = pods;
    this.#claims = claims;
    this.#recorder = recorder;
  }

  async setStatus(set: StatefulSet, status: StatefulSetStatus): Promise<void> {
    const written = await writeStatus(this.#client, StatefulSet, set, status);
    if (written !== set) await this.#sets.until(() => hasReached(this.#sets, written));
  }

  /** Returns whether anything had to be done. */
  async perform(set: StatefulSet, steps: StatefulSteps, revisions: StatefulUpdate): Promise<boolean> {
    let changed = false;
    for (const { ordinal, pod } of steps.pending) {
      await this.#claims.create(set, ordinal);
      await this.#claims.retain(set, ordinal, pod);
    }
    for (const { ordinal, pod } of steps.keep) if (await this.#repair(set, ordinal, pod)) changed = true;
    for (const { ordinal, pod } of steps.condemned) await this.#claims.retain(set, ordinal, pod);
    for (const ordinal of steps.create.slice(0, burst))
      if (await this.#createPod(set, ordinal, revisions)) changed = true;
    await Promise.all(steps.remove.map((pod) => this.#deletePod(set, pod)));
    return changed || steps.remove.length > 0;
  }

  /** False in a namespace that is being deleted. */
  async #createPod(set: StatefulSet, ordinal: number, revisions: StatefulUpdate): Promise<boolean> {
    const { name, namespace } = set.metadata;
    const podName = podNameOf(set, ordinal);
    const revision = takesCurrent(set, ordinal) ? revisions.current : revisions.update;
    const { metadata, spec } = statefulPod(set, ordinal, templateOf(revision), revision.metadata.name);
    try {
      await this.#claims.create(set, ordinal);
      const pod = await this.#client.resource(Pod).create({
        metadata: {
          ...metadata,
          namespace,
          generateName: `${name}-`,
          ownerReferences: [controllerReference(StatefulSet, set)],
        },
        spec,
      });
      await this.#pods.until(() => hasReached(this.#pods, pod));
      this.#recorder.event(
        set,
        "Normal",
        "SuccessfulCreate",
        `Create Pod ${podName} in StatefulSet ${name} successful`,
      );
      await this.#claims.retain(set, ordinal, pod);
      return true;
    } catch (error) {
      if (isNamespaceTerminating(error)) return false;
      const text = error instanceof Error ? error.message : String(error);
      // Another's pod of this name, or ours that the cache has not seen: no news.
      if (!StatusError.is(error, "AlreadyExists")) {
        const message = `Create Pod ${podName} in StatefulSet ${name} failed error: ${text}`;
        this.#recorder.event(set, "Warning", "FailedCreate", message);
      }
      throw error;
    }
  }

  async #deletePod(set: StatefulSet, pod: Pod): Promise<void> {
    const { namespace, name, uid } = pod.metadata;
    const ref = { namespace, name };
    const about = `Delete Pod ${name} in StatefulSet ${set.metadata.name}`;
    try {
      await this.#client.resource(Pod).delete(ref, { preconditions: { uid } });
      this.#recorder.event(set, "Normal", "SuccessfulDelete", `${about} successful`);
    } catch (error) {
      // Gone, or another pod under the same name: what was wanted.
      if (!StatusError.is(error, "NotFound") && !StatusError.is(error, "Conflict")) {
        const text = error instanceof Error ? error.message : String(error);
        this.#recorder.event(set, "Warning", "FailedDelete", `${about} failed error: ${text}`);
        throw error;
      }
    }
    await this.#pods.until(() => {
      const now = this.#pods.get(ref);
      return now?.metadata.uid !== uid || now.metadata.deletionTimestamp !== undefined;
    });
  }

  /** True if the pod had to be changed. */
  async #repair(set: StatefulSet, ordinal: number, pod: Pod): Promise<boolean> {
    await this.#claims.retain(set, ordinal, pod);
    const repaired = repairedPod(set, pod, ordinal);
    if (repaired === undefined) return false;
    const about = `Update Pod ${pod.metadata.name} in StatefulSet ${set.metadata.name}`;
    try {
      await this.#claims.create(set, ordinal);
      const updated = await this.#client.resource(Pod).update(repaired);
      await this.#pods.until(() => hasReached(this.#pods, updated));
      this.#recorder.event(set, "Normal", "SuccessfulUpdate", `${about} successful`);
      return true;
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      this.#recorder.event(set, "Warning", "FailedUpdate", `${about} failed error: ${text}`);
      throw error;
    }
  }
}

/** Below the partition a pod that is lost comes back as it was. */
function takesCurrent(set: StatefulSet, ordinal: number): boolean {
  const { type, rollingUpdate } = set.spec.updateStrategy ?? {};
  const { start } = ordinalsOf(set);
  if (rollingUpdate !== undefined) return ordinal < start + (rollingUpdate.partition ?? 0);
  return type === "RollingUpdate" && ordinal < start + (set.status?.currentReplicas ?? 0);
}

function templateOf(revision: ControllerRevision): PodTemplateSpec {
  const { spec } = revision.data as { spec: { template: PodTemplateSpec & { $patch?: string } } };
  const { $patch: _, ...template } = spec.template;
  return template;
}
