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

/** Capacity that one device has to provide for a request (KEP-5075). */
export type CapacityDemand =
  | { readonly type: "consumes"; readonly parts: readonly CapacityPart[] }
  /** The device cannot serve the request, even if nothing of it is in use. */
  | {
      readonly type: "refused";
      readonly key: string;
      readonly asked: string;
      /** The capacity is missing, smaller than the request, or its policy forbids the amount. */
      readonly reason: "missing" | "size" | "policy";
    }
  /** Fails the whole attempt. */
  | { readonly type: "error"; readonly message: string };

/** Amount of one capacity of a device that a request consumes. */
export interface CapacityPart {
  readonly key: string;
  /** As reported in `consumedCapacity`. */
  readonly consumed: Quantity;
  /** The same in billionths. */
  readonly amount: bigint;
  /** Total of the device, in billionths. */
  readonly value: bigint;
}

const noDemand: CapacityDemand = { type: "consumes", parts: [] };
const maxInt64 = 2n ** 63n - 1n;

class NotRepresentableError extends Error {}

/** Returns the consumption of a request on a device: of every capacity, even of unrequested ones. */
export function capacityDemand(
  { device, driver }: Pick<DeviceRecord, "device" | "driver">,
  requirements: CapacityRequirements | undefined,
  { features, policies }: { readonly features: Features; readonly policies: Policies },
): CapacityDemand {
  const fractional = features.fractionalCapacityRange;
  const capacities = device.capacity ?? {};
  const asked = requirements?.requests ?? {};
  const requests = policies.capacityNamesByDriver ? withDeviceNames(asked, capacities, driver) : asked;
  for (const [key, asked] of Object.entries(requests)) {
    if (!Object.hasOwn(capacities, key)) return { type: "refused", key, asked, reason: "missing" };
  }
  const keys = Object.keys(capacities);
  if (keys.length === 0) return noDemand;
  const parts: (CapacityPart & { readonly policy: CapacityRequestPolicy | undefined })[] = [];
  for (const key of keys) {
    const { value, requestPolicy: policy } = capacities[key]!;
    const whole = Quantity.parse(value);
    const wanted = Object.hasOwn(requests, key) ? Quantity.parse(requests[key]!) : undefined;
    let consumed: Quantity;
    try {
      consumed = consumedBy(wanted, whole, policy, fractional);
    } catch (error) {
      if (!(error instanceof NotRepresentableError)) throw error;
      return { type: "error", message: `capacity ${quoted(key)}: ${error.message}` };
    }
    if (consumed.sign < 0) {
      return { type: "error", message: `capacity ${quoted(key)}: capacity value is negative` };
    }
    parts.push({ key, consumed, amount: consumed.nanoValue(), value: whole.nanoValue(), policy });
  }
  // After all amounts are computed: an error takes precedence over a refusal.
  for (const { key, consumed, amount, value, policy } of parts) {
    const reason = violatesPolicy(consumed, policy, fractional)
      ? "policy"
      : amount > value
        ? "size"
        : undefined;
    if (reason === undefined) continue;
    return { type: "refused", key, asked: requests[key] ?? consumed.toString(), reason };
  }
  return { type: "consumes", parts: parts.map(({ policy: _, ...part }) => part) };
}

/**
 * Returns the requests with which a device would have enough: the largest amount that is left and that its
 * request policy accepts, for each capacity of which it has too little. Undefined: no request helps.
 */
