import { UsageError } from "../terminal/failure.ts";

/** Parses the value of `--allowed-unsafe-sysctls`: comma-separated names of sysctls, or prefixes with `*`. */
export async function unsafeSysctlsOption(value = ""): Promise<readonly string[]> {
  if (value === "") return [];
  const { SysctlAllowlist, SysctlPatternError } = await import("@dray/kubelet");
  const patterns = value.split(",").map((one) => one.trim());
  try {
    new SysctlAllowlist(patterns);
  } catch (error) {
    if (!(error instanceof SysctlPatternError)) throw error;
    throw new UsageError(`--allowed-unsafe-sysctls ${error.message}`);
  }
  return patterns;
}
