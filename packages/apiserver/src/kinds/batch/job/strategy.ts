import type { Job } from "@dray/api/batch/v1";
import { labelAsTemplate } from "../../core/pod-template/labels.ts";
import type { Strategy } from "../../strategy.ts";

const warning =
  "child pods are preserved by default when jobs are deleted; " +
  "set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning";

/**
 * A new job selects its pods by its own uid, unless it says that it chooses by itself; the job is a draft.
 */
export function selectOwnPods({ spec, metadata }: Job): void {
  if (!spec || spec.manualSelector) return;
  const own = {
    "job-name": metadata.name ?? "",
    "batch.kubernetes.io/job-name": metadata.name ?? "",
    "controller-uid": metadata.uid,
    "batch.kubernetes.io/controller-uid": metadata.uid,
  };
  const { template } = spec;
  const given = template.metadata?.labels;
  const labels = { ...own, ...given };
  // Labels that a job has got from its template are the template's.
  if (given !== undefined && metadata.labels === given) metadata.labels = { ...labels };
  template.metadata = { ...template.metadata, labels };
  const selected = { "batch.kubernetes.io/controller-uid": metadata.uid };
  spec.selector = { ...spec.selector, matchLabels: { ...selected, ...spec.selector?.matchLabels } };
}

export const jobStrategy: Strategy<Job> = {
  prepareForCreate: (object) => selectOwnPods(object),

  complete(object) {
    labelAsTemplate(object, object.spec?.template);
  },

  // The default from before the garbage collector.
  garbageCollection: "orphan",

  warnOfDeletion: (options) => (options.propagationPolicy === undefined ? [warning] : []),
};
