import type { KubernetesVersion } from "@dray/api";
import { setDefaults } from "@dray/api/defaults";
import { defaultPodLevelResources } from "@dray/api/pod";
import type { PriorityClass } from "@dray/api/scheduling/v1";
import type { PodGroup } from "@dray/api/scheduling/v1beta1";
import {
  chooseGroupPriority,
  choosePriority,
  systemPriorityClasses,
  tolerateOutages,
} from "@dray/apiserver/objects";
import type { World } from "../manifests/world.ts";
import { names } from "../text/words.ts";
import type { OriginPod } from "./workloads.ts";

/** Returns the given priority classes, and those of every cluster. */
function priorityClasses(world: World): PriorityClass[] {
  const given = world.all("PriorityClass").map(({ object }) => object);
  const known = new Set(given.map(({ metadata }) => metadata.name));
  const built = systemPriorityClasses.filter(({ name }) => !known.has(name));
  return [
    ...given,
    // Only the fields that the admission plugin reads.
    ...built.map(({ name, value }) => ({ metadata: { name }, value }) as unknown as PriorityClass),
  ];
}

const podKind = { group: "", version: "v1", kind: "Pod" };

/**
 * Applies defaults and admission to new pods (priority, tolerations of node outages), in place, to objects of
 * a cluster in a copy; rejected pods get the reason. Skips pods whose priority a server has set.
 */
export function admitPods(
  world: World,
  pods: readonly OriginPod[],
  now: string,
  version: KubernetesVersion,
): OriginPod[] {
  const classes = priorityClasses(world);
  const given = new Set(world.all("Pod").map(({ object }) => object));
  return pods.map((origin) => {
    const { path } = origin;
    if (!given.has(origin.object)) setDefaults(podKind, origin.object, { now, release: version });
    // A server sets both or neither.
    const { priority, preemptionPolicy } = origin.object.spec;
    if (priority !== undefined && preemptionPolicy !== undefined) return origin;
    const each = Object.isFrozen(origin.object)
      ? { ...origin, object: structuredClone(origin.object) }
      : origin;
    const { object: pod } = each;
    const why = choosePriority(pod.spec, classes);
    tolerateOutages(pod.spec);
    defaultPodLevelResources(pod.spec, version);
    if (why === undefined) return each;
    const at = `${path}.priorityClassName: "${pod.spec.priorityClassName}"`;
    if (!world.isReadable("PriorityClass")) {
      // The class may exist, with an unknown priority.
      pod.spec.priority = 0;
      return { ...each, hints: [`${at} counts as 0: PriorityClasses cannot be read`] };
    }
    const known = names(classes.map(({ metadata }) => metadata.name));
    const refusal = `pods "${pod.metadata.name}" is forbidden: ${why}`;
    return { ...each, refusal, hints: [`${at}: there are ${known}`] };
  });
}

/**
 * Returns the pod groups, new ones with the priority of their class. A missing class counts as 0, as for
 * pods.
 */
export function admittedGroups(world: World): PodGroup[] {
  const classes = priorityClasses(world);
  return world.all("PodGroup").map(({ object }) => {
    if (object.spec.priority !== undefined) return object;
    const spec = { ...object.spec };
    if (chooseGroupPriority(spec, classes, "pod group", false) !== undefined) spec.priority = 0;
    return { ...object, spec };
  });
}
