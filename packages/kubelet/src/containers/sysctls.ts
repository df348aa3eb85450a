import type { Pod } from "@dray/api/core/v1";
import type { Refusal } from "../types/refusal.ts";

/**
 * Sysctls that affect the pod alone; Linux 4.15 and later keep each in a name space.
 *
 * Upstream: pkg/kubelet/sysctl/safe_sysctls.go.
 */
const safeSysctls = [
  "kernel.shm_rmid_forced",
  "net.ipv4.ip_local_port_range",
  "net.ipv4.tcp_syncookies",
  "net.ipv4.ping_group_range",
  "net.ipv4.ip_unprivileged_port_start",
  "net.ipv4.ip_local_reserved_ports",
  "net.ipv4.tcp_keepalive_time",
  "net.ipv4.tcp_fin_timeout",
  "net.ipv4.tcp_keepalive_intvl",
  "net.ipv4.tcp_keepalive_probes",
  "net.ipv4.tcp_rmem",
  "net.ipv4.tcp_wmem",
  "net.ipv4.tcp_slow_start_after_idle",
  "net.ipv4.tcp_notsent_lowat",
] as const;

type Namespace = "UTS" | "IPC" | "Net" | "User";

/** Upstream: k8s.io/component-helpers/node/util/sysctl/namespace.go. */
const namespaces: ReadonlyMap<string, Namespace> = new Map([
  ["kernel.domainname", "UTS"],
  ["kernel.sem", "IPC"],
  ["kernel.shmall", "IPC"],
  ["kernel.shmmax", "IPC"],
  ["kernel.shmmni", "IPC"],
  ["kernel.shm_rmid_forced", "IPC"],
  ["kernel.shm", "IPC"],
  ["kernel.msgmax", "IPC"],
  ["kernel.msgmnb", "IPC"],
  ["kernel.msgmni", "IPC"],
  ["kernel.msg", "IPC"],
]);
const prefixes: ReadonlyMap<string, Namespace> = new Map([
  ["net.", "Net"],
  ["fs.mqueue.", "IPC"],
  ["user.", "User"],
]);

const segment = "[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?";
const pattern = new RegExp(`^(?:${segment}[./])*(?:\\*|[a-z0-9](?:[-_a-z0-9]*[a-z0-9*])?)$`);
const maxLength = 253;

/** A pattern of sysctls is malformed, or matches sysctls of the whole machine. */
export class SysctlPatternError extends Error {
  override readonly name = "SysctlPatternError";
}

/**
 * Sysctls that pods of a node may set: the safe ones, and those that its administrator allows (KEP-34).
 *
 * Upstream: pkg/kubelet/sysctl/allowlist.go.
 */
export class SysctlAllowlist {
  readonly #names = new Map<string, Namespace>();
  readonly #prefixes = new Map<string, Namespace>();

  /**
   * `unsafe`: names and patterns (`net.core.*`) beside the safe ones. Throws SysctlPatternError for one that
   * is malformed or not known to have a name space.
   */
  constructor(unsafe: readonly string[] = []) {
    const safe = process.platform === "linux" ? safeSysctls : [];
    for (const text of [...safe, ...unsafe]) {
      if (text.length > maxLength || !pattern.test(text))
        throw new SysctlPatternError(
          `${text}: must be a sysctl, or one with * at its end, as in net.core.*, of at most ${maxLength} characters`,
        );
      const [name = "", end] = normalName(text).split("*");
      const namespace = namespaceOf(name);
      if (namespace === undefined)
        throw new SysctlPatternError(
          `${text}: not known to be kept in a name space; may be net.*, user.*, fs.mqueue.*, kernel.shm*, kernel.msg*, kernel.sem or kernel.domainname`,
        );
      (end === undefined ? this.#names : this.#prefixes).set(name, namespace);
    }
  }

  /** Returns why the node does not run the pod; undefined if it may set its sysctls. */
  refusal({ spec }: Pod): Refusal | undefined {
    for (const { name } of spec.securityContext?.sysctls ?? []) {
      const problem = this.#problem(name, spec);
      if (problem !== undefined)
        return { reason: "SysctlForbidden", message: `forbidden sysctl: ${problem}` };
    }
    return undefined;
  }

  #problem(text: string, { hostNetwork, hostIPC, hostUsers }: Pod["spec"]): string | undefined {
    const name = normalName(text);
    const namespace =
      this.#names.get(name) ?? [...this.#prefixes].find(([prefix]) => name.startsWith(prefix))?.[1];
    if (namespace === undefined) return `${JSON.stringify(name)} not allowlisted`;
    const ofMachine =
      (namespace === "IPC" && hostIPC === true) ||
      (namespace === "Net" && hostNetwork === true) ||
      (namespace === "User" && hostUsers !== false);
    return ofMachine ? `${JSON.stringify(name)} not allowed with host ${namespace} enabled` : undefined;
  }
}

function namespaceOf(name: string): Namespace | undefined {
  return namespaces.get(name) ?? [...prefixes].find(([prefix]) => name.startsWith(prefix))?.[1];
}

/** Uses dots as separators. If the first separator is a slash, dots and slashes are swapped. */
function normalName(name: string): string {
  if (/[./]/.exec(name)?.[0] !== "/") return name;
  return name.replaceAll(/[./]/g, (separator) => (separator === "/" ? "." : "/"));
}
