import type { AgentPrivileges } from "./privileges.ts";

export interface MachineAbilities {
  readonly agent: Pick<AgentPrivileges, "root" | "mounts" | "setpriv">;
  /** There is a loader library. */
  readonly hasLoader: boolean;
  readonly boundsMemory: boolean;
  /** No process outlives its container. */
  readonly isContained: boolean;
  /** Containers have pid name spaces. */
  readonly hasPidSpaces: boolean;
}

/** Lists what containers are not kept apart by on this machine, as text. */
export function limitsOf(abilities: MachineAbilities): string[] {
  const { agent, hasLoader, boundsMemory, isContained, hasPidSpaces } = abilities;
  const { root, mounts, setpriv } = agent;
  const limits = [
    mounts
      ? "containers can read the files of the machine"
      : `containers see the files of the machine, and volumes ${hasLoader ? "at their paths only if their programs take a library (Go's do not)" : "are not at their paths"}`,
    hasPidSpaces
      ? "they see its network"
      : "they see its network and its processes, and can end those of the same user",
  ];
  if (!mounts && !hasLoader) limits.push("they find Services by variables, not by name");
  if (!boundsMemory) limits.push("limits of cpu and memory bind nobody");
  if (root && (!mounts || setpriv === undefined)) limits.push("they run as its root");
  if (!isContained) limits.push("a process that hides outlives its container");
  return limits;
}
