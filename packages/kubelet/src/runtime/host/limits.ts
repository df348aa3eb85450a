import type { AgentPrivileges } from "./privileges.ts";

export interface MachineAbilities {
  readonly agent: Pick<AgentPrivileges, "root" | "mounts" | "setpriv">;
  /** There is a loader library. */
  readonly hasLoader: boolean;
  readonly boundsMemory: boolean;
  /** No process outlives its container. */
  readonly isContained: boolean;
}

/** Lists what containers are not kept apart by on this machine, as text. */
export function limitsOf({ agent, hasLoader, boundsMemory, isContained }: MachineAbilities): string[] {
  const { root, mounts, setpriv } = agent;
  const limits = [
    mounts
      ? "containers can read the files of the machine"
      : `containers see the files of the machine, and volumes ${hasLoader ? "at their paths only if their programs take a library (Go's do not)" : "are not at their paths"}`,
    "they see its processes and its network",
  ];
  if (!mounts && !hasLoader) limits.push("they find Services by variables, not by name");
  if (!boundsMemory) limits.push("limits of cpu and memory bind nobody");
  if (root && (!mounts || setpriv === undefined)) limits.push("they run as its root");
  if (!isContained) limits.push("a process that hides outlives its container");
  return limits;
}
