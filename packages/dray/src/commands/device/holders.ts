import { unixChannel } from "@dray/rpc";
import { type ContainerResources, PodResourcesListerDefinition } from "@dray/rpc/podresources/v1";

/** A device in a container, as the kubelet's pod resources API has it. */
export interface HeldDevice {
  /** Absent for a kubelet that only its socket names. */
  readonly node?: string;
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  /** Of a claim. */
  readonly claim?: string;
  readonly driver?: string;
  readonly pool?: string;
  readonly shareID?: string;
  readonly cdiDevices?: readonly string[];
  /** Of a device plugin. */
  readonly resource?: string;
  readonly device: string;
}

/** Where a kubelet serves the API. */
export interface KubeletSocket {
  readonly node?: string;
  readonly path: string;
}

const timeout = 10_000;
/** As kubelets let clients have: all pods of a node in one message. */
const maxReceiveBytes = 16 << 20;

/** Which containers of the kubelet's active pods have which devices (KEP-606, KEP-3695), sorted. */
export async function devicesHeld({ node, path }: KubeletSocket): Promise<HeldDevice[]> {
  const channel = unixChannel(path, { maxReceiveBytes });
  try {
    const { podResources } = await channel.caller(PodResourcesListerDefinition).list({}, { timeout });
    return podResources
      .flatMap(({ namespace, name, containers }) =>
        containers.flatMap((container) =>
          devicesOf(container).map((device) => ({
            ...(node !== undefined && { node }),
            namespace,
            pod: name,
            container: container.name,
            ...device,
          })),
        ),
      )
      .sort((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1));
  } finally {
    channel.close();
  }
}

const orderOf = ({ namespace, pod, container, driver, resource, pool, device }: HeldDevice): string =>
  JSON.stringify([namespace, pod, container, driver ?? resource, pool, device]);

function devicesOf({
  devices,
  dynamicResources,
}: ContainerResources): Omit<HeldDevice, "namespace" | "pod" | "container">[] {
  return [
    ...dynamicResources.flatMap(({ claimName, claimResources }) =>
      claimResources.map(({ driverName, poolName, deviceName, shareId, cdiDevices }) => ({
        claim: claimName,
        driver: driverName,
        pool: poolName,
        device: deviceName,
        ...(shareId !== undefined && { shareID: shareId }),
        cdiDevices: cdiDevices.map(({ name }) => name),
      })),
    ),
    ...devices.flatMap(({ resourceName, deviceIds }) =>
      deviceIds.map((device) => ({ resource: resourceName, device })),
    ),
  ];
}
