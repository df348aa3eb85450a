import type { Device } from "./topology.ts";

/**
 * Whether devices of one NUMA node are preferred over the plugin's preference (`--topology-manager-policy`).
 */
export type TopologyPolicy = "none" | "best-effort";

export interface Choice {
  readonly resource: string;
  readonly required: number;
  /** Devices of init containers that have ended before this container starts. */
  readonly reusable: ReadonlySet<string>;
  /** Healthy devices that are not allocated, in the plugin's order. */
  readonly available: readonly Device[];
  /** Preferred NUMA nodes; undefined if any will do. */
  readonly affinity: ReadonlySet<number> | undefined;
  readonly policy: TopologyPolicy;
  /** Devices that the plugin prefers; undefined if it has no preference. */
  preferred(
    available: readonly string[],
    mustInclude: readonly string[],
    size: number,
  ): Promise<readonly string[] | undefined>;
}

/**
 * Chooses devices: reusable ones first, then aligned ones (those that the plugin prefers first), then
 * preferred, unaligned, and those without topology. Throws if there are too few.
 *
 * With the policy `none` the plugin chooses among all available devices, as upstream; without a preference
 * upstream takes any, and this function the aligned ones first.
 *
 * Upstream: pkg/kubelet/cm/devicemanager/manager.go, devicesToAllocate.
 */
export async function chooseDevices(choice: Choice): Promise<ReadonlySet<string>> {
  const { resource, required, reusable, affinity, policy } = choice;
  const chosen = new Set<string>();
  /** Returns true once there are enough. */
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
