import { testOutcomes } from "../testing/outcomes.ts";

testOutcomes([
  [
    'string(1234567.5) == "1.2345675e+06" && string(100000.0) == "100000" && string(0.00001) == "1e-05"',
    true,
  ],
  ['string(duration("1500ms")) == "1.5s" && string(duration("1ns")) == "0.000000001s"', true],
  ['string(duration("2562047h47m16.854775807s")) == "9223372036.854776s"', true],
  ['string(timestamp("2024-01-01T05:30:00.5+05:30")) == "2024-01-01T05:30:00.5+05:30"', true],
  ['string(timestamp("2024-01-01T05:30:00-00:30") + duration("1h")) == "2024-01-01T06:30:00-00:30"', true],
  ['timestamp("2024-01-01T05:30:00+05:30") == timestamp("2024-01-01T00:00:00Z")', true],
  ['timestamp("2024-01-01T5:30:00Z") == timestamp("2024-01-01T05:30:00Z")', true],
  [
    'timestamp("9999-12-31T23:59:59-01:00") == timestamp(0)',
    "compilation failed: ERROR: <input>:1:11: invalid timestamp argument",
  ],
  [
    "timestamp(253402300800) == timestamp(0)",
    "compilation failed: ERROR: <input>:1:11: invalid timestamp argument",
  ],
  ['timestamp("0000-01-01T00:00:00" + "Z") == timestamp(0)', "timestamp overflow"],
  [
    'timestamp("2023-02-29T00:00:00" + "Z") == timestamp(0)',
    "type conversion error from 'string' to 'google.protobuf.Timestamp'",
  ],
  [
    'double("1_000.5") == 1000.5 && double("0x1.8p1") == 3.0 && double("0x_1p-2") == 0.25 && double("-Inf") < 0.0',
    true,
  ],
  ['double("1__0" + "") == 1.0', "type conversion error from 'string' to 'double'"],
  ['double("+nan" + "") == 1.0', "type conversion error from 'string' to 'double'"],
  ['double("1e400" + "") == 1.0', "type conversion error from 'string' to 'double'"],
  ['int("+5") == 5 && int("-0") == 0', true],
  ['int("1_0" + "") == 10', "type conversion error from 'string' to 'int'"],
  ["9007199254740993 == dyn(9007199254740992.0)", true],
  ["9223372036854775807 < 9223372036854775807.0", false],
  ['-dyn("a") == 1', "no such overload"],
  ["-dyn([1]) == 1", "no such overload: -_"],
  ['dyn("a") - 1 == 1', "no such overload"],
  ["dyn([1]) - 1 == 1", "no such overload: _-_"],
  ['size(dyn(duration("1s"))) == 1', "no such overload"],
]);
