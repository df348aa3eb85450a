import { testOutcomes } from "../../test/outcomes.ts";

testOutcomes([
  [
    'dyn(1).path("x").allowed()',
    "compilation failed: ERROR: <input>:1:25: found no matching overload for 'allowed' applied to 'kubernetes.authorization.PathCheck.()'",
  ],
  [
    'path("x")',
    "compilation failed: ERROR: <input>:1:5: found no matching overload for 'path' applied to '(string)'",
  ],
  [
    '"x".path(1) == 1',
    "compilation failed: ERROR: <input>:1:9: found no matching overload for 'path' applied to 'string.(int)'",
  ],
  [
    '"x".check(1)',
    "compilation failed: ERROR: <input>:1:10: found no matching overload for 'check' applied to 'string.(int)'",
  ],
]);
