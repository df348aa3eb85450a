import { testOutcomes } from "../testing/outcomes.ts";

testOutcomes([
  ['!format.dns1123Label().validate("my-name").hasValue()', true],
  [
    'format.dns1123Label().validate("My_Name").value()[0].startsWith("a lowercase RFC 1123 label must consist of")',
    true,
  ],
  ['format.dns1123Label().validate("a.b").value() == ["must not contain dots"]', true],
  [
    '!format.dns1123LabelPrefix().validate("my-").hasValue() && format.dns1123Label().validate("my-").hasValue()',
    true,
  ],
  ['!format.dns1123SubdomainPrefix().validate("a.b-").hasValue()', true],
  ['!format.dns1035LabelPrefix().validate("b--").hasValue()', true],
  ['format.dns1035Label().validate("1a").hasValue()', true],
  [
    'format.qualifiedName().validate("a/b/c").hasValue() && !format.qualifiedName().validate("a.b/C_d").hasValue()',
    true,
  ],
  ['!format.labelValue().validate("").hasValue() && format.labelValue().validate("-").hasValue()', true],
  ['format.uri().validate("a").value() == ["parse \\"a\\": invalid URI for request"]', true],
  ['!format.uuid().validate("12345678123412341234123456789ABC").hasValue()', true],
  ['format.uuid().validate("x").value() == ["does not match the UUID format"]', true],
  [
    '!format.byte().validate("YWI=").hasValue() && format.byte().validate("YW").value() == ["invalid base64"]',
    true,
  ],
  [
    '!format.date().validate("0000-02-29").hasValue() && format.date().validate("2023-02-29").value() == ["invalid date"]',
    true,
  ],
  ['!format.datetime().validate("2024-01-01t23:59:59.5z").hasValue()', true],
  ['format.datetime().validate("2024-01-01T24:00:00Z").value() == ["invalid datetime"]', true],
  ['format.named("uuid").value() == format.uuid() && !format.named("nosuch").hasValue()', true],
  ["format.uuid() == dyn(1)", "no such overload"],
  ['dyn(1).validate("a").hasValue()', "no such overload: validate(int, string)"],
]);
