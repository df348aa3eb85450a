import { UsageError } from "../terminal/failure.ts";

/**
 * Reads the value of `--allowed-unsafe-sysctls`: names of sysctls, or beginnings that end with `*`, with
 * commas between.
 */
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
