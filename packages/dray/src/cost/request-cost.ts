import { Quantity } from "@dray/api";
import { maxDevices, type RequestedDevices } from "@dray/api/quota";
import { either, exactly, type HeldAmounts, nothing, type Ranges } from "./amounts.ts";
import type { Range } from "./data.ts";
import type { SuitableDevice, SuitableDevices } from "./suitable-devices.ts";

const zero = Quantity.of(0);

export interface RequestCost {
  readonly held: HeldAmounts;
  /** Number of suitable devices; undefined: no devices are known. */
  readonly suitable: number | undefined;
}

/** Returns what one way to satisfy a request holds, on whichever node it is allocated. */
export function requestCost(request: RequestedDevices, devices: SuitableDevices | undefined): RequestCost {
  const nodes = devices?.byNode(request);
  const suitable = nodes && new Set(nodes.flat().map(({ id }) => id)).size;
  // Admin access leaves the devices to others (KEP-5018).
  if (request.adminAccess) return { held: nothing, suitable };
  const perNode = (nodes ?? []).flatMap((found) => onNode(request, found) ?? []);
  const [first, ...others] = perNode;
  if (first === undefined) return { held: asAsked(request), suitable };
  return { held: others.reduce(either, first), suitable };
}

/** Returns what is asked for, where no device says how much of it that is. */
function asAsked({ count, body }: RequestedDevices): HeldAmounts {
  const asked = Object.entries(body.capacity?.requests ?? {});
  const devices: Range<Quantity> =
    count === "All" ? { least: Quantity.of(1), most: Quantity.of(maxDevices) } : exactly(Quantity.of(count));
  const capacity = asked.map(([name, text]): [string, Range<Quantity>] => {
    const one = Quantity.parse(text);
    const times = (number: Quantity): Quantity => one.multiply(number.value());
    return [name, { least: times(devices.least), most: times(devices.most) }];
  });
  return { devices, capacity: new Map(capacity), counters: new Map() };
}

/** Returns what the request holds of a node's devices; undefined if the node has too few. */
function onNode(request: RequestedDevices, found: readonly SuitableDevice[]): HeldAmounts | undefined {
  const count = request.count === "All" ? found.length : Number(request.count);
  if (count > maxDevices) return undefined;
  if (found.length < count && !found.some(({ isShared }) => isShared)) return undefined;
  return {
    devices: exactly(Quantity.of(count)),
    capacity: rangesOf(found, count, ({ capacity }) => capacity),
    counters: rangesOf(found, count, ({ counters }) => counters),
  };
}

/** Returns, for each name, the sums of the `count` smallest and of the `count` largest amounts. */
function rangesOf(
  found: readonly SuitableDevice[],
  count: number,
  amounts: (device: SuitableDevice) => ReadonlyMap<string, Quantity>,
): Ranges {
  const names = new Set(found.flatMap((device) => [...amounts(device).keys()]));
  return new Map(
    [...names].map((name) => {
      const sorted = found
        // A device that can be shared may serve the request several times.
        .flatMap((device) =>
          Array<Quantity>(device.isShared ? count : 1).fill(amounts(device).get(name) ?? zero),
        )
        .sort((a, b) => a.compare(b));
      const sum = (part: readonly Quantity[]): Quantity => part.reduce((a, b) => a.add(b), zero);
      return [name, { least: sum(sorted.slice(0, count)), most: sum(sorted.slice(-count)) }];
    }),
  );
}