export function fittingRequests(
  { device, driver }: DeviceRecord,
  requirements: CapacityRequirements | undefined,
  consumed: Amounts,
  { features, policies }: { readonly features: Features; readonly policies: Policies },
): Readonly<Record<string, string>> | undefined {
  const fractional = features.fractionalCapacityRange;
  const capacities = device.capacity ?? {};
  const asked = requirements?.requests ?? {};
  const requests = policies.capacityNamesByDriver ? withDeviceNames(asked, capacities, driver) : asked;
  if (Object.keys(requests).some((key) => !Object.hasOwn(capacities, key))) return undefined;
  const fitting: Record<string, string> = {};
  for (const [key, { value, requestPolicy: policy }] of Object.entries(capacities)) {
    const whole = Quantity.parse(value);
    const left = whole.nanoValue() - (consumed.get(key) ?? 0n);
    const accepts = (wanted: Quantity | undefined): boolean =>
      isAccepted(wanted, left, { whole, policy, fractional });
    if (accepts(Object.hasOwn(requests, key) ? Quantity.parse(requests[key]!) : undefined)) continue;
    const amount = largestRequest(left, policy);
    if (amount === undefined || amount <= 0n) return undefined;
    const quantity = quantityOfNano(amount, whole.format);
    if (!accepts(quantity)) return undefined;
    fitting[key] = quantity.toString();
  }
  return fitting;
}

/** Reports whether the policy accepts the request, and `left` billionths suffice for it. */
function isAccepted(
  wanted: Quantity | undefined,
  left: bigint,
  {
    whole,
    policy,
    fractional,
  }: {
    readonly whole: Quantity;
    readonly policy: CapacityRequestPolicy | undefined;
    readonly fractional: boolean;
  },
): boolean {
  try {
    const amount = consumedBy(wanted, whole, policy, fractional);
    return !violatesPolicy(amount, policy, fractional) && amount.nanoValue() <= left;
  } catch (error) {
    if (!(error instanceof NotRepresentableError)) throw error;
    return false;
  }
}

/** Returns the largest amount up to `left`, in billionths, that the policy accepts as it is. */
function largestRequest(left: bigint, policy: CapacityRequestPolicy | undefined): bigint | undefined {
  const nano = (text: string): bigint => Quantity.parse(text).nanoValue();
  if (policy?.validRange !== undefined) {
    const { min, max, step } = policy.validRange;
    const low = min === undefined ? 0n : nano(min);
    const high = max === undefined || nano(max) > left ? left : nano(max);
    if (high < low) return undefined;
    const size = step === undefined ? 0n : nano(step);
    return size <= 0n ? high : low + ((high - low) / size) * size;
  }
  if (policy?.validValues === undefined || policy.validValues.length === 0) return left;
  return policy.validValues
    .map(nano)
    .filter((value) => value <= left)
    .reduce(
      (most: bigint | undefined, value) => (most === undefined || value > most ? value : most),
      undefined,
    );
}

/** Returns billionths as a quantity; without a format, in the shorter one. */
export function quantityOfNano(nano: bigint, format?: Quantity["format"]): Quantity {
  const units = nano / 1_000_000_000n;
  if (units * 1_000_000_000n !== nano) return Quantity.parse(`${nano}n`);
  const isBinary = units !== 0n && units % 1024n === 0n;
  return Quantity.of(units, format ?? (isBinary ? "BinarySI" : "DecimalSI"));
}

/** `10 to 50 in steps of 5`, `at most 50`, `only 10, 20`; undefined if the policy accepts every amount. */
export function policyText(policy: CapacityRequestPolicy | undefined): string | undefined {
  const { validRange, validValues = [] } = policy ?? {};
  if (validRange !== undefined) {
    const { min, max, step } = validRange;
    const limits = max === undefined ? `${min ?? "0"} and more` : `${min ?? "0"} to ${max}`;
    return step === undefined ? limits : `${limits} in steps of ${step}`;
  }
  return validValues.length === 0 ? undefined : `only ${validValues.join(", ")}`;
}

/** Reports whether each capacity suffices for the request in addition to `consumed`. */
export function fitsBeside(parts: readonly CapacityPart[], consumed: Amounts | undefined): boolean {
  return parts.every(({ key, amount, value }) => (consumed?.get(key) ?? 0n) + amount <= value);
}

/**
 * Returns requests with the names that the device uses: `driver/name` and, in the domain of the driver,
 * `name` are the same capacity (kubernetes#142202).
 */
export function withDeviceNames(
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
  const range = policy?.validRange;
  if (range?.min !== undefined) return roundUp(asked, Quantity.parse(range.min), range, fractional);
  if (policy?.validValues === undefined) return asked;
  const values = policy.validValues.map((value) => Quantity.parse(value));
  return values.find((value) => asked.compare(value) <= 0) ?? asked;
}

