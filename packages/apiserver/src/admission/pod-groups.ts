import type { PodGroup, Workload } from "@dray/api/scheduling/v1alpha2";
import { objectKey } from "../storage/keys.ts";
import { type AdmissionPlugin, type AdmissionRequest, refused } from "./admission.ts";
import type { AdmissionContext } from "./context.ts";

const finalizer = "scheduling.k8s.io/podgroup-protection";

/**
 * Adds a finalizer to new pod groups; a controller removes it when none of their pods run.
 *
 * Upstream: plugin/pkg/admission/scheduling/podgroupprotection.
 */
export function podGroupProtection({ features }: AdmissionContext): AdmissionPlugin {
  return {
    mutate(request) {
      if (!features.enabled("GenericWorkload") || !createsGroup(request)) return;
      const { metadata } = request.object;
      if (metadata.finalizers?.includes(finalizer)) return;
      metadata.finalizers = [...(metadata.finalizers ?? []), finalizer];
    },
  };
}

/**
 * Rejects a group whose Workload or template does not exist. Only groups of 1.36 name them.
 *
 * Upstream: plugin/pkg/admission/podgroup of 1.36.
 */
export function podGroupWorkloadExists({ features, storage }: AdmissionContext): AdmissionPlugin {
  return {
    validate(request) {
      if (features.version !== "1.36" || !features.enabled("GenericWorkload")) return;
      if (!createsGroup(request)) return;
      const reference = request.object.spec.podGroupTemplateRef?.workload;
      if (reference === undefined) return;
      const { workloadName, podGroupTemplateName } = reference;
      const workload = storage.cache("workloads").get(objectKey("workloads", request.namespace, workloadName))
        ?.object as Workload | undefined;
      const called = JSON.stringify(workloadName);
      if (workload === undefined) throw refused(request, `PodGroup rejected: Workload ${called} not found`);
      if (workload.metadata.deletionTimestamp !== undefined)
        throw refused(request, `PodGroup rejected: Workload ${called} is being deleted`);
      if (workload.spec.podGroupTemplates?.some(({ name }) => name === podGroupTemplateName)) return;
      const template = JSON.stringify(podGroupTemplateName);
      throw refused(
        request,
        `PodGroup rejected: PodGroupTemplate ${template} not found in Workload ${called}`,
      );
    },
  };
}

function createsGroup(
  request: AdmissionRequest,
): request is AdmissionRequest & { readonly object: PodGroup } {
  const { operation, served, subresource, object } = request;
  if (operation !== "CREATE" || subresource !== "" || object === undefined) return false;
  return served.group === "scheduling.k8s.io" && served.resource === "podgroups";
}
