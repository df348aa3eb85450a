import { createHash } from "node:crypto";
import type { SecurityConfig } from "../config.ts";
import { bindService, capabilityList, containerCapabilities, ownBoundingSet } from "./capabilities.ts";
import { find } from "./isolation.ts";

/** Privileges that the agent can drop for its containers. */
export interface AgentPrivileges {
  /** Path of setpriv(1) of util-linux; undefined if the machine lacks it. */
  readonly setpriv: string | undefined;
  /** The agent is root of the machine. */
  readonly root: boolean;
  /** Containers have mount name spaces: their files are mounted where any user can reach them. */
  readonly mounts: boolean;
  /** Numbers of the capabilities in the agent's bounding set. */
  readonly bounding: ReadonlySet<number>;
}

export function agentPrivileges(mounts: boolean): AgentPrivileges {
  const root = process.getuid?.() === 0;
  return { setpriv: find("setpriv"), root, mounts, bounding: ownBoundingSet() };
}

/** User of a process. */
export interface User {
  readonly uid: number;
  readonly gid: number;
}

/** Privileges of a container's processes. */
export interface Privileges {
  /** Words before the shell that becomes the program; empty for the agent's own privileges. */
  readonly prefix: readonly string[];
  /** Undefined for the agent's user. */
  readonly user: User | undefined;
  /** Supplementary groups. */
  readonly groups: readonly number[];
  /** Requests of the pod that are not met, as text. */
  readonly unsupported: readonly string[];
}

export interface PrivilegesInput {
  readonly security: SecurityConfig;
  readonly agent: AgentPrivileges;
  readonly podUid: string;
  /** The container uses files or devices of the machine that only root can. */
  readonly needsRoot: boolean;
  /** User of the image's program, if its mapping names one. */
  readonly imageUser?: User | undefined;
  /** Groups of the container's devices. */
  readonly deviceGroups: readonly number[];
}

/**
 * Plans the user of a container's processes. If the agent is root and the pod names no user, they run as a
 * user of the pod's own that the machine does not know: root of an image would be root of the machine here.
 *
 * Upstream: CRI, LinuxContainerSecurityContext.
 */
export function planPrivileges(input: PrivilegesInput): Privileges {
  const { security, agent, deviceGroups } = input;
  const { setpriv, root, mounts } = agent;
  if (setpriv === undefined)
    return { prefix: [], user: undefined, groups: [], unsupported: askedFor(security) };
  if (!root || !mounts) return restricted(security, agent, setpriv);
  const { runAsUser, runAsGroup, supplementalGroups, privileged } = security;
  const own = podUser(input.podUid);
  const asRoot = (privileged || input.needsRoot) && !security.runAsNonRoot;
  const imageUser = runAsUser === undefined ? input.imageUser : undefined;
  const uid = runAsUser ?? imageUser?.uid ?? (asRoot ? 0 : own);
  const gid = runAsGroup ?? imageUser?.gid ?? (uid === 0 ? 0 : own);
  const groups = [...new Set([...supplementalGroups, ...deviceGroups])];
  const same = uid === 0 && gid === 0 && groups.length === 0;
  if (privileged && same) return { prefix: [], user: undefined, groups: [], unsupported: [] };
  const limits = privileged
    ? []
    : capabilityFlags(security, agent, uid, (runAsUser ?? imageUser) === undefined);
  const prefix = [
    setpriv,
    `--reuid=${uid}`,
    `--regid=${gid}`,
    groups.length === 0 ? "--clear-groups" : `--groups=${groups.join()}`,
    ...limits,
    "--",
  ];
  return { prefix, user: { uid, gid }, groups, unsupported: [] };
}

function capabilityFlags(
  security: SecurityConfig,
  { bounding: own }: AgentPrivileges,
  uid: number,
  implicit: boolean,
): string[] {
  const { bounding, added } = containerCapabilities(security.addCapabilities, security.dropCapabilities);
  const can = (numbers: readonly number[]): number[] => numbers.filter((number) => own.has(number));
  if (uid === 0)
    return [
      "--inh-caps=-all",
      `--bounding-set=${capabilityList(can(bounding))}`,
      ...(security.noNewPrivileges ? ["--no-new-privs"] : []),
    ];
  // Container runtimes let every user listen on ports below 1024; here a pod can refuse that. One that names
  // no user takes
  // itself for root, so that it has what it adds; with a user, it has that in its bounding set alone, as
  // upstream.
  const refused = security.dropCapabilities.some((name) => name === "ALL" || name === "NET_BIND_SERVICE");
  const held = can([...new Set([...(refused ? [] : [bindService]), ...(implicit ? added : [])])]);
  const list = capabilityList(held);
  // Programs with the setuid bit would be root of the machine.
  const sets = [`--inh-caps=${list}`, `--ambient-caps=${list}`, `--bounding-set=${list}`];
  return [...sets, "--no-new-privs"];
}

/** For agents that are not root, or without mount name spaces, the user stays the same. */
function restricted(security: SecurityConfig, agent: AgentPrivileges, setpriv: string): Privileges {
  const { privileged, noNewPrivileges, addCapabilities, dropCapabilities } = security;
  const unsupported = askedUser(security, agent.root || agent.mounts);
  // In a user name space root has its capabilities; without one, a user has none to drop.
  const limited = agent.root || (agent.mounts && dropCapabilities.length > 0);
  const { bounding } = containerCapabilities(addCapabilities, dropCapabilities);
  const flags = [
    ...(limited && !privileged
      ? [
          "--inh-caps=-all",
          `--bounding-set=${capabilityList(bounding.filter((one) => agent.bounding.has(one)))}`,
        ]
      : []),
    ...(noNewPrivileges ? ["--no-new-privs"] : []),
  ];
  if (!agent.root && addCapabilities.length > 0) unsupported.push("capabilities.add");
  return {
    prefix: flags.length === 0 ? [] : [setpriv, ...flags, "--"],
    user: undefined,
    groups: [],
    unsupported,
  };
}

/** `isZero`: the container's user has the number 0. */
function askedUser(security: SecurityConfig, isZero: boolean): string[] {
  const { runAsUser, runAsUserName, runAsGroup, supplementalGroups } = security;
  const asked: string[] = [];
  const other = (id: number | undefined): boolean => id !== undefined && !(isZero && id === 0);
  if (other(runAsUser) || runAsUserName !== undefined) asked.push("runAsUser");
  if (other(runAsGroup)) asked.push("runAsGroup");
  if (supplementalGroups.length > 0) asked.push("supplementalGroups and fsGroup");
  return asked;
}

function askedFor(security: SecurityConfig): string[] {
  return [
    ...askedUser(security, process.getuid?.() === 0),
    ...(security.noNewPrivileges ? ["allowPrivilegeEscalation: false"] : []),
    ...(security.dropCapabilities.length > 0 ? ["capabilities.drop"] : []),
    ...(security.addCapabilities.length > 0 ? ["capabilities.add"] : []),
  ];
}

/** User of containers whose pod names none, if the agent can change users. */
export function ownUser({ setpriv, root, mounts }: AgentPrivileges, podUid: string): number | undefined {
  return setpriv !== undefined && root && mounts ? podUser(podUid) : undefined;
}

/** systemd's list of users and groups leaves 0x70000000 to 0x7ffffffe free. */
const firstUser = 0x7000_0000;

/** User of a pod: the same for all its containers, and almost certainly of no other pod of the machine. */
function podUser(podUid: string): number {
  const number = createHash("sha256").update(podUid).digest().readUInt32BE(0);
  return firstUser + (number % 0x0fff_ffff);
}
