import type { Pod, PodSpec } from "@dray/api/core/v1";
import type { PriorityClass } from "@dray/api/scheduling/v1";
import type { PodGroup } from "@dray/api/scheduling/v1beta1";
import { forbidden } from "../errors/status.ts";
import type { AdmissionPlugin } from "./admission.ts";
import type { AdmissionContext } from "./context.ts";

/** The priority classes that every cluster has. */
export const systemPriorityClasses = [
  {
    name: "system-cluster-critical",
    value: 2_000_000_000,
    description: "For what the cluster as a whole needs; may be moved to another node.",
  },
  {
    name: "system-node-critical",
    value: 2_000_001_000,
    description: "For what a node needs and that must not be moved from it.",
  },
];

type Classes = Iterable<PriorityClass>;

/** Returns the class of that name, or the default class; a message if it does not exist. */
function chosenClass(name: string | undefined, classes: Classes): PriorityClass | undefined | string {
  if (!name) return defaultClass(classes);
  const chosen = [...classes].find(({ metadata }) => metadata.name === name);
  return chosen ?? `no PriorityClass with name ${name} was found`;
}

/**
 * Sets the priority and the preemption policy of a new pod from its priority class. Returns the message if
 * that is forbidden, and leaves the pod unchanged then.
 */
export function choosePriority(spec: PodSpec, classes: Iterable<PriorityClass>): string | undefined {
  const chosen = chosenClass(spec.priorityClassName, classes);
  if (typeof chosen === "string") return chosen;
  const value = chosen?.value ?? 0;
  const policy = chosen?.preemptionPolicy ?? "PreemptLowerPriority";
  if (spec.priority !== undefined && spec.priority !== value) {
    return `the integer value of priority (${spec.priority}) must not be provided in pod spec; priority admission controller computed ${value} from the given PriorityClass name`;
  }
  if (spec.preemptionPolicy !== undefined && spec.preemptionPolicy !== policy) {
    return `the string value of PreemptionPolicy (${spec.preemptionPolicy}) must not be provided in pod spec; priority admission controller computed ${policy} from the given PriorityClass name`;
  }
  if (chosen) spec.priorityClassName = chosen.metadata.name;
  spec.priority = value;
  spec.preemptionPolicy = policy;
  return undefined;
}

/** A group of pods, or a group of such groups. */
type GroupSpec = Pick<PodGroup["spec"], "priorityClassName" | "priority" | "preemptionPolicy">;

/**
 * Sets the priority of a new group from its priority class, and its preemption policy if groups have one
 * (`hasPolicies`). Returns the message if that is forbidden, and leaves the group unchanged then.
 * Upstream: plugin/pkg/admission/priority/admission.go, admitPodGroup, admitCompositePodGroup.
 */
export function chooseGroupPriority(
  spec: GroupSpec,
  classes: Classes,
  kind: "pod group" | "composite pod group",
  hasPolicies: boolean,
): string | undefined {
  const chosen = chosenClass(spec.priorityClassName, classes);
  if (typeof chosen === "string") return chosen;
  const value = chosen?.value ?? 0;
  const policy = chosen?.preemptionPolicy ?? "PreemptLowerPriority";
  if (spec.priority !== undefined && spec.priority !== value)
    return `priority set in the ${kind} (${spec.priority}) must match the priority computed (${value}) based on the priority class set in the spec`;
  if (hasPolicies && spec.preemptionPolicy !== undefined && spec.preemptionPolicy !== policy)
    return `the string value of PreemptionPolicy (${spec.preemptionPolicy}) must not be provided in ${kind} spec; priority admission controller computed ${policy} from the given PriorityClass name`;
  if (chosen) spec.priorityClassName = chosen.metadata.name;
  spec.priority = value;
  if (hasPolicies) spec.preemptionPolicy = policy;
  return undefined;
}

/** Returns the default class; the one with the lowest value if there are several. */
function defaultClass(classes: Iterable<PriorityClass>): PriorityClass | undefined {
  let chosen: PriorityClass | undefined;
  for (const candidate of classes) {
    if (candidate.globalDefault && (candidate.value ?? 0) < (chosen?.value ?? Infinity)) chosen = candidate;
  }
  return chosen;
}

const groupKinds: ReadonlyMap<string, "pod group" | "composite pod group"> = new Map([
  ["podgroups", "pod group"],
  ["compositepodgroups", "composite pod group"],
]);

export function priority({ storage, features }: AdmissionContext): AdmissionPlugin {
  const cache = storage.cache("priorityclasses");
  function* classes(): Generator<PriorityClass> {
    for (const { object } of cache.range(cache.prefix)) yield object as PriorityClass;
  }
  const hasPolicies = features.enabled("PodGroupPreemptionPolicy");
  return {
    mutate({ served, subresource, object, old, operation, name }) {
      const group = served.group === "scheduling.k8s.io" ? groupKinds.get(served.resource) : undefined;
      if (group !== undefined && features.version >= "1.37") {
        if (operation !== "CREATE" || subresource !== "" || !object) return;
        const why = chooseGroupPriority((object as PodGroup).spec, classes(), group, hasPolicies);
        if (why !== undefined) throw forbidden(served, name, why);
        return;
      }
      if (served.resource !== "pods" || subresource !== "" || !object) return;
      const { spec } = object as Pod;
      if (!spec) return;
      if (operation === "UPDATE") {
        const before = (old as Pod).spec;
        if (spec.priority === undefined && before?.priority !== undefined) spec.priority = before.priority;
        if (spec.preemptionPolicy === undefined && before?.preemptionPolicy) {
          spec.preemptionPolicy = before.preemptionPolicy;
        }
        return;
      }
      if (operation !== "CREATE") return;
      const why = choosePriority(spec, classes());
      if (why !== undefined) throw forbidden(served, name, why);
    },
    validate({ served, object, operation, name }) {
      if (served.resource !== "priorityclasses") return;
      if (operation === "DELETE" && systemPriorityClasses.some((own) => own.name === name)) {
        throw forbidden(served, name, "this is a system priority class and cannot be deleted");
      }
      if (!(object as PriorityClass | undefined)?.globalDefault) return;
      const present = defaultClass(classes());
      if (present === undefined || (operation === "UPDATE" && present.metadata.name === name)) return;
      const why = `PriorityClass ${present.metadata.name} is already marked as default. Only one default can exist`;
      throw forbidden(served, name, why);
    },
  };
}
