import { testOutcomes } from "../testing/outcomes.ts";

testOutcomes([
  ["optional.of(1).value() == 1 && !optional.none().hasValue()", true],
  ["optional.none().value() == 1", "optional.none() dereference"],
  ["[0, 1].map(x, optional.ofNonZeroValue(x).hasValue()) == [false, true]", true],
  [
    'optional.ofNonZeroValue(duration("0s")).hasValue() || optional.ofNonZeroValue(0u).hasValue() || optional.ofNonZeroValue(b"").hasValue()',
    false,
  ],
  [
    'optional.ofNonZeroValue(timestamp("0001-01-01T00:00:00Z")).hasValue() || optional.ofNonZeroValue({}).hasValue()',
    false,
  ],
  [
    'optional.ofNonZeroValue(timestamp(0)).hasValue() && optional.ofNonZeroValue(quantity("0")).hasValue()',
    true,
  ],
  [
    'optional.ofNonZeroValue(device.attributes).hasValue() && !optional.ofNonZeroValue(device.attributes["x"]).hasValue()',
    true,
  ],
  [
    "optional.of(1).optMap(x, x + 1) == optional.of(2) && optional.none().optFlatMap(x, optional.of(x)) == optional.none()",
    true,
  ],
  ["optional.unwrap([optional.of(1), optional.none()]) == [1] && [optional.none()].unwrapOpt() == []", true],
  ["optional.none().or(optional.of(1)).orValue(2) == 1", true],
  ['{"a": 1}.transformMapEntry(k, v, {"b": v}) == {"b": 1}', true],
  ["[1, 1].transformMapEntry(i, v, {v: i}) == {}", "insert failed: key 1 already exists"],
]);
