import { equalWithin } from "../values/equality.ts";
import { boolType, dynType } from "../values/types.ts";
import * as charges from "./costs/charges.ts";
import type { Cost } from "./costs/cost.ts";
import * as estimates from "./costs/estimates.ts";
import { declare, type FunctionDeclaration, inContext, method, priced } from "./declarations.ts";

/**
 * Reports whether a scalar equals the value, or a list contains it (KEP-5491). A failed comparison counts as
 * false.
 */
const includes = inContext(({ budget }) => (container, value) => {
  if (!Array.isArray(container)) return equalWithin(container, value, budget) === true;
  return container.some((element) => equalWithin(element, value, budget) === true);
});

const cost: Cost = { estimate: estimates.elementwise((count) => count), charge: charges.elementwise };

/** `includes()` of device selectors (feature gate DRAListTypeAttributes). */
export const includesLibrary: readonly FunctionDeclaration[] = [
  priced(
    cost,
    declare("includes", [method("list_includes_dyn_dyn", [dynType, dynType], boolType, includes)]),
  ),
];
