import { testOutcomes } from "../../test/outcomes.ts";

// The first form that fits gives an operand without a type its own.
testOutcomes([
  [
    "[].map(x, x * dyn(1)).exists(x, x == 1)",
    "compilation failed: ERROR: <input>:1:35: found no matching overload for '_==_' applied to '(double, int)'",
  ],
]);
