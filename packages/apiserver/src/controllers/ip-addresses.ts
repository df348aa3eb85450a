import type { KubeObject } from "@dray/api";
import type { Service } from "@dray/api/core/v1";
import { heldAddresses } from "../kinds/core/service/addresses.ts";
import type { IPAddressWriter } from "../kinds/core/service/allocator.ts";
import { familyOf } from "../kinds/core/service/ranges.ts";
import type { OwnObjects } from "../write/own-objects.ts";

const managedBy = "ipaddress.kubernetes.io/managed-by";
const allocator = "ipallocator.k8s.io";

/** Writes IPAddress objects as upstream: named after the address, with the service as their parent. */
export function ipAddressWriter(own: OwnObjects): IPAddressWriter {
  const served = own.served("networking.k8s.io", "ipaddresses");
  return {
    create: (address, { metadata: { namespace = "", name } }) =>
      own.put(served, {
        apiVersion: "networking.k8s.io/v1",
        kind: "IPAddress",
        metadata: {
          name: address,
          labels: { "ipaddress.kubernetes.io/ip-family": familyOf(address), [managedBy]: allocator },
        },
        spec: { parentRef: { resource: "services", namespace, name } },
      }),
    remove: (address) => own.remove(served, address),
  };
}

/** Makes IPAddress objects consistent with the services, after a server that stopped in between. */
export async function repairAddresses(
  writer: IPAddressWriter,
  services: Iterable<KubeObject>,
  addresses: Iterable<KubeObject>,
): Promise<void> {
  const owners = new Map<string, Service>();
  for (const object of services) {
    for (const address of heldAddresses(object as Service)) owners.set(address, object as Service);
  }
  for (const { metadata } of [...addresses]) {
    const isOwn = metadata.labels?.[managedBy] === allocator;
    if (!owners.delete(metadata.name) && isOwn) await writer.remove(metadata.name);
  }
  for (const [address, service] of owners) await writer.create(address, service);
}