/** Returns the smallest step of the range that is not less than the request. Throws NotRepresentableError. */
function roundUp(
  asked: Quantity,
  min: Quantity,
  range: CapacityRequestPolicyRange,
  fractional: boolean,
): Quantity {
  if (asked.compare(min) < 0) return min;
  if (range.step === undefined) return asked;
  const step = Quantity.parse(range.step);
  const cannot = (reason: string): never => {
    throw new NotRepresentableError(
      `capacity request cannot be represented in the device's range arithmetic: ${reason}`,
    );
  };
  if (usesMilli(range, fractional)) {
    const milli = exactMilli(asked) ?? cannot(`request ${asked} is not a representable milli value`);
    const rounded = stepUp(milli, min.milliValue(), step.milliValue());
    if (rounded > maxInt64) {
      cannot(`rounding request ${asked} up to the next step passes the milli-value range`);
    }
    return rounded % 1000n === 0n
      ? Quantity.of(rounded / 1000n, step.format)
      : Quantity.ofMilli(rounded, step.format);
  }
  if (asked.compare(Quantity.of(maxInt64)) > 0) cannot(`request ${asked} exceeds MaxInt64`);
  const rounded = stepUp(asked.value(), min.value(), step.value());
  if (min.sign >= 0 && rounded > maxInt64) {
    cannot(`rounding request ${asked} up to the next step passes MaxInt64`);
  }
  return Quantity.of(BigInt.asIntN(64, rounded), step.format);
}

/** A step of 0, which a server before 1.37 may have stored, has no effect. */
function stepUp(value: bigint, min: bigint, step: bigint): bigint {
  if (step === 0n) return value;
  const above = value - min;
  // As in Go, for a negative step too: rounds towards zero, then up.
  const steps = above / step + (above % step === 0n ? 0n : 1n);
  return min + step * steps;
}

function violatesPolicy(
  consumed: Quantity,
  policy: CapacityRequestPolicy | undefined,
  fractional: boolean,
): boolean {
  if (policy === undefined) return false;
  if (policy.default !== undefined && isIdentical(consumed, Quantity.parse(policy.default))) return false;
  if (policy.validRange !== undefined) return isOutsideRange(consumed, policy.validRange, fractional);
  const values = policy.validValues ?? [];
  return values.length > 0 && !values.some((value) => Quantity.parse(value).equals(consumed));
}

function isIdentical(a: Quantity, b: Quantity): boolean {
  return a.format === b.format && a.equals(b);
}

function isOutsideRange(consumed: Quantity, range: CapacityRequestPolicyRange, fractional: boolean): boolean {
  if (range.max !== undefined && consumed.compare(Quantity.parse(range.max)) > 0) return true;
  if (range.step === undefined) return false;
  const step = Quantity.parse(range.step);
  const min = Quantity.parse(range.min ?? "0");
  const milli = usesMilli(range, fractional);
  const value = milli ? exactMilli(consumed) : consumed.value();
  if (value === undefined) return true;
  const size = milli ? step.milliValue() : step.value();
  return size !== 0n && (value - (milli ? min.milliValue() : min.value())) % size !== 0n;
}

/**
 * Reports whether a range is computed in thousandths: its bounds are exact in thousandths and the step is at
 * least one (gate DRAFractionalCapacityRange).
 */
function usesMilli(range: CapacityRequestPolicyRange, fractional: boolean): boolean {
  if (!fractional) return false;
  for (const bound of [range.min, range.max, range.step]) {
    if (bound !== undefined && exactMilli(Quantity.parse(bound)) === undefined) return false;
  }
  return range.step === undefined || Quantity.parse(range.step).milliValue() >= 1n;
}

/** Returns the quantity in thousandths; undefined if that is inexact or exceeds an int64. */
function exactMilli(quantity: Quantity): bigint | undefined {
  const milli = quantity.milliValue();
  if (milli > maxInt64 || milli < -maxInt64 - 1n) return undefined;
  return Quantity.ofMilli(milli).equals(quantity) ? milli : undefined;
}
