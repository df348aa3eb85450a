import type { Pod } from "@dray/api/core/v1";
import { setDefaults } from "@dray/api/defaults";
import type { PriorityClass } from "@dray/api/scheduling/v1";
import { choosePriority, systemPriorityClasses, tolerateOutages } from "@dray/apiserver/objects";
import { type Located, placeText } from "../manifests/place.ts";
import type { World } from "../manifests/world.ts";
import type { OriginPod } from "./workloads.ts";

/** The priority classes that were given, and those that every cluster has. */
function priorityClasses(world: World): PriorityClass[] {
  const given = world.all("PriorityClass").map(({ object }) => object);
  const names = new Set(given.map(({ metadata }) => metadata.name));
  const built = systemPriorityClasses.filter(({ name }) => !names.has(name));
  return [
    ...given,
    ...built.map(({ name, value }) => ({ metadata: { name }, value }) as unknown as PriorityClass),
  ];
}

/**
 * What defaults and admission do to new pods (priority, tolerations of node outages), in place. Pods that a server
 * has given a priority are left as they are. Answers what would be refused.
 */
export function admitPods(world: World, pods: readonly OriginPod[], now: string): string[] {
  const classes = priorityClasses(world);
  const problems = new Set<string>();
  const given = new Set(world.all("Pod").map(({ object }: Located<Pod>) => object));
  for (const { object: pod, place, origin, path } of pods) {
    if (!given.has(pod)) setDefaults("", "v1", "Pod", pod, now);
    // A server sets both or neither.
    if (pod.spec.priority !== undefined && pod.spec.preemptionPolicy !== undefined) continue;
    const why = choosePriority(pod.spec, classes);
    if (why !== undefined) {
      const known = classes.map(({ metadata }) => metadata.name).join(", ");
      problems.add(`${placeText(place)}: ${origin} is forbidden: ${path}: ${why}; there are ${known}`);
    }
    tolerateOutages(pod.spec);
  }
  return [...problems];
}
