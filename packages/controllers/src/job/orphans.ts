import { Job } from "@dray/api/batch/v1";
import type { Pod } from "@dray/api/core/v1";
import type { Client, Informer, ObjectRef } from "@dray/client";
import { controllerOf, refersTo } from "../shared/owners.ts";
import { isTracked } from "./pods.ts";
import { isFinished } from "./status.ts";
import { ignoreNotFound, type JobWrites } from "./writes.ts";

const ownName = "kubernetes.io/job-controller";

/** Reports whether another controller manages the Job (KEP-4368). */
export const isForeign = ({ spec }: Job): boolean => (spec.managedBy ?? ownName) !== ownName;

/** Pods with the tracking finalizer that no Job counts any more. */
export class OrphanedPods {
  readonly #client: Client;
  readonly #jobs: Informer<Job>;
  readonly #pods: Informer<Pod>;
  readonly #writes: JobWrites;

  constructor(client: Client, jobs: Informer<Job>, pods: Informer<Pod>, writes: JobWrites) {
    this.#client = client;
    this.#jobs = jobs;
    this.#pods = pods;
    this.#writes = writes;
  }

  /** Reports whether no Job counts the pod: its finalizer would hold it for ever. */
  isOrphaned(pod: Pod): boolean {
    const controller = controllerOf(pod);
    if (controller === undefined) return true;
    if (!refersTo(Job, controller)) return false;
    const job = this.#jobs.get({ namespace: pod.metadata.namespace, name: controller.name });
    return job?.metadata.uid !== controller.uid || (isFinished(job) && !isForeign(job));
  }

  /** Takes the finalizer from the pod, if it is orphaned indeed. */
  async letGo(ref: ObjectRef): Promise<void> {
    const pod = this.#pods.get(ref);
    if (pod === undefined || !isTracked(pod) || !this.isOrphaned(pod)) return;
    const controller = controllerOf(pod);
    if (controller !== undefined) {
      // The cache of Jobs may be behind that of pods.
      const job = await this.#client
        .resource(Job)
        .get({ namespace: pod.metadata.namespace, name: controller.name })
        .catch(ignoreNotFound);
      if (job?.metadata.uid === controller.uid && (isForeign(job) || !isFinished(job))) return;
    }
    await this.#writes.release(pod);
  }
}
