const number = "(0|[1-9]\\d*)";
const preRelease = "(0|[1-9]\\d*|\\d*[a-zA-Z-][0-9a-zA-Z-]*)";
const build = "[0-9a-zA-Z-]+";
const form = new RegExp(
  `^${number}\\.${number}\\.${number}(-${preRelease}(\\.${preRelease})*)?(\\+${build}(\\.${build})*)?$`,
);

/** True for a semantic version 2.0.0 (semver.org), which is what `version` attributes of devices hold. */
export function isSemanticVersion(text: string): boolean {
  return form.test(text);
}
