import { testOutcomes } from "../../testing/outcomes.ts";

testOutcomes([
  ['"%s %d %b %o %x %X".format(["a", 5, 5, 8, 255, "hi"]) == "a 5 101 10 ff 6869"', true],
  ['"%s %s %s".format([1.5, 1e20, -0.0]) == "1.5 1e+20 -0"', true],
  ['"%f %.2f %.0f".format([1234567.891, 1.005, 2.5]) == "1,234,567.891000 1.00 2"', true],
  ['"%e|%.12e".format([1234.5, -0.00012]) == "1.234500×10⁰³|-1.200000×10⁻⁰⁴"', true],
  ['"%.16e".format([1.0]) == "   1.000000×10⁰⁰"', true],
  ['"%f %f %e".format([double("Infinity"), "NaN", "-Infinity"]) == "∞ NaN     -∞"', true],
  ['"%.256f".format([0.5]) == "0.5"', true],
  ['"%x %b %d".format([-255, true, 18446744073709551615u]) == "-ff 1 18446744073709551615"', true],
  ['"%x".format([b"\\xff\\x00"]) == "ff00"', true],
  [
    '"%s".format([["a\\n", b"b", 1.5, null, type(1), double("NaN")]]) == "[\\"a\\\\n\\", b\\"b\\", 1.500000, null, int, \\"NaN\\"]"',
    true,
  ],
  ['"%s".format([{"b": [1], "a": true}]) == "{\\"a\\":true, \\"b\\":[1]}"', true],
  [
    '"%s".format([[duration("90m"), timestamp("2024-01-01T00:00:00+01:00")]]) == "[duration(\\"5400s\\"), timestamp(\\"2024-01-01T00:00:00+01:00\\")]"',
    true,
  ],
  ['"100%% %s".format(["x"]) == "100% x"', true],
  ['"%s %s".format(["a"]) == ""', "compilation failed: ERROR: <input>:1:15: index 1 out of range"],
  [
    '"%s".format(["a", "b"]) == ""',
    "compilation failed: ERROR: <input>:1:12: too many arguments supplied to string.format (expected 1, got 2)",
  ],
  ['"%".format([1]) == ""', "compilation failed: ERROR: <input>:1:11: unexpected end of string"],
  [
    '"%c".format([1]) == ""',
    'compilation failed: ERROR: <input>:1:12: could not parse formatting clause: unrecognized formatting clause "c"',
  ],
  [
    '"%.f".format([1.0]) == ""',
    'compilation failed: ERROR: <input>:1:13: could not parse formatting clause: error while parsing precision: error while converting precision to integer: strconv.Atoi: parsing "": invalid syntax',
  ],
  [
    '"%d".format([1, [1.5]][1]) == ""',
    "error during formatting: decimal clause can only be used on integers, was given double",
  ],
  [
    '"%d".format([1.5]) == ""',
    "compilation failed: ERROR: <input>:1:14: error during formatting: decimal clause can only be used on integers, was given double",
  ],
  [
    '"%f".format([1]) == ""',
    "compilation failed: ERROR: <input>:1:14: error during formatting: fixed-point clause can only be used on doubles, was given int",
  ],
  [
    '"%s".format([[1, [optional.none()]]]) == ""',
    "compilation failed: ERROR: <input>:1:32: error during formatting: string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps, was given optional_type",
  ],
  [
    '"%d".format(["a" == "a"]) == ""',
    "compilation failed: ERROR: <input>:1:18: error during formatting: decimal clause can only be used on integers, was given bool",
  ],
  ['("%" + "s").format([]) == ""', "index 0 out of range"],
  [
    '("%" + "d").format(["a"]) == ""',
    "error during formatting: decimal clause can only be used on integers, was given string",
  ],
  [
    '("%" + "s").format([quantity("1")]) == ""',
    "error during formatting: string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps, was given kubernetes.Quantity",
  ],
  [
    '("%" + "s").format([[quantity("1")]]) == ""',
    "error during formatting: no formatting function for kubernetes.Quantity",
  ],
  [
    '("%" + "s").format([{1.5: 1}]) == ""',
    "error during formatting: no formatting function for map key of type double",
  ],
  [
    '("%" + "s").format([b"\\xff"]) == ""',
    'error during formatting: could not convert argument "invalid UTF-8 in bytes, cannot convert to string" to string',
  ],
  [
    '("%" + ".5").format([1.5]) == ""',
    "could not parse formatting clause: error while parsing precision: could not find end of precision specifier",
  ],
  ['("%" + "é").format([1]) == ""', 'could not parse formatting clause: unrecognized formatting clause "Ã"'],
]);
