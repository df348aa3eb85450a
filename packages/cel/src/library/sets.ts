import type { ElementBudget } from "../values/element-budget.ts";
import { equalWithin } from "../values/equality.ts";
import { boolType, listType } from "../values/types.ts";
import type { Value } from "../values/value.ts";
import { pairs } from "./costs/cost.ts";
import { declare, type FunctionDeclaration, inContext, overload, priced, T } from "./declarations.ts";

const list = listType(T);

const has = (container: Value, wanted: Value, budget: ElementBudget): boolean =>
  (container as readonly Value[]).some((element) => equalWithin(wanted, element, budget) === true);
const contains = (container: Value, part: Value, budget: ElementBudget): boolean =>
  (part as readonly Value[]).every((wanted) => has(container, wanted, budget));
const intersects = (a: Value, b: Value, budget: ElementBudget): boolean =>
  (a as readonly Value[]).some((element) => has(b, element, budget));

/** Lists as sets (Kubernetes CEL library of 1.29). */
export const setsLibrary: readonly FunctionDeclaration[] = [
  {
    ...declare("sets.contains", [
      priced(
        pairs(1),
        overload(
          "list_sets_contains_list",
          [list, list],
          boolType,
          inContext(
            ({ budget }) =>
              (a, b) =>
                contains(a, b, budget),
          ),
        ),
      ),
    ]),
    prepaid: true,
  },
  {
    ...declare("sets.intersects", [
      priced(
        pairs(1),
        overload(
          "list_sets_intersects_list",
          [list, list],
          boolType,
          inContext(
            ({ budget }) =>
              (a, b) =>
                intersects(a, b, budget),
          ),
        ),
      ),
    ]),
    prepaid: true,
  },
  {
    ...declare("sets.equivalent", [
      priced(
        pairs(2),
        overload(
          "list_sets_equivalent_list",
          [list, list],
          boolType,
          inContext(
            ({ budget }) =>
              (a, b) =>
                contains(a, b, budget) && contains(b, a, budget),
          ),
        ),
      ),
    ]),
    prepaid: true,
  },
];
