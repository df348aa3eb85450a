import { testOutcomes } from "../testing/outcomes.ts";

testOutcomes([
  ['"abc".charAt(1) == "b" && "abc".charAt(3) == ""', true],
  ['"abc".charAt(4) == ""', "index out of range: 4"],
  ['"😀b".charAt(1) == "b"', true],
  ['"hello".indexOf("l") == 2 && "hello".indexOf("l", 3) == 3 && "hello".indexOf("x") == -1', true],
  ['"hello".indexOf("", 9) == 5 && "hello".indexOf("l", 9) == -1', true],
  ['"hello".indexOf("l", -1) == 0', "index out of range: -1"],
  [
    '"hello".lastIndexOf("l") == 3 && "hello".lastIndexOf("l", 2) == 2 && "hello".lastIndexOf("", 9) == 5',
    true,
  ],
  ['"hello".lastIndexOf("l", 9) == -1', true],
  ['"hello".lastIndexOf("l", -1) == 0', "index out of range: -1"],
  ['"aaa".replace("a", "b", 2) == "bba" && "ab".replace("", "-") == "-a-b-"', true],
  [
    '"a,b,c".split(",", 2) == ["a", "b,c"] && "a,b".split(",", 0) == [] && "😀a".split("") == ["😀", "a"]',
    true,
  ],
  ['"".split("") == [] && "".split(",") == [""]', true],
  ['"hello".substring(1, 3) == "el" && "hello".substring(5) == ""', true],
  ['"hello".substring(3, 1) == ""', "invalid substring range. start: 3, end: 1"],
  ['"hello".substring(6) == ""', "index out of range: 6"],
  ['" \\u0085\\u00a0x\\u2003\\n".trim() == "x" && "\\u200bx".trim() == "\\u200bx"', true],
  ['"ÀBc".lowerAscii() == "Àbc" && "àbC".upperAscii() == "àBC"', true],
  ['strings.quote("a\\n\\"\\u0007é") == "\\"a\\\\n\\\\\\"\\\\aé\\""', true],
  ['["a", "b"].join("-") == "a-b" && [].join() == ""', true],
  ['dyn([1]).join(",") == ""', "no such overload: join(list, string)"],
  ['dyn(1).startsWith("a")', "no such overload"],
  ['"a".contains(dyn(1))', "no such overload"],
]);
