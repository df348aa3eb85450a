import { quoted } from "@dray/api";
import type { Container, Probe, SecurityContext } from "@dray/api/core/v1";
import {
  type Check,
  containersText,
  hasOwnUsers,
  joined,
  named,
  plural,
  procMountProblem,
  seccompProblem,
  setters,
  sorted,
} from "./check.ts";

const appArmorPrefix = "container.apparmor.security.beta.kubernetes.io/";

const appArmor: Check = {
  level: "baseline",
  run(subject) {
    const bad = (type: string | undefined): boolean =>
      type !== undefined && type !== "RuntimeDefault" && type !== "Localhost";
    const podType = subject.spec.securityContext?.appArmorProfile?.type;
    const containers = named(subject, (_, context) => bad(context.appArmorProfile?.type));
    const types = [podType, ...subject.containers.map((each) => each.securityContext?.appArmorProfile?.type)];
    const values = sorted(types.filter((type) => type !== undefined).filter(bad));
    const annotations = Object.entries(subject.annotations)
      .filter(([key, value]) => key.startsWith(appArmorPrefix) && !allowedAppArmor(value))
      .map(([key, value]) => `${key}=${quoted(value)}`)
      .sort();
    const who = setters(bad(podType), containers);
    if (annotations.length > 0) who.push(plural("annotation", "annotations", annotations.length));
    if (who.length === 0) return undefined;
    const all = [...values, ...annotations];
    return {
      reason: plural("forbidden AppArmor profile", "forbidden AppArmor profiles", all.length),
      detail: `${who.join(" and ")} must not set AppArmor profile type to ${joined(all)}`,
    };
  },
};

const allowedAppArmor = (value: string): boolean =>
  value === "" || value === "runtime/default" || value.startsWith("localhost/");

const defaultCapabilities = new Set([
  "AUDIT_WRITE",
  "CHOWN",
  "DAC_OVERRIDE",
  "FOWNER",
  "FSETID",
  "KILL",
  "MKNOD",
  "NET_BIND_SERVICE",
  "SETFCAP",
  "SETGID",
  "SETPCAP",
  "SETUID",
  "SYS_CHROOT",
]);

const capabilities: Check = {
  level: "baseline",
  replacedSince: 22,
  run(subject) {
    const bad = ({ capabilities: own }: SecurityContext): string[] =>
      (own?.add ?? []).filter((name) => !defaultCapabilities.has(name));
    const containers = named(subject, (_, context) => bad(context).length > 0);
    if (containers.length === 0) return undefined;
    const names = sorted(subject.containers.flatMap((each) => bad(each.securityContext ?? {})));
    return {
      reason: "non-default capabilities",
      detail: `${containersText(containers)} must not include ${joined(names)} in securityContext.capabilities.add`,
    };
  },
};

const hostNamespaces: Check = {
  level: "baseline",
  run({ spec }) {
    const shared = (["hostNetwork", "hostPID", "hostIPC"] as const).filter((name) => spec[name]);
    if (shared.length === 0) return undefined;
    return { reason: "host namespaces", detail: shared.map((name) => `${name}=true`).join(", ") };
  },
};

const hostPaths: Check = {
  level: "baseline",
  replacedSince: 0,
  run({ spec }) {
    const names = (spec.volumes ?? []).filter(({ hostPath }) => hostPath).map(({ name }) => name);
    if (names.length === 0) return undefined;
    return {
      reason: "hostPath volumes",
      detail: `${plural("volume", "volumes", names.length)} ${joined(names)}`,
    };
  },
};

const hostPorts: Check = {
  level: "baseline",
  run(subject) {
    const portsOf = ({ ports = [] }: Container): string[] =>
      ports.filter(({ hostPort }) => hostPort).map(({ hostPort }) => String(hostPort));
    const containers = named(subject, (container) => portsOf(container).length > 0);
    if (containers.length === 0) return undefined;
    const ports = sorted(subject.containers.flatMap(portsOf));
    return {
      reason: "hostPort",
      detail: `${containersText(containers)} ${plural("uses", "use", containers.length)} ${plural("hostPort", "hostPorts", ports.length)} ${ports.join(", ")}`,
    };
  },
};

