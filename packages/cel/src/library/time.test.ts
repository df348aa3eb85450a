import { testOutcomes } from "../testing/outcomes.ts";

testOutcomes([
  ['timestamp("2024-02-29T12:30:45.678Z").getFullYear("Asia/Kolkata") == 2024', true],
  [
    'timestamp("2024-02-29T23:30:00Z").getDate("+00:30") == 1 && timestamp("2024-02-29T23:30:00Z").getDate() == 29',
    true,
  ],
  ['timestamp("2024-02-29T12:30:00Z").getHours("America/New_York") == 7', true],
  ['timestamp("2024-02-29T12:30:00Z").getMinutes("-00:45") == 45', true],
  [
    'timestamp("2024-02-29T12:30:00Z").getMonth() == 1 && timestamp("2024-02-29T12:30:00Z").getDayOfMonth() == 28',
    true,
  ],
  [
    'timestamp("2024-02-29T12:30:00Z").getDayOfWeek() == 4 && timestamp("2024-12-31T12:30:00Z").getDayOfYear() == 365',
    true,
  ],
  ['timestamp("1969-12-31T23:59:59.999Z").getMilliseconds() == 999', true],
  ['timestamp("0001-01-01T00:00:00Z").getFullYear("-01:00") == 0', true],
  [
    'timestamp("2024-02-29T12:30:00Z").getHours("") == 12 && timestamp("2024-02-29T12:30:00Z").getHours("99:99") == 17',
    true,
  ],
  [
    'timestamp("2024-02-29T12:30:00Z").getHours("america/new_york") == 7',
    "unknown time zone america/new_york",
  ],
  ['timestamp("2024-02-29T12:30:00Z").getHours("Nowhere/X") == 7', "unknown time zone Nowhere/X"],
  ['timestamp("2024-02-29T12:30:00Z").getHours("+0530") == 7', "unknown time zone +0530"],
  ['timestamp("2024-02-29T12:30:00Z").getHours("../etc") == 7', "time: invalid location name"],
  ['timestamp("2024-02-29T12:30:00Z").getHours("aa:00") == 7', 'strconv.Atoi: parsing "aa": invalid syntax'],
  [
    'timestamp("2024-02-29T12:30:00Z").getHours("00:9223372036854775808") == 7',
    'strconv.Atoi: parsing "9223372036854775808": value out of range',
  ],
  [
    'duration("1h1m1.5s").getMinutes() == 61 && duration("-1.5s").getSeconds() == -1 && duration("1.5s").getMilliseconds() == 1500',
    true,
  ],
  ["timestamp(0).getHours(dyn(1)) == 0", "no such overload: getHours(google.protobuf.Timestamp, int)"],
  ['dyn("a").getHours() == 0', "no such overload: getHours(string)"],
]);
