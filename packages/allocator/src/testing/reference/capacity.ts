import { Quantity, quoted } from "@dray/api";
import type {
  CapacityRequestPolicyRange,
  CapacityRequirements,
  Device,
  DeviceCapacity,
} from "@dray/api/resource/v1";
import { AttemptError, entry, isOn, type Question } from "./model.ts";

const maxInt64 = 2n ** 63n - 1n;
const notRepresentable = "capacity request cannot be represented in the device's range arithmetic";

/** Ends the attempt instead of skipping the device. */
class CapacityError extends Error {}

/**
 * Returns what one share consumes of each capacity of the device (KEP-5075). Throws AttemptError that begins
 * with `where`.
 */
export function consumption(
  question: Question,
  wanted: CapacityRequirements | undefined,
  device: Device,
  where: string,
): Map<string, Quantity> {
  const amounts = new Map<string, Quantity>();
  for (const [name, capacity] of Object.entries(device.capacity ?? {}).sort()) {
    try {
      const amount = amountOf(question, entry(wanted?.requests, name), capacity);
      if (amount.sign < 0) throw new CapacityError("capacity value is negative");
      amounts.set(name, amount);
    } catch (error) {
      if (!(error instanceof CapacityError)) throw error;
      throw new AttemptError(`${where}: capacity ${quoted(name)}: ${error.message}`);
    }
  }
  return amounts;
}

/** Reports whether the device has all requested capacities, and enough beside what `others` consume. */
export function fitsCapacity(
  question: Question,
  { wanted, device }: { readonly wanted: CapacityRequirements | undefined; readonly device: Device },
  others: readonly ReadonlyMap<string, string>[],
  where: string,
): boolean {
  const capacities = device.capacity ?? {};
  if (Object.keys(wanted?.requests ?? {}).some((name) => !Object.hasOwn(capacities, name))) return false;
  const amounts = consumption(question, wanted, device, where);
  return Object.entries(capacities).every(([name, capacity]) => {
    const amount = amounts.get(name)!;
    if (breaksPolicy(question, amount, capacity)) return false;
    const sum = others.reduce((total, other) => {
      const used = other.get(name);
      return used === undefined ? total : total.add(Quantity.parse(used));
    }, amount);
    return sum.compare(Quantity.parse(capacity.value)) <= 0;
  });
}

function amountOf(question: Question, text: string | undefined, capacity: DeviceCapacity): Quantity {
  const policy = capacity.requestPolicy;
  if (text === undefined) return Quantity.parse(policy?.default ?? capacity.value);
  const wanted = Quantity.parse(text);
  if (policy?.validRange?.min !== undefined) return roundUp(question, wanted, policy.validRange);
  const values = policy?.validValues?.map((value) => Quantity.parse(value)) ?? [];
  return values.find((value) => wanted.compare(value) <= 0) ?? wanted;
}

function roundUp(question: Question, wanted: Quantity, range: CapacityRequestPolicyRange): Quantity {
  const min = Quantity.parse(range.min!);
  if (wanted.compare(min) < 0) return min;
  if (range.step === undefined) return wanted;
  const step = Quantity.parse(range.step);
  const fail = (text: string): never => {
    throw new CapacityError(`${notRepresentable}: ${text}`);
  };
  if (inThousandths(question, range)) {
    const from = thousandths(wanted) ?? fail(`request ${wanted} is not a representable milli value`);
    const base = min.milliValue();
    const steps = stepsUp(from - base, step.milliValue());
    if (steps > (maxInt64 - base) / step.milliValue()) {
      fail(`rounding request ${wanted} up to the next step passes the milli-value range`);
    }
    const milli = base + step.milliValue() * steps;
    return milli % 1000n === 0n
      ? Quantity.of(milli / 1000n, step.format)
      : Quantity.ofMilli(milli, step.format);
  }
  if (wanted.compare(Quantity.of(maxInt64)) > 0) fail(`request ${wanted} exceeds MaxInt64`);
  const base = min.value();
  const steps = stepsUp(wanted.value() - base, step.value());
  if (base >= 0n && steps > (maxInt64 - base) / step.value()) {
    fail(`rounding request ${wanted} up to the next step passes MaxInt64`);
  }
  return Quantity.of(base + step.value() * steps, step.format);
}

const stepsUp = (distance: bigint, step: bigint): bigint =>
  distance / step + (distance % step === 0n ? 0n : 1n);

function breaksPolicy(
  question: Question,
  amount: Quantity,
  { requestPolicy: policy }: DeviceCapacity,
): boolean {
  if (policy === undefined) return false;
  if (policy.default !== undefined) {
    const standard = Quantity.parse(policy.default);
    if (standard.equals(amount) && standard.format === amount.format) return false;
  }
  const range = policy.validRange;
  if (range !== undefined) {
    if (range.max !== undefined && amount.compare(Quantity.parse(range.max)) > 0) return true;
    if (range.step === undefined) return false;
    const step = Quantity.parse(range.step);
    const min = Quantity.parse(range.min ?? "0");
    if (!inThousandths(question, range)) return (amount.value() - min.value()) % step.value() !== 0n;
    const milli = thousandths(amount);
    return milli === undefined || (milli - min.milliValue()) % step.milliValue() !== 0n;
  }
  const values = policy.validValues ?? [];
  return values.length > 0 && !values.some((value) => Quantity.parse(value).equals(amount));
}

/** Reports whether a range is computed in thousandths: the feature is on, and all bounds are exact. */
function inThousandths(question: Question, { min, max, step }: CapacityRequestPolicyRange): boolean {
  if (!isOn(question, "FractionalCapacityRange")) return false;
  const bounds = [min, max, step].filter((text) => text !== undefined);
  if (bounds.some((text) => thousandths(Quantity.parse(text)) === undefined)) return false;
  return step === undefined || Quantity.parse(step).milliValue() >= 1n;
}

/** Returns undefined if the value is inexact or exceeds an int64. */
function thousandths(quantity: Quantity): bigint | undefined {
  const milli = quantity.milliValue();
  if (milli > maxInt64 || milli < -maxInt64 || !Quantity.ofMilli(milli).equals(quantity)) return undefined;
  return milli;
}
