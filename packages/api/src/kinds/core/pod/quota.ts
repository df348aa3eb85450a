import type { Pod, PodAffinityTerm, ScopedResourceSelectorRequirement } from "../../../generated/core/v1.ts";
import type { KubeObject } from "../../../objects/object.ts";
import { isPodTerminal } from "../../../pod/phase.ts";
import { podQosClass } from "../../../pod/qos.ts";
import { hasPodLevelResources, podLimits, podRequests } from "../../../pod/resources.ts";
import { type Amounts, addTo, amountsOf, one } from "../../../values/amounts.ts";
import { countName, type QuotaEvaluator, type QuotaLookup, selectsValue } from "../../quota-evaluator.ts";

const podCount = countName("", "pods");
const computed = ["cpu", "memory", "ephemeral-storage"];
const names = new Set([
  podCount,
  "pods",
  ...computed.flatMap((name) => [name, `requests.${name}`, `limits.${name}`]),
]);
/** A quota on one of these wants every container to say how much it takes. */
const compulsory = ["cpu", "memory"].flatMap((name) => [name, `requests.${name}`, `limits.${name}`]);
const hugePages = "hugepages-";
const requests = "requests.";
const deviceClassPrefix = "deviceclass.resource.kubernetes.io/";
const isNative = (name: string): boolean => !name.includes("/") || name.includes("kubernetes.io/");

/**
 * `requests.example.com/gpu` and the like: a resource that is not Kubernetes' own, or stands for a device
 * class.
 */
export function isExtendedQuotaName(name: string): boolean {
  if (!name.startsWith(requests)) return false;
  return !isNative(name) || name.startsWith(`${requests}${deviceClassPrefix}`);
}

/** Charges pods: what they request and may use, until they have ended. */
export function podEvaluator(lookup: Pick<QuotaLookup, "now" | "version">): QuotaEvaluator {
  return {
    handles({ operation, subresource, object, old }) {
      if (subresource === "resize") return operation === "UPDATE";
      if (subresource !== "") return false;
      if (operation === "CREATE") return true;
      // A deadline that is given later moves the pod to another scope.
      return operation === "UPDATE" && hasDeadline(object as Pod) !== hasDeadline(old as Pod);
    },
    matching: (wanted) =>
      wanted.filter(
        (name) =>
          names.has(name) ||
          name.startsWith(hugePages) ||
          name.startsWith(`${requests}${hugePages}`) ||
          isExtendedQuotaName(name),
      ),
    usage: (object) => podUsage(object as Pod, lookup),
    inScope: (requirement, object) => inScope(requirement, object as Pod),
    constraint: (restricted, object) => missing(restricted, object as Pod),
  };
}

/** Amounts charged for a pod; a finished pod counts as an object only. */
export function podUsage(pod: Pod, { now, version }: Pick<QuotaLookup, "now" | "version">): Amounts {
  const usage: Amounts = new Map([[podCount, one]]);
  const options = { useStatus: version };
  if (isCharged(pod, now())) addTo(usage, charge(podRequests(pod, options), podLimits(pod, options)));
  return usage;
}

function isCharged(pod: Pod, now: number): boolean {
  if (isPodTerminal(pod)) return false;
  const { deletionTimestamp, deletionGracePeriodSeconds } = pod.metadata;
  if (deletionTimestamp === undefined || deletionGracePeriodSeconds === undefined) return true;
  // A node that is lost must not hold the quota for ever: twice the grace is enough.
  return now <= Date.parse(deletionTimestamp) + Number(deletionGracePeriodSeconds) * 1000;
}

/** Requests and limits under the names that quotas give them. */
function charge(asked: Amounts, limits: Amounts): Amounts {
  const charged: Amounts = new Map([["pods", one]]);
  for (const [name, quantity] of asked) {
    const native = computed.includes(name) || name.startsWith(hugePages);
    if (native) charged.set(name, quantity);
    if (native || !isNative(name) || name.startsWith(deviceClassPrefix)) {
      charged.set(`${requests}${name}`, quantity);
    }
  }
  for (const name of computed) {
    const limit = limits.get(name);
    if (limit !== undefined) charged.set(`limits.${name}`, limit);
  }
  return charged;
}

function missing(restricted: readonly string[], pod: Pod): string | undefined {
  if (hasPodLevelResources(pod)) return undefined;
  const containers = [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])];
  const lacking = new Map<string, Set<string>>();
  for (const { name, resources } of containers) {
    const given = charge(amountsOf(resources?.requests), amountsOf(resources?.limits));
    for (const resource of restricted) {
      if (!compulsory.includes(resource) || given.has(resource)) continue;
      lacking.set(resource, (lacking.get(resource) ?? new Set()).add(name));
    }
  }
  if (lacking.size === 0) return undefined;
  const parts = [...lacking]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([resource, names]) => `${resource} for: ${[...names].sort().join(",")}`);
  return `must specify ${parts.join("; ")}`;
}

function inScope(requirement: ScopedResourceSelectorRequirement, pod: Pod): boolean {
  switch (requirement.scopeName) {
    case "Terminating":
      return hasDeadline(pod);
    case "NotTerminating":
      return !hasDeadline(pod);
    case "BestEffort":
      return podQosClass(pod) === "BestEffort";
    case "NotBestEffort":
      return podQosClass(pod) !== "BestEffort";
    case "PriorityClass":
      return selectsValue(requirement, pod.spec?.priorityClassName ?? "");
    case "CrossNamespacePodAffinity":
      return looksIntoOtherNamespaces(pod);
    default:
      return false;
  }
}

function hasDeadline(object: KubeObject): boolean {
  const seconds = (object as Pod).spec?.activeDeadlineSeconds;
  return seconds !== undefined && Number(seconds) >= 0;
}

function looksIntoOtherNamespaces({ spec }: Pod): boolean {
  const { podAffinity, podAntiAffinity } = spec?.affinity ?? {};
  const terms: PodAffinityTerm[] = [podAffinity, podAntiAffinity].flatMap((affinity) => [
    ...(affinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
    ...(affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map((term) => term.podAffinityTerm),
  ]);
  return terms.some((term) => (term.namespaces ?? []).length > 0 || term.namespaceSelector !== undefined);
}
