import type { DeviceClass, DeviceSelector } from "@dray/api/resource/v1";
import { type DeviceEnvironment, deviceEnvironment } from "@dray/cel";
import { AllocationError, type Candidate } from "./inventory.ts";
import type { Policies } from "./policies.ts";

/** Evaluates selectors, each once per device of one call. */
export class SelectorCache {
  readonly #environment: DeviceEnvironment = deviceEnvironment({ stored: true });
  readonly #policies: Policies;

  constructor(policies: Policies) {
    this.#policies = policies;
  }

  /** The selectors of a class; the first that is false decides. Throws AllocationError. */
  classSelects(deviceClass: DeviceClass, candidate: Candidate): boolean {
    const where = `class ${deviceClass.metadata.name}`;
    return this.failing(deviceClass.spec.selectors ?? [], candidate, where) === undefined;
  }

  /** The selectors of a request. Throws AllocationError. */
  requestSelects(selectors: readonly DeviceSelector[], candidate: Candidate, claim: string): boolean {
    return this.failing(selectors, candidate, `claim ${claim}`) === undefined;
  }

  /** The text of the first selector that is false. Throws AllocationError. */
  failing(selectors: readonly DeviceSelector[], candidate: Candidate, where: string): string | undefined {
    for (let i = 0; i < selectors.length; i++) {
      const expression = selectors[i]!.cel?.expression ?? "";
      const selector = this.#environment.compile(expression);
      if (!selector.ok) {
        throw new AllocationError(`${where}: selector #${i}: CEL compile error: ${selector.error}`);
      }
      const { device, driver } = candidate;
      const result = selector.evaluate({
        driver,
        ...(device.attributes === undefined ? {} : { attributes: device.attributes }),
        ...(device.capacity === undefined ? {} : { capacity: device.capacity }),
        allowMultipleAllocations:
          this.#policies.showsMultipleAllocations && device.allowMultipleAllocations === true,
      });
      if (result.error !== undefined) {
        throw new AllocationError(
          `${where}: selector #${i} on device ${candidate.id}: CEL runtime error: ${result.error}`,
        );
      }
      if (!result.matches) return expression;
    }
    return undefined;
  }
}
