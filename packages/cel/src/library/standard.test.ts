import { testOutcomes } from "../testing/outcomes.ts";

// The first overload that matches decides the type of an operand whose type is open.
testOutcomes([
  [
    "[].map(x, x * dyn(1)).exists(x, x == 1)",
    "compilation failed: ERROR: <input>:1:35: found no matching overload for '_==_' applied to '(double, int)'",
  ],
]);
