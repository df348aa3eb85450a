import { arch, platform } from "node:process";

/** What `/version` answers (apimachinery version.Info): that we behave as this release of Kubernetes. */
export function versionInfo(version: string): object {
  const [major, minor] = version.split(".") as [string, string];
  return {
    major,
    minor,
    emulationMajor: major,
    emulationMinor: minor,
    minCompatibilityMajor: major,
    minCompatibilityMinor: String(Number(minor) - 1),
    gitVersion: `v${version}.0+dray`,
    gitCommit: "",
    gitTreeState: "clean",
    buildDate: "1970-01-01T00:00:00Z",
    goVersion: "",
    compiler: "node",
    // As Go names it.
    platform: `${platform}/${arch === "x64" ? "amd64" : arch}`,
  };
}
