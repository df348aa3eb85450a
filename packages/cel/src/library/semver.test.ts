import { testOutcomes } from "../testing/outcomes.ts";

testOutcomes([
  ['semver("1.2.3").major() == 1 && semver("1.2.3").minor() == 2 && semver("1.2.3").patch() == 3', true],
  [
    'semver("1.10.0").isGreaterThan(semver("1.9.0")) && semver("1.0.0-rc.2").isLessThan(semver("1.0.0-rc.10"))',
    true,
  ],
  [
    'semver("1.0.0-1").isLessThan(semver("1.0.0-a")) && semver("1.0.0-a").compareTo(semver("1.0.0")) == -1',
    true,
  ],
  ['semver("1.2.3+a") == semver("1.2.3+b")', true],
  ['semver("v01.02", true) == semver("1.2.0") && semver("1", true) == semver("1.0.0")', true],
  ['semver("1.02.3") == semver("1.2.3")', 'Minor number must not contain leading zeroes "02"'],
  ['semver("1.2") == semver("1.2.0")', "No Major.Minor.Patch elements found"],
  ['semver("") == semver("1.2.0")', "Version string empty"],
  ['semver("1.2.é") == semver("1.2.0")', 'Invalid character(s) found in patch number "é"'],
  [
    'semver("1.2.3-01") == semver("1.2.3")',
    'Numeric PreRelease version must not contain leading zeroes "01"',
  ],
  ['semver("1.2.3-") == semver("1.2.3")', "Prerelease is empty"],
  ['semver("1.2.3+a..b") == semver("1.2.3")', "Build meta data is empty"],
  ['semver("1.2-a", true) == semver("1.2.3")', "short version cannot contain PreRelease/Build meta data"],
  ['semver("-1.2.3", true) == semver("1.2.3")', 'Invalid character(s) found in major number "0-1"'],
  [
    'semver("18446744073709551616.0.0") == semver("1.2.3")',
    'strconv.ParseUint: parsing "18446744073709551616": value out of range',
  ],
  ['semver("18446744073709551615.0.0").major() == -1', true],
  ['isSemver("1.2.3") && !isSemver("v1.2.3") && isSemver("v1.2.3", true) && !isSemver("1.2.3 ", true)', true],
  ['semver("1.2.3") == dyn("1.2.3")', "no such overload"],
  ['dyn("1.2.3") == semver("1.2.3")', false],
]);
