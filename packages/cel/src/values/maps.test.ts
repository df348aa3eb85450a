import { testOutcomes } from "../testing/outcomes.ts";

testOutcomes([
  // Keys are those of a Go map.
  ['size({dyn(duration("1s")): 1, dyn(duration("2s")): 2}) == 2', true],
  ['size({dyn(duration("1s")): 1, dyn(duration("1s")): 2}) == 1', true],
  ["size({dyn(timestamp(0)): 1, dyn(timestamp(1)): 1}) == 2", true],
  ['size({dyn(type(1)): 1, dyn(type("")): 2}) == 2', true],
  ['size({dyn(ip("1.1.1.1")): 1, dyn(ip("1.1.1.2")): 1, dyn(ip("1.1.1.1")): 1}) == 2', true],
  ['size({dyn(quantity("1")): 1, dyn(quantity("2")): 1}) == 2', true],
  ["size({dyn({}): 1, dyn({1: 2}): 1}) == 2", true],
  ["[[1], [1]].transformMapEntry(i, v, {v: i}).size() == 2", true],
  ["{dyn(1.0): 1, dyn(1): 2, dyn(1u): 3}[1] == 2", true],
  ['{dyn(double("NaN")): 3} == {dyn(double("NaN")): 3}', false],
  ["{0: 1}[dyn(-0.0)] == 1", true],
  ["dyn(-9223372036854775808.0) in {-9223372036854775808: 1}", false],
  ["dyn(-9223372036854774784.0) in {-9223372036854774784: 1}", true],
  [
    'size({dyn(semver("1.0.0")): 1}) == 1',
    "internal error: runtime error: hash of unhashable type cel.Semver",
  ],
  ['dyn(b"a") in {"a": 1}', "internal error: runtime error: hash of unhashable type types.Bytes"],
  ['dyn(format.uuid()) in {"a": 1}', "internal error: runtime error: hash of unhashable type cel.Format"],
  ['dyn(b"a") in {}', false],
  // Keys in errors.
  ["{1: 1}[dyn(1e7)] == 1", "no such key: 1e+07"],
  ["{1: 1}[dyn(-0.0)] == 1", "no such key: -0"],
  ["[1][dyn(1e7)] == 1", "index out of bounds: 1e+07"],
  ["[1][dyn(1e30)] == 1", "unsupported index value 1e+30 in list"],
  ["[1][dyn(18446744073709551615u)] == 1", "unsupported index value 18446744073709551615 in list"],
  ["[null, null].transformMapEntry(i, v, {v: i}) == {}", "insert failed: key 0 already exists"],
  [
    '[duration("1s"), duration("1s")].transformMapEntry(i, v, {v: i}) == {}',
    "insert failed: key 1s already exists",
  ],
  ["[1].transformMapEntry(i, v, dyn(v)) == {}", "no such overload: cel.@mapInsert(map, int)"],
  // The device has no attributes: in a bound map of them domains are missing.
  ['device.attributes["x"].size() == 0', true],
  ['cel.bind(a, device.attributes, a["x"].size() == 0)', "no such key: x"],
  ["cel.bind(a, device.attributes, has(a.x))", false],
  ["cel.bind(a, device.capacity, a.?x.hasValue())", false],
  ['cel.bind(a, device, a.attributes["x"].size() == 0)', true],
  ['[device.attributes].all(a, a["x"].size() == 0)', true],
  ['optional.of(device.attributes).optMap(a, a["x"].size()).value() == 0', "no such key: x"],
]);
