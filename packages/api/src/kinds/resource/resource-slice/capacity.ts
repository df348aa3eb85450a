/** Capacities that several allocations share (KEP-5075). */

import type { ValidationContext } from "../../../checks/context.ts";
import type { FieldErrors } from "../../../checks/field.ts";
import type {
  CapacityRequestPolicy,
  CapacityRequestPolicyRange,
  DeviceCapacity,
} from "../../../generated/resource/v1.ts";
import { Quantity } from "../../../values/quantity.ts";
import { limits } from "../names.ts";

const maxInt64 = Quantity.of(2n ** 63n - 1n);

function checkValidValues(
  errors: FieldErrors,
  texts: readonly string[],
  fallback: Quantity,
  capacity: Quantity,
): void {
  const values = texts.map((text) => Quantity.parse(text));
  values.forEach((value, index) => {
    const before = values[index - 1];
    if (before !== undefined && before.compare(value) > 0) {
      errors.index(index).invalid(value.toString(), "values must be sorted in ascending order");
    }
  });
  const check = (here: FieldErrors, value: Quantity): void => {
    if (value.compare(capacity) > 0) {
      here.invalid(value.toString(), `option is larger than capacity value: ${capacity}`);
    }
  };
  errors.set(values, limits.validValues, check, (value) => String(value.value()));
  const listed = values.length <= limits.validValues && values.some((value) => value.equals(fallback));
  if (!listed) {
    errors.invalid(fallback.toString(), "default value is not valid according to the requestPolicy");
  }
}

/** The next whole number, in 64 bits; upstream takes 0 for one that is too large (Quantity.Value). */
function whole(quantity: Quantity): bigint {
  const value = quantity.value();
  return BigInt.asIntN(64, value) === value ? value : 0n;
}

/** True for a value that whole steps from the minimum reach, counted in 64 bits. */
function onStep(value: Quantity, min: Quantity, step: Quantity): boolean {
  return BigInt.asIntN(64, whole(value) - whole(min)) % whole(step) === 0n;
}

interface RangeOptions {
  /** The policy's default. */
  readonly fallback: Quantity;
  /** The value of the capacity. */
  readonly capacity: Quantity;
  /** Whether the rules of 1.37 apply. */
  readonly strict: boolean;
}

function checkStep(
  errors: FieldErrors,
  range: { readonly min: Quantity; readonly max: Quantity | undefined; readonly step: Quantity },
  { fallback, capacity, strict }: RangeOptions,
): void {
  const { min, max, step } = range;
  // Releases before 1.37 accept negative steps, and panic on a step of zero, which is refused here.
  if (whole(step) === 0n || (strict && step.sign < 0)) {
    errors.at("step").invalid(step.toString(), "must be greater than zero");
    return;
  }
  const first = min.add(step);
  if (first.compare(capacity) > 0) {
    errors
      .at("step")
      .invalid(step.toString(), `one step ${first} is larger than capacity value: ${capacity}`);
  }
  if (strict) {
    const bounds = { default: fallback, min, ...(max === undefined ? {} : { max }), step };
    const wrong = Object.entries(bounds).filter(([, value]) => value.sign < 0 || value.compare(maxInt64) > 0);
    for (const [name, value] of wrong) {
      const detail =
        value.sign < 0 ? "must be greater than or equal to 0" : "must not be larger than 9223372036854775807";
      errors.at(name).invalid(value.toString(), detail);
    }
    if (wrong.length > 0) return;
  }
  for (const value of max === undefined ? [fallback] : [fallback, max]) {
    if (onStep(value, min, step)) continue;
    errors
      .at("step")
      .invalid(value.toString(), `value is not a multiple of a given step (${step}) from (${min})`);
  }
}

function checkRange(errors: FieldErrors, range: CapacityRequestPolicyRange, options: RangeOptions): void {
  const { fallback, capacity } = options;
  if (!range.min) {
    errors.at("min").required("required when validRange is defined");
    return;
  }
  const min = Quantity.parse(range.min);
  const max = !range.max ? undefined : Quantity.parse(range.max);
  if (min.compare(capacity) > 0) {
    errors.at("min").invalid(min.toString(), `min is larger than capacity value: ${capacity}`);
  }
  if (fallback.compare(min) < 0) {
    errors.at("min").invalid(fallback.toString(), `default is less than min: ${min}`);
  }
  if (max !== undefined) {
    if (min.compare(max) > 0) {
      errors.at("max").invalid(min.toString(), `min is larger than max: ${max}`);
    }
    if (max.compare(capacity) > 0) {
      errors.at("max").invalid(max.toString(), `max is larger than capacity value: ${capacity}`);
    }
    if (fallback.compare(max) > 0) {
      errors.at("max").invalid(fallback.toString(), `default is more than max: ${max}`);
    }
  }
  if (!range.step) return;
  const step = Quantity.parse(range.step);
  checkStep(errors, { min, max, step }, options);
}

function checkPolicy(
  errors: FieldErrors,
  policy: CapacityRequestPolicy,
  capacity: Quantity,
  context: ValidationContext,
): void {
  const { validValues = [], validRange } = policy;
  const fallback = !policy.default ? undefined : Quantity.parse(policy.default);
  if (validValues.length > 0 && validRange) {
    const detail =
      'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time';
    errors.forbidden(detail);
  } else if (validValues.length > 0) {
    if (fallback === undefined) errors.at("default").required("required when validValues is defined");
    else checkValidValues(errors.at("validValues"), validValues, fallback, capacity);
  } else if (validRange) {
    if (fallback === undefined) errors.at("default").required("required when validRange is defined");
    else {
      const strict = context.features.version >= "1.37";
      checkRange(errors.at("validRange"), validRange, { fallback, capacity, strict });
    }
  }
}

/**
 * One capacity of a device; only devices with several allocations have a policy for what a request may take.
 */
export function checkCapacity(
  errors: FieldErrors,
  capacity: DeviceCapacity,
  shared: boolean,
  context: ValidationContext,
): void {
  const policy = capacity.requestPolicy;
  if (!policy) return;
  if (!shared) errors.at("requestPolicy").forbidden("allowMultipleAllocations must be true");
  else checkPolicy(errors.at("requestPolicy"), policy, Quantity.parse(capacity.value ?? "0"), context);
}
