import type { Service } from "@dray/api/core/v1";
import type { ServiceCIDR } from "@dray/api/networking/v1";
import { heldAddresses } from "../kinds/core/service/addresses.ts";
import type { ServiceAllocator } from "../kinds/core/service/allocator.ts";
import { type AddressRange, addressNumber, addressText, parseRange } from "../kinds/core/service/ranges.ts";
import { deepEqual } from "../storage/json.ts";
import type { OwnObjects } from "../write/own-objects.ts";

type Ranges = readonly [AddressRange, ...AddressRange[]];

/** Changes the ServiceCIDR `kubernetes` to these ranges, if it exists. */
export async function moveServiceCIDR(own: OwnObjects, ranges: Ranges): Promise<void> {
  const served = own.served("networking.k8s.io", "servicecidrs");
  const present = own.find(served, "", "kubernetes") as ServiceCIDR | undefined;
  const cidrs = ranges.map(({ text }) => text);
  if (present === undefined || deepEqual(present.spec?.cidrs, cidrs)) return;
  await own.change(served, present, (draft) => {
    (draft as ServiceCIDR).spec = { cidrs };
  });
}

/**
 * Gives Services whose addresses are in no ServiceCIDR addresses of the first range. The service `kubernetes`
 * gets the first one. All ServiceCIDRs count, so that a start that was killed half-way is completed by the
 * next one.
 */
export async function renumberServices(
  own: OwnObjects,
  allocator: ServiceAllocator,
  [range]: Ranges,
): Promise<void> {
  const served = own.served("", "services");
  const known = own
    .list(own.served("networking.k8s.io", "servicecidrs"))
    .flatMap((cidr) => (cidr as ServiceCIDR).spec?.cidrs ?? [])
    .map(parseRange)
    .filter((each) => each !== undefined);
  for (const object of own.list(served) as Service[]) {
    const { namespace, name } = object.metadata;
    const [held] = heldAddresses(object);
    if (held === undefined || known.some((each) => holds(each, held))) continue;
    const isOwn = namespace === "default" && name === "kubernetes";
    const address = isOwn
      ? addressText(range.first, range.family)
      : allocator.addresses.choose(object, range.family, { addresses: new Set(), ports: new Set() });
    await own.change(served, object, (draft) => {
      Object.assign((draft as Service).spec, {
        clusterIP: address,
        clusterIPs: [address],
        ipFamilies: [range.family],
        ipFamilyPolicy: "SingleStack",
      });
    });
  }
}

function holds({ first, last, family }: AddressRange, address: string): boolean {
  const number = addressNumber(address);
  return (
    number !== undefined && address.includes(":") === (family === "IPv6") && number >= first && number <= last
  );
}
