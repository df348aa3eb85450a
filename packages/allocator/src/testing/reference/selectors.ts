import type { DeviceSelector } from "@dray/api/resource/v1";
import { type DeviceInput, deviceEnvironment } from "@dray/cel";
import { type Alternative, AttemptError, type Candidate, isOn, type Question, variantOf } from "./model.ts";
import { isForNode } from "./pools.ts";

const environment = deviceEnvironment({ stored: true });

/** The device as an expression sees it. */
export function inputOf(question: Question, { device, pool }: Candidate): DeviceInput {
  return {
    driver: pool.driver,
    attributes: device.attributes ?? {},
    capacity: device.capacity ?? {},
    allowMultipleAllocations:
      variantOf(question.features) !== "stable" && device.allowMultipleAllocations === true,
  };
}

/** Does the checks that do not depend on other picks. Throws AttemptError. */
export function isSelectable(
  question: Question,
  candidate: Candidate,
  alternative: Alternative,
  claimName: string,
): boolean {
  const { device, slice } = candidate;
  const binds = (device.bindingConditions ?? []).length > 0;
  if (binds && !isOn(question, "DeviceBindingAndStatus")) return false;
  const { deviceClass, spec } = alternative;
  if (!allMatch(question, deviceClass.spec.selectors, candidate, `class ${deviceClass.metadata.name}`)) {
    return false;
  }
  if (!allMatch(question, spec.selectors, candidate, `claim ${claimName}`)) return false;
  return slice.spec.perDeviceNodeSelection !== true || isForNode(device, question.node);
}

function allMatch(
  question: Question,
  selectors: readonly DeviceSelector[] | undefined,
  candidate: Candidate,
  where: string,
): boolean {
  for (const [i, { cel }] of (selectors ?? []).entries()) {
    const selector = environment.compile(cel?.expression ?? "");
    if (!selector.ok) {
      throw new AttemptError(`${where}: selector #${i}: CEL compile error: ${selector.error}`);
    }
    const result = selector.evaluate(inputOf(question, candidate));
    if (result.error !== undefined) {
      throw new AttemptError(
        `${where}: selector #${i} on device ${candidate.id}: CEL runtime error: ${result.error}`,
      );
    }
    if (!result.matches) return false;
  }
  return true;
}
