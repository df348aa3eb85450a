import type { Pod } from "@dray/api/core/v1";
import type { PriorityClass } from "@dray/api/scheduling/v1";
import { forbidden } from "../response.ts";
import { objectKey } from "../storage/keys.ts";
import type { AdmissionPlugin } from "./admission.ts";
import type { AdmissionContext } from "./plugins.ts";

/** Gives every pod the number that its priority class means. */
export function priority({ storage }: AdmissionContext): AdmissionPlugin {
  const cache = storage.cache("priorityclasses");
  const defaultClass = (): PriorityClass | undefined =>
    [...cache.range(cache.prefix)]
      .map(({ object }) => object as PriorityClass)
      .filter((candidate) => candidate.globalDefault)
      .sort((a, b) => (a.value ?? 0) - (b.value ?? 0))[0];
  return {
    name: "Priority",
    mutate({ served, subresource, object, old, operation, name }) {
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
      const className = spec.priorityClassName ?? "";
      const chosen =
        className === ""
          ? defaultClass()
          : (cache.get(objectKey("priorityclasses", "", className))?.object as PriorityClass | undefined);
      if (className !== "" && chosen === undefined) {
        throw forbidden(served, name, `no PriorityClass with name ${className} was found`);
      }
      const value = chosen?.value ?? 0;
      const policy = chosen?.preemptionPolicy ?? "PreemptLowerPriority";
      if (spec.priority !== undefined && spec.priority !== value) {
        throw forbidden(
          served,
          name,
          `the integer value of priority (${spec.priority}) must not be provided in pod spec; priority admission controller computed ${value} from the given PriorityClass name`,
        );
      }
      if (spec.preemptionPolicy !== undefined && spec.preemptionPolicy !== policy) {
        throw forbidden(
          served,
          name,
          `the string value of PreemptionPolicy (${spec.preemptionPolicy}) must not be provided in pod spec; priority admission controller computed ${policy} from the given PriorityClass name`,
        );
      }
      if (chosen) spec.priorityClassName = chosen.metadata.name;
      spec.priority = value;
      spec.preemptionPolicy = policy;
    },
  };
}