const probeHosts: Check = {
  level: "baseline",
  since: 34,
  run(subject) {
    const hostsOf = ({ livenessProbe, readinessProbe, startupProbe, lifecycle }: Container): string[] =>
      [livenessProbe, readinessProbe, startupProbe, lifecycle?.postStart, lifecycle?.preStop].flatMap(
        (handler) => {
          const { httpGet, tcpSocket } = (handler ?? {}) as Probe;
          return [httpGet?.host, tcpSocket?.host].filter((host) => !!host) as string[];
        },
      );
    const containers = sorted(named(subject, (container) => hostsOf(container).length > 0));
    if (containers.length === 0) return undefined;
    const hosts = sorted(subject.containers.flatMap(hostsOf));
    return {
      reason: "probe or lifecycle host",
      detail: `${containersText(containers)} ${plural("uses", "use", containers.length)} ${plural("probe or lifecycle host", "probe or lifecycle hosts", hosts.length)} ${joined(hosts)}`,
    };
  },
};

const privileged: Check = {
  level: "baseline",
  run(subject) {
    const containers = named(subject, (_, context) => context.privileged);
    if (containers.length === 0) return undefined;
    return {
      reason: "privileged",
      detail: `${containersText(containers)} must not set securityContext.privileged=true`,
    };
  },
};

const procMount: Check = {
  level: "baseline",
  replacedSince: 35,
  run: (subject, minor) => (hasOwnUsers(subject, minor) ? undefined : procMountProblem(subject)),
};

const seLinux: Check = {
  level: "baseline",
  run(subject, minor) {
    const allowed = ["", "container_t", "container_init_t", "container_kvm_t"];
    if (minor >= 31) allowed.push("container_engine_t");
    const pod = subject.spec.securityContext?.seLinuxOptions;
    const bad = (options: typeof pod): boolean =>
      options !== undefined && (!allowed.includes(options.type ?? "") || !!options.user || !!options.role);
    const who = setters(
      bad(pod),
      named(subject, (_, context) => bad(context.seLinuxOptions)),
    );
    if (who.length === 0) return undefined;
    const all = [pod, ...subject.containers.map((each) => each.securityContext?.seLinuxOptions)];
    const types = sorted(all.map((options) => options?.type ?? "").filter((type) => !allowed.includes(type)));
    const what = [
      ...(types.length > 0 ? [`${plural("type", "types", types.length)} ${joined(types)}`] : []),
      ...(all.some((options) => options?.user) ? ["user may not be set"] : []),
      ...(all.some((options) => options?.role) ? ["role may not be set"] : []),
    ];
    return {
      reason: "seLinuxOptions",
      detail: `${who.join(" and ")} set forbidden securityContext.seLinuxOptions: ${what.join("; ")}`,
    };
  },
};

const seccomp: Check = { level: "baseline", since: 19, replacedSince: 19, run: seccompProblem };

const sysctlsSince: readonly (readonly [minor: number, names: readonly string[]])[] = [
  [
    0,
    [
      "kernel.shm_rmid_forced",
      "net.ipv4.ip_local_port_range",
      "net.ipv4.tcp_syncookies",
      "net.ipv4.ping_group_range",
      "net.ipv4.ip_unprivileged_port_start",
    ],
  ],
  [27, ["net.ipv4.ip_local_reserved_ports"]],
  [
    29,
    [
      "net.ipv4.tcp_keepalive_time",
      "net.ipv4.tcp_fin_timeout",
      "net.ipv4.tcp_keepalive_intvl",
      "net.ipv4.tcp_keepalive_probes",
    ],
  ],
  [32, ["net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"]],
];

const sysctls: Check = {
  level: "baseline",
  run({ spec }, minor) {
    const allowed = sysctlsSince.flatMap(([since, names]) => (minor >= since ? names : []));
    const bad = (spec.securityContext?.sysctls ?? [])
      .map(({ name }) => name)
      .filter((name) => !allowed.includes(name));
    return bad.length === 0 ? undefined : { reason: "forbidden sysctls", detail: bad.join(", ") };
  },
};

const hostProcess: Check = {
  level: "baseline",
  run(subject) {
    const who = setters(
      subject.spec.securityContext?.windowsOptions?.hostProcess === true,
      named(subject, (_, context) => context.windowsOptions?.hostProcess),
    );
    if (who.length === 0) return undefined;
    return {
      reason: "hostProcess",
      detail: `${who.join(" and ")} must not set securityContext.windowsOptions.hostProcess=true`,
    };
  },
};

/** Checks of the baseline level, which prevents known privilege escalations, in upstream's order. */
export const baseline: readonly Check[] = [
  appArmor,
  capabilities,
  hostNamespaces,
  hostPaths,
  hostPorts,
  probeHosts,
  privileged,
  procMount,
  seLinux,
  seccomp,
  sysctls,
  hostProcess,
];
