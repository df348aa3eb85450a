import assert from "node:assert/strict";
import { test } from "node:test";
import { parseJSON } from "../codec/index.ts";
import { floatText, quoted, quotedBytes, quotedTime } from "../index.ts";
import { quotedByte } from "./quoted.ts";

/** Texts as Go prints them: strconv.Quote, and the quote of package time. */
const table: [text: string, quoted: string, quotedTime: string][] = [
  ["", '""', '""'],
  ["plain text_1", '"plain text_1"', '"plain text_1"'],
  ['a"b\\c', '"a\\"b\\\\c"', '"a\\"b\\\\c"'],
  ["\u0007\b\f\n\r\t\v", '"\\a\\b\\f\\n\\r\\t\\v"', '"\\x07\\x08\\x0c\\x0a\\x0d\\x09\\x0b"'],
  ["\u0000\u001f\u007f", '"\\x00\\x1f\\x7f"', '"\\x00\\x1f\u007f"'],
  ["\u0080\u00a0\u00ad", '"\\u0080\\u00a0\\u00ad"', '"\\xc2\\x80\\xc2\\xa0\\xc2\\xad"'],
  ["é ß 漢", '"é ß 漢"', '"\\xc3\\xa9 \\xc3\\x9f \\xe6\\xbc\\xa2"'],
  // Blanks, formats, private use and unassigned characters are not printable.
  ["\u2003\u200b\u2028\ufeff\ue000\u0378", '"\\u2003\\u200b\\u2028\\ufeff\\ue000\\u0378"', ""],
  ["\u{1f600}\u{e0001}\u{10ffff}", '"\u{1f600}\\U000e0001\\U0010ffff"', ""],
  ["\ufffd", '"\ufffd"', '"\\xef\\xbf\\xbd"'],
  // Half of a pair cannot be written in UTF-8.
  ["\ud800", '"\ufffd"', '"\\xef\\xbf\\xbd"'],
];

test("texts are quoted as Go quotes them", () => {
  for (const [text, expected, inTime] of table) {
    assert.equal(quoted(text), expected);
    assert.equal(quotedBytes(Buffer.from(text.toWellFormed()).toString("latin1")), expected);
    if (inTime !== "") assert.equal(quotedTime(text), inTime);
  }
});

test("bytes that are not UTF-8 are written as bytes", () => {
  const bytes: [hex: string, expected: string][] = [
    ["ff", '"\\xff"'],
    ["c3", '"\\xc3"'],
    ["c328", '"\\xc3("'],
    ["e28028", '"\\xe2\\x80("'],
    ["eda080", '"\\xed\\xa0\\x80"'],
    ["c3a9ff", '"é\\xff"'],
    ["efbfbd", '"\ufffd"'],
  ];
  for (const [hex, expected] of bytes)
    assert.equal(quotedBytes(Buffer.from(hex, "hex").toString("latin1")), expected);
});

test("bytes in errors about JSON", () => {
  const bytes: [byte: number, expected: string][] = [
    [0x27, "'\\''"],
    [0x22, "'\"'"],
    [0x0a, "'\\n'"],
    [0x01, "'\\x01'"],
    [0x7f, "'\\x7f'"],
    [0xc3, "'Ã'"],
    [0xa0, "'\\u00a0'"],
    [0xad, "'\\u00ad'"],
  ];
  for (const [byte, expected] of bytes) assert.equal(quotedByte(byte), expected);
  assert.throws(() => parseJSON("\u0001"), /invalid character '\\x01' looking for beginning of value/);
});

test("doubles are written as Go writes them", () => {
  const doubles: [value: number, asG: string, asV: string][] = [
    [0, "0", "0"],
    [-0, "-0", "-0"],
    [0.1, "0.1", "0.1"],
    [0.0001, "0.0001", "0.0001"],
    [0.00001, "1e-05", "1e-05"],
    [1e-7, "1e-07", "1e-07"],
    [123456, "123456", "123456"],
    [1e6, "1e+06", "1000000"],
    [1234567.5, "1.2345675e+06", "1234567.5"],
    [1e20, "1e+20", "100000000000000000000"],
    [1e21, "1e+21", "1e+21"],
    [-2.5e-300, "-2.5e-300", "-2.5e-300"],
    [Number.POSITIVE_INFINITY, "+Inf", "+Inf"],
    [Number.NaN, "NaN", "NaN"],
  ];
  for (const [value, asG, asV] of doubles)
    assert.deepEqual([floatText(value), floatText(value, 21)], [asG, asV]);
});
