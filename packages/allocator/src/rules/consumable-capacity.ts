import { Quantity, quoted } from "@dray/api";
import type {
  CapacityRequestPolicy,
  CapacityRequestPolicyRange,
  CapacityRequirements,
} from "@dray/api/resource/v1";
import type { DeviceRecord } from "../devices/device-record.ts";
import type { Amounts } from "../devices/device-state.ts";
import type { Features } from "../features/features.ts";
import type { Policies } from "../features/policies.ts";

/** What one device gives to a request of its capacities (KEP-5075). */
export type CapacityDemand =
  /** By capacity: what is consumed, as it is reported and in billionths, and what the device has. */
  | { readonly type: "consumes"; readonly parts: readonly CapacityPart[] }
  /** The device cannot serve such a request, however little of it is in use. */
  | {
      readonly type: "refused";
      readonly key: string;
      readonly asked: string;
      /** The device has no such capacity, not that much of it, or its policy does not allow the amount. */
      readonly reason: "missing" | "size" | "policy";
    }
  /** The whole attempt fails. */
  | { readonly type: "error"; readonly message: string };

export interface CapacityPart {
  readonly key: string;
  readonly consumed: Quantity;
  readonly amount: bigint;
  readonly value: bigint;
}

/** Nothing is asked, and nothing is there to be consumed. */
const nothing: CapacityDemand = { type: "consumes", parts: [] };
const maxInt64 = 2n ** 63n - 1n;

class NotRepresentable extends Error {}

/** What a request consumes of a device: of every capacity, also of those that it does not name. */
export function capacityDemand(
  { device, driver }: DeviceRecord,
  requirements: CapacityRequirements | undefined,
  { features, policies }: { readonly features: Features; readonly policies: Policies },
): CapacityDemand {
  const fractional = features.fractionalCapacityRange;
  const capacities = device.capacity ?? {};
  const asked = requirements?.requests ?? {};
  const requests = policies.capacityNamesByDriver ? renamed(asked, capacities, driver) : asked;
  for (const [key, asked] of Object.entries(requests)) {
    if (!Object.hasOwn(capacities, key)) return { type: "refused", key, asked, reason: "missing" };
  }
  const keys = Object.keys(capacities);
  if (keys.length === 0) return nothing;
  const parts: (CapacityPart & { readonly policy: CapacityRequestPolicy | undefined })[] = [];
  for (const key of keys) {
    const { value, requestPolicy: policy } = capacities[key]!;
    const whole = Quantity.parse(value);
    const wanted = Object.hasOwn(requests, key) ? Quantity.parse(requests[key]!) : undefined;
    let consumed: Quantity;
    try {
      consumed = consumedBy(wanted, whole, policy, fractional);
    } catch (error) {
      if (!(error instanceof NotRepresentable)) throw error;
      return { type: "error", message: `capacity ${quoted(key)}: ${error.message}` };
    }
    if (consumed.sign < 0) {
      return { type: "error", message: `capacity ${quoted(key)}: capacity value is negative` };
    }
    parts.push({ key, consumed, amount: consumed.nanoValue(), value: whole.nanoValue(), policy });
  }
  // What cannot be represented comes before what is merely too much.
  for (const { key, consumed, amount, value, policy } of parts) {
    const reason = violates(consumed, policy, fractional) ? "policy" : amount > value ? "size" : undefined;
    if (reason === undefined) continue;
    return { type: "refused", key, asked: requests[key] ?? consumed.toString(), reason };
  }
  return { type: "consumes", parts: parts.map(({ policy: _, ...part }) => part) };
}

/** Whether as much is left of each capacity as is asked, beside what others consume. */
export function fitsBeside(parts: readonly CapacityPart[], consumed: Amounts | undefined): boolean {
  return parts.every(({ key, amount, value }) => (consumed?.get(key) ?? 0n) + amount <= value);
}

/** Requests by the spelling that the device uses: `driver/name` and, in the driver's own domain, `name` are one. */
export function renamed(
  requests: Readonly<Record<string, string>>,
  capacities: Readonly<Record<string, unknown>>,
  driver: string,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(requests).map(([key, value]) => {
      const other = key.startsWith(`${driver}/`) ? key.slice(driver.length + 1) : `${driver}/${key}`;
      return [!Object.hasOwn(capacities, key) && Object.hasOwn(capacities, other) ? other : key, value];
    }),
  );
}

