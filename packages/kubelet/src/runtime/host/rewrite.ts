import type { MountConfig } from "../config.ts";

/**
 * Without mount name spaces a volume is not at its path: a value that is the path of a mount, or begins with it,
 * names the place on the host instead. The longest mount path that fits counts.
 */
export function rewriter(mounts: readonly MountConfig[]): (value: string) => string {
  const sorted = [...mounts].sort((a, b) => b.containerPath.length - a.containerPath.length);
  return (value) => {
    for (const { containerPath, hostPath } of sorted) {
      if (value === containerPath) return hostPath;
      if (value.startsWith(`${containerPath}/`)) return hostPath + value.slice(containerPath.length);
    }
    return value;
  };
}
