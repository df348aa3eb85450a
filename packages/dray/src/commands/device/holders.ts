import { unixChannel } from "@dray/rpc";
import { type ContainerResources, PodResourcesListerDefinition } from "@dray/rpc/podresources/v1";

/** A device in a container, from the kubelet's pod resources API. */
export interface HeldDevice {
  /** Absent for a kubelet that is given by its socket only. */
  readonly node?: string;
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  /** The claim that has the device. */
  readonly claim?: string;
  readonly driver?: string;
  readonly pool?: string;
  readonly shareID?: string;
  readonly cdiDevices?: readonly string[];
  /** The resource of a device plugin. */
  readonly resource?: string;
  readonly device: string;
}

/** The socket of a kubelet's API. */
export interface KubeletSocket {
  readonly node?: string;
  readonly path: string;
}

const timeout = 10_000;
/** The kubelet's own limit for clients: all pods of a node are in one message. */
const maxReceiveBytes = 16 << 20;

/** Returns the devices of the containers of a kubelet's active pods (KEP-606, KEP-3695), sorted. */
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