function consumedBy(
  asked: Quantity | undefined,
  whole: Quantity,
  policy: CapacityRequestPolicy | undefined,
  fractional: boolean,
): Quantity {
  if (asked === undefined) return policy?.default === undefined ? whole : Quantity.parse(policy.default);
  if (policy?.validRange?.min !== undefined) return roundUp(asked, policy.validRange, fractional);
  if (policy?.validValues === undefined) return asked;
  const values = policy.validValues.map((value) => Quantity.parse(value));
  return values.find((value) => asked.compare(value) <= 0) ?? asked;
}

/** The smallest step of the range that is not less. Throws NotRepresentable. */
function roundUp(asked: Quantity, range: CapacityRequestPolicyRange, fractional: boolean): Quantity {
  const least = Quantity.parse(range.min!);
  if (asked.compare(least) < 0) return least;
  if (range.step === undefined) return asked;
  const step = Quantity.parse(range.step);
  const cannot = (reason: string): never => {
    throw new NotRepresentable(
      `capacity request cannot be represented in the device's range arithmetic: ${reason}`,
    );
  };
  if (inMilli(range, fractional)) {
    const milli = exactMilli(asked) ?? cannot(`request ${asked} is not a representable milli value`);
    const rounded = stepUp(milli, least.milliValue(), step.milliValue());
    if (rounded > maxInt64) {
      cannot(`rounding request ${asked} up to the next step passes the milli-value range`);
    }
    return rounded % 1000n === 0n
      ? Quantity.of(rounded / 1000n, step.format)
      : Quantity.ofMilli(rounded, step.format);
  }
  if (asked.compare(Quantity.of(maxInt64)) > 0) cannot(`request ${asked} exceeds MaxInt64`);
  const rounded = stepUp(asked.value(), least.value(), step.value());
  if (least.sign >= 0 && rounded > maxInt64) {
    cannot(`rounding request ${asked} up to the next step passes MaxInt64`);
  }
  return Quantity.of(BigInt.asIntN(64, rounded), step.format);
}

/** A step of 0, which a server before 1.37 may have stored, means none. */
function stepUp(value: bigint, least: bigint, step: bigint): bigint {
  if (step === 0n) return value;
  const above = value - least;
  // Rounded towards zero and then up, as in Go, also where the step is negative.
  const steps = above / step + (above % step === 0n ? 0n : 1n);
  return least + step * steps;
}

function violates(
  consumed: Quantity,
  policy: CapacityRequestPolicy | undefined,
  fractional: boolean,
): boolean {
  if (policy === undefined) return false;
  if (policy.default !== undefined && identical(consumed, Quantity.parse(policy.default))) return false;
  if (policy.validRange !== undefined) return outside(consumed, policy.validRange, fractional);
  const values = policy.validValues ?? [];
  return values.length > 0 && !values.some((value) => Quantity.parse(value).equals(consumed));
}

function identical(a: Quantity, b: Quantity): boolean {
  return a.format === b.format && a.equals(b);
}

function outside(consumed: Quantity, range: CapacityRequestPolicyRange, fractional: boolean): boolean {
  if (range.max !== undefined && consumed.compare(Quantity.parse(range.max)) > 0) return true;
  if (range.step === undefined) return false;
  const step = Quantity.parse(range.step);
  const least = Quantity.parse(range.min ?? "0");
  const milli = inMilli(range, fractional);
  const value = milli ? exactMilli(consumed) : consumed.value();
  if (value === undefined) return true;
  const size = milli ? step.milliValue() : step.value();
  return size !== 0n && (value - (milli ? least.milliValue() : least.value())) % size !== 0n;
}

/** Whether a range is computed in thousandths: all its bounds can be, and the step is one at least. */
function inMilli(range: CapacityRequestPolicyRange, fractional: boolean): boolean {
  if (!fractional) return false;
  for (const bound of [range.min, range.max, range.step]) {
    if (bound !== undefined && exactMilli(Quantity.parse(bound)) === undefined) return false;
  }
  return range.step === undefined || Quantity.parse(range.step).milliValue() >= 1n;
}

/** In thousandths, where nothing is lost and an int64 holds it. */
function exactMilli(quantity: Quantity): bigint | undefined {
  const milli = quantity.milliValue();
  if (milli > maxInt64 || milli < -maxInt64 - 1n) return undefined;
  return Quantity.ofMilli(milli).equals(quantity) ? milli : undefined;
}
