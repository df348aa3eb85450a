import type { Device } from "./topology.ts";

/** Whether devices of one NUMA node come before the plugin's preference (the kubelet's `--topology-manager-policy`). */
export type TopologyPolicy = "none" | "best-effort";

export interface Choice {
  readonly resource: string;
  readonly required: number;
  /** Devices of init containers that have ended before this container starts. */
  readonly reusable: ReadonlySet<string>;
  /** Healthy devices that nobody holds, in the plugin's order. */
  readonly available: readonly Device[];
  /** NUMA nodes that the devices should be near to; undefined where that does not matter. */
  readonly affinity: ReadonlySet<number> | undefined;
  readonly policy: TopologyPolicy;
  /** The plugin's preference among devices; undefined where it has none. */
  preferred(
    available: readonly string[],
    mustInclude: readonly string[],
    size: number,
  ): Promise<readonly string[] | undefined>;
}

/**
 * Chooses devices: reusable ones first, then those that are aligned (the plugin's preferred ones of them first), then
 * preferred, unaligned, and those without topology. Throws if there are too few.
 *
 * With the policy `none` the plugin chooses among all that are available, as with the kubelet; where it has no
 * preference the kubelet takes any, and this the aligned ones first.
 *
 * Upstream: pkg/kubelet/cm/devicemanager/manager.go, devicesToAllocate.
 */
export async function chooseDevices(choice: Choice): Promise<ReadonlySet<string>> {
  const { resource, required, reusable, affinity, policy } = choice;
  const chosen = new Set<string>();
  /** True once there are enough. */
  const take = (ids: Iterable<string>): boolean => {
    for (const id of ids) {
      if (chosen.size >= required) break;
      chosen.add(id);
    }
    return chosen.size >= required;
  };
  if (take(reusable)) return chosen;

  const available = choice.available.filter(({ id }) => !chosen.has(id));
  const needed = required - chosen.size;
  if (available.length < needed)
    throw new Error(
      `requested number of devices unavailable for ${resource}. Requested: ${needed}, Available: ${available.length}`,
    );
  const { aligned, unaligned, noTopology } = byAffinity(available, affinity);
  const prefer = async (among: readonly string[]): Promise<readonly string[]> => {
    const inclusive = [...chosen];
    const preferred = await choice.preferred([...inclusive, ...among], inclusive, required);
    const allowed = new Set(among);
    return (preferred ?? []).filter((id) => allowed.has(id));
  };
  if (policy === "best-effort") {
    if (needed < aligned.length) {
      take(await prefer(aligned));
      take(aligned);
      return chosen;
    }
    if (take(aligned)) return chosen;
  }
  take(await prefer(available.map(({ id }) => id).filter((id) => !chosen.has(id))));
  take(aligned);
  take(unaligned);
  take(noTopology);
  return chosen;
}

function byAffinity(
  devices: readonly Device[],
  affinity: ReadonlySet<number> | undefined,
): Readonly<Record<"aligned" | "unaligned" | "noTopology", readonly string[]>> {
  const lists = { aligned: [] as string[], unaligned: [] as string[], noTopology: [] as string[] };
  for (const { id, numaNodes } of devices)
    if (numaNodes.length === 0 || affinity === undefined) lists.noTopology.push(id);
    else if (numaNodes.some((node) => affinity.has(node))) lists.aligned.push(id);
    else lists.unaligned.push(id);
  return lists;
}
