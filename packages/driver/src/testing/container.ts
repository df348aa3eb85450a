import { type ContainerEdits, cdiRegistry, type Mount } from "@dray/cdi";
import type { Device } from "@dray/rpc/dra/v1";

/** Edits of a container for a claim, as a runtime would apply them. */
export interface ContainerView {
  /** Names of the CDI devices that the runtime was asked for. */
  readonly cdiDevices: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly mounts: readonly Mount[];
  readonly deviceNodes: NonNullable<ContainerEdits["deviceNodes"]>;
  readonly netDevices: NonNullable<ContainerEdits["netDevices"]>;
  readonly hooks: NonNullable<ContainerEdits["hooks"]>;
  readonly additionalGids: readonly number[];
  readonly intelRdt?: ContainerEdits["intelRdt"];
}

/**
 * The view of a container that names the claim in `resources.claims`; with `request` only that request of it.
 * Rejects as a runtime would where a CDI device cannot be resolved.
 */
export async function viewContainer(
  cdiDirectory: string,
  devices: readonly Device[],
  request?: string,
): Promise<ContainerView> {
  const names = devices
    .filter(
      ({ requestNames }) =>
        request === undefined || requestNames.length === 0 || requestNames.includes(request),
    )
    .flatMap(({ cdiDeviceIds }) => cdiDeviceIds);
  // The kubelet names a device once.
  const cdiDevices = [...new Set(names)];
  const { env, mounts, deviceNodes, netDevices, hooks, additionalGids, intelRdt } = await cdiRegistry([
    cdiDirectory,
  ]).resolve(cdiDevices);
  return {
    cdiDevices,
    env: Object.fromEntries(
      env.map((one) => [one.slice(0, one.indexOf("=")), one.slice(one.indexOf("=") + 1)]),
    ),
    mounts,
    deviceNodes,
    netDevices,
    hooks,
    additionalGids,
    ...(intelRdt === undefined ? {} : { intelRdt }),
  };
}
