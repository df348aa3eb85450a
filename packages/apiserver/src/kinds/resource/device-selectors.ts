import type { Features } from "@dray/api";
import type { CompiledSelector } from "@dray/api/validation";
import { type DeviceEnvironment, deviceEnvironment } from "@dray/cel";

/**
 * Compiles CEL device selectors and derived attributes as new expressions: what only newer gates know is
 * refused.
 */
export function deviceSelectors(
  features: Features,
): (expression: string, derivedAttribute?: boolean) => CompiledSelector {
  let environment: DeviceEnvironment | undefined;
  return (expression, derivedAttribute = false) => {
    environment ??= deviceEnvironment({
      stored: false,
      features: {
        consumableCapacity: features.enabled("DRAConsumableCapacity"),
        listTypeAttributes: features.enabled("DRAListTypeAttributes"),
      },
    });
    return derivedAttribute ? environment.compileAttribute(expression) : environment.compile(expression);
  };
}
