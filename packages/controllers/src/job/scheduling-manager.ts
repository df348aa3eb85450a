import { apiVersionOf } from "@dray/api";
import type { Job } from "@dray/api/batch/v1";
import { PodGroup, type PodGroupTemplate, Workload } from "@dray/api/scheduling/v1beta1";
import { type Client, type EventRecorder, hasReached, type Informer } from "@dray/client";
import type { ControllerContext } from "../shared/context.ts";
import { controllerOf } from "../shared/owners.ts";
import type { ServedResources } from "../shared/served-resources.ts";
import { refTo } from "../shared/status.ts";
import {
  groupMode,
  groupTemplateAnnotation,
  isNewJob,
  isOfOwner,
  podGroupOf,
  workloadOf,
} from "./workload.ts";

/** The caches of scheduling objects; undefined where Jobs have none. */
export interface GroupCaches {
  readonly workloads: Informer<Workload>;
  readonly groups: Informer<PodGroup>;
}

/** Gate WorkloadWithJob. A gate whose API is switched off is worth a warning: nothing would happen. */
export function groupCaches(
  { features, informers, log }: ControllerContext,
  served: Pick<ServedResources, "find"> | undefined,
): GroupCaches | undefined {
  if (served === undefined || !features.enabled("WorkloadWithJob")) return undefined;
  const apiVersion = apiVersionOf(Workload);
  if (served.find(apiVersion, Workload.kind) !== undefined)
    return { workloads: informers.of(Workload), groups: informers.of(PodGroup) };
  log.warn(
    { version: apiVersion },
    "Jobs get no Workloads and PodGroups: the feature gate is on, but the API server does not serve the version (--runtime-config)",
  );
  return undefined;
}

/**
 * Makes the Workload and the PodGroup of new Jobs, so that their pods are scheduled together and share the
 * claims of their group (KEP-5547, KEP-5729).
 *
 * Upstream: pkg/controller/job/job_scheduling_manager.go.
 */
export class JobSchedulingManager {
  readonly #client: Client;
  readonly #caches: GroupCaches;
  readonly #recorder: EventRecorder;

  constructor(client: Client, caches: GroupCaches, recorder: EventRecorder) {
    this.#client = client;
    this.#caches = caches;
    this.#recorder = recorder;
  }

  /** The group of the Job's pods; undefined if they are scheduled one by one. */
  async groupOf(job: Job, pods: number): Promise<PodGroup | undefined> {
    const mode = groupMode(job);
    if (mode === "none") return undefined;
    const isNew = isNewJob(job, pods);
    const workload = mode === "both" ? await this.#workloadOf(job, isNew) : this.#workloadOfOwner(job);
    const template = workload && templateFor(job, workload);
    if (workload === undefined || template === undefined) return undefined;
    const group = await this.#podGroupOf(job, workload, template, isNew);
    return group && this.#resize(group, template);
  }

  /** The Job's own Workload, made if it is new, with as many pods in its gang as the Job has now. */
  async #workloadOf(job: Job, isNew: boolean): Promise<Workload | undefined> {
    const { workloads } = this.#caches;
    const own = workloads.byIndex("controller", job.metadata.uid);
    // Several candidates are ambiguous.
    if (own.length > 1) return undefined;
    const wanted = workloadOf(job);
    if (own[0] === undefined) return isNew ? this.#createWorkload(job, wanted) : undefined;
    const [template, ...others] = own[0].spec.podGroupTemplates ?? [];
    if (template === undefined || others.length > 0)
      throw new Error(
        `workload ${job.metadata.namespace}/${own[0].metadata.name} has ${others.length + (template === undefined ? 0 : 1)} podGroupTemplates; expected exactly 1`,
      );
    const { gang } = wanted.spec.podGroupTemplates[0]!.schedulingPolicy;
    const { minCount } = template.schedulingPolicy.gang ?? {};
    if (gang === undefined || minCount === undefined || minCount === gang.minCount) return own[0];
    const podGroupTemplates = [{ ...template, schedulingPolicy: { gang } }];
    const updated = await this.#client
      .resource(Workload)
      .update({ ...own[0], spec: { ...own[0].spec, podGroupTemplates } });
    await workloads.until(() => hasReached(workloads, updated));
    return updated;
  }

  async #createWorkload(job: Job, wanted: ReturnType<typeof workloadOf>): Promise<Workload> {
    const { workloads } = this.#caches;
    const { name } = job.metadata;
    try {
      const workload = await this.#client.resource(Workload).create(wanted);
      await workloads.until(() => hasReached(workloads, workload));
      const message = `Created Workload ${workload.metadata.name} for Job ${name}`;
      this.#recorder.event(job, "Normal", "WorkloadCreated", message);
      return workload;
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      const message = `Failed to create Workload for Job ${name}: ${text}`;
      this.#recorder.event(job, "Warning", "FailedWorkloadCreate", message);
      throw error;
    }
  }

  #workloadOfOwner(job: Job): Workload | undefined {
    const owner = controllerOf(job);
    const candidates = this.#caches.workloads.byIndex("controller", owner?.uid ?? "");
    return candidates.find((workload) => isOfOwner(workload, job));
  }

  async #podGroupOf(
    job: Job,
    workload: Workload,
    template: PodGroupTemplate,
    isNew: boolean,
  ): Promise<PodGroup | undefined> {
    const { groups } = this.#caches;
    const own = groups
      .byIndex("controller", job.metadata.uid)
      .filter(({ spec }) => spec.workloadRef?.workloadName === workload.metadata.name);
    if (own.length > 1 || (own.length === 0 && !isNew)) return undefined;
    if (own[0] !== undefined) return own[0];
    const group = await this.#client.resource(PodGroup).create(podGroupOf(job, workload, template));
    await groups.until(() => hasReached(groups, group));
    const message = `Created PodGroup ${group.metadata.name} for Job ${job.metadata.name}`;
    this.#recorder.event(job, "Normal", "PodGroupCreated", message);
    return group;
  }

  /** The group with as many pods in its gang as its template has. */
  async #resize(group: PodGroup, { schedulingPolicy }: PodGroupTemplate): Promise<PodGroup> {
    const { groups } = this.#caches;
    const { gang } = schedulingPolicy;
    const minCount = group.spec.schedulingPolicy.gang?.minCount;
    if (gang === undefined || minCount === undefined || minCount === gang.minCount) return group;
    const patch = { metadata: { uid: group.metadata.uid }, spec: { schedulingPolicy: { gang } } };
    const updated = await this.#client.resource(PodGroup).patch(refTo(group), "merge", patch);
    await groups.until(() => hasReached(groups, updated));
    return updated;
  }
}

function templateFor({ metadata }: Job, { spec }: Workload): PodGroupTemplate | undefined {
  const name = metadata.annotations?.[groupTemplateAnnotation];
  const templates = spec.podGroupTemplates ?? [];
  return name === undefined ? templates[0] : templates.find((template) => template.name === name);
}
