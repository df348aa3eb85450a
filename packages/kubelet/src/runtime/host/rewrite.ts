import type { MountConfig } from "../config.ts";

/**
 * Rewrites paths of volumes, which are not at their paths without mount name spaces: a value that is the path
 * of a mount, or begins with it, is mapped to the path on the host, also behind `--flag=`. The longest
 * matching mount path wins.
 */
export function rewriter(mounts: readonly MountConfig[]): (value: string) => string {
  const sorted = [...mounts].sort((a, b) => b.containerPath.length - a.containerPath.length);
  return (whole) => {
    const [flag = ""] = /^--?[\w.-]+=(?=\/)/.exec(whole) ?? [];
    const value = whole.slice(flag.length);
    for (const { containerPath, hostPath } of sorted) {
      if (value === containerPath) return flag + hostPath;
      if (value.startsWith(`${containerPath}/`)) return flag + hostPath + value.slice(containerPath.length);
    }
    return whole;
  };
}
