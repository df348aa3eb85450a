import { arch, platform } from "node:process";

/**
 * The response of `/version` (apimachinery version.Info): the Kubernetes release whose behaviour the server
 * has.
 */
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
    // Go's name of the platform.
    platform: `${platform}/${arch === "x64" ? "amd64" : arch}`,
  };
}
