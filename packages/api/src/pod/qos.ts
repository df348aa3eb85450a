import type { Container, Pod, ResourceRequirements } from "../generated/core/v1.ts";
import { Quantity } from "../values/quantity.ts";

const counted = ["cpu", "memory"] as const;

function positive(list: Readonly<Record<string, string>> | undefined, name: string): Quantity | undefined {
  const text = list?.[name];
  const quantity = text === undefined ? undefined : Quantity.parse(text);
  return quantity !== undefined && quantity.sign > 0 ? quantity : undefined;
}

/** True where cpu and memory are both limited, and requests are no smaller. */
function guaranteed(resources: ResourceRequirements | undefined): boolean {
  return counted.every((name) => {
    const limit = positive(resources?.limits, name);
    if (limit === undefined) return false;
    const request = positive(resources?.requests, name);
    return request === undefined || request.equals(limit);
  });
}

function asksForNothing(resources: ResourceRequirements | undefined): boolean {
  return counted.every((name) => !positive(resources?.limits, name) && !positive(resources?.requests, name));
}

/** The quality of service of a pod by its requests and limits of cpu and memory; the server sets it once. */
export function podQosClass({ spec }: Pick<Pod, "spec">): "Guaranteed" | "Burstable" | "BestEffort" {
  const asPod = spec.resources !== undefined && spec.resources !== null;
  const containers: readonly Container[] = [...(spec.initContainers ?? []), ...(spec.containers ?? [])];
  const all = asPod ? [spec.resources] : containers.map((container) => container.resources);
  if (all.every(asksForNothing)) return "BestEffort";
  return all.every(guaranteed) ? "Guaranteed" : "Burstable";
}
