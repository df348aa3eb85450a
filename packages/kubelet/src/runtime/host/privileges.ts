import { createHash } from "node:crypto";
import type { SecurityConfig } from "../config.ts";
import { bindService, capabilityList, containerCapabilities, ownBoundingSet } from "./capabilities.ts";
import { find } from "./isolation.ts";

/** What the agent can take from its containers. */
export interface AgentPrivileges {
  /** setpriv(1) of util-linux by its path; undefined where the machine lacks it. */
  readonly setpriv: string | undefined;
  /** The agent is the machine's superuser. */
  readonly root: boolean;
  /** Containers have mount name spaces: what they need is bound where any user can reach it. */
  readonly mounts: boolean;
  /** Numbers of the capabilities that can be handed on. */
  readonly bounding: ReadonlySet<number>;
}

export function agentPrivileges(mounts: boolean): AgentPrivileges {
  const root = process.getuid?.() === 0;
  return { setpriv: find("setpriv"), root, mounts, bounding: ownBoundingSet() };
}

/** Who a process is. */
export interface User {
  readonly uid: number;
  readonly gid: number;
}

/** What a container's processes are started with. */
export interface Privileges {
  /** Words in front of the shell that becomes the program; empty: it is as the agent is. */
  readonly prefix: readonly string[];
  /** Undefined: the agent's user. */
  readonly user: User | undefined;
  /** Beside the user's own. */
  readonly groups: readonly number[];
  /** What the pod asks for and does not get, in words. */
  readonly unsupported: readonly string[];
}

export interface PrivilegesInput {
  readonly security: SecurityConfig;
  readonly agent: AgentPrivileges;
  readonly podUid: string;
  /** It uses files or devices of the machine that are for root alone. */
  readonly needsRoot: boolean;
  /** Groups to which devices of the container belong. */
  readonly deviceGroups: readonly number[];
}

/**
 * Says as whom a container's processes run. Where the agent is root and the pod names no user, they run as a user of
 * the pod's own that the machine does not know: the root of an image would be the root of the machine here.
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
  const uid = runAsUser ?? (privileged || input.needsRoot ? 0 : own);
  const gid = runAsGroup ?? (uid === 0 ? 0 : own);
  const groups = [...new Set([...supplementalGroups, ...deviceGroups])];
  const same = uid === 0 && gid === 0 && groups.length === 0;
  if (privileged && same) return { prefix: [], user: undefined, groups: [], unsupported: [] };
  const limits = privileged ? [] : capabilityFlags(security, agent, uid, runAsUser === undefined);
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
  // Container runtimes let every user listen on ports below 1024; here a pod can refuse that. One that names no user takes
  // itself for root, so that it has what it adds; with a user, it has that in its bounding set alone, as upstream.
  const refused = security.dropCapabilities.some((name) => name === "ALL" || name === "NET_BIND_SERVICE");
  const held = can([...new Set([...(refused ? [] : [bindService]), ...(implicit ? added : [])])]);
  const list = capabilityList(held);
  // Programs with the bit setuid would be the machine's root.
  const sets = [`--inh-caps=${list}`, `--ambient-caps=${list}`, `--bounding-set=${list}`];
  return [...sets, "--no-new-privs"];
}

/** Where the user stays as it is: an agent of another user, or without mount name spaces. */
function restricted(security: SecurityConfig, agent: AgentPrivileges, setpriv: string): Privileges {
  const { privileged, noNewPrivileges, addCapabilities, dropCapabilities } = security;
  const unsupported = askedUser(security, agent.root || agent.mounts);
  // In a user name space root has the capabilities of what is in it; without one, a user has none to drop.
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

/** The user of containers whose pod names none, where the agent can make them so. */
export function ownUser({ setpriv, root, mounts }: AgentPrivileges, podUid: string): number | undefined {
  return setpriv !== undefined && root && mounts ? podUser(podUid) : undefined;
}

/** 0x70000000 to 0x7ffffffe are numbers that systemd's list of users and groups leaves free. */
const firstUser = 0x7000_0000;

/** A user for the pod: the same for all its containers, and for no other pod of the machine but by great chance. */
function podUser(podUid: string): number {
  const number = createHash("sha256").update(podUid).digest().readUInt32BE(0);
  return firstUser + (number % 0x0fff_ffff);
}
