import type { SecurityContext } from "@dray/api/core/v1";
import {
  type Check,
  containersText,
  hasOwnUsers,
  isWindows,
  joined,
  named,
  plural,
  procMountProblem,
  seccompProblem,
  setters,
  sorted,
} from "./check.ts";

const privilegeEscalation: Check = {
  level: "restricted",
  since: 8,
  run(subject, minor) {
    if (minor >= 25 && isWindows(subject)) return undefined;
    const containers = named(subject, (_, context) => context.allowPrivilegeEscalation !== false);
    if (containers.length === 0) return undefined;
    return {
      reason: "allowPrivilegeEscalation != false",
      detail: `${containersText(containers)} must set securityContext.allowPrivilegeEscalation=false`,
    };
  },
};

const noCapabilities: Check = {
  level: "restricted",
  since: 22,
  run(subject, minor) {
    if (minor >= 25 && isWindows(subject)) return undefined;
    const bad = ({ capabilities: own }: SecurityContext): string[] =>
      (own?.add ?? []).filter((name) => name !== "NET_BIND_SERVICE");
    const keeping = named(subject, (_, { capabilities: own }) => !own?.drop?.includes("ALL"));
    const adding = named(subject, (_, context) => bad(context).length > 0);
    const details: string[] = [];
    if (keeping.length > 0)
      details.push(`${containersText(keeping)} must set securityContext.capabilities.drop=["ALL"]`);
    if (adding.length > 0) {
      const names = sorted(subject.containers.flatMap((each) => bad(each.securityContext ?? {})));
      details.push(
        `${containersText(adding)} must not include ${joined(names)} in securityContext.capabilities.add`,
      );
    }
    return details.length === 0
      ? undefined
      : { reason: "unrestricted capabilities", detail: details.join("; ") };
  },
};

const noProcMount: Check = { level: "restricted", since: 35, run: procMountProblem };

const allowedVolumes = new Set([
  "configMap",
  "csi",
  "downwardAPI",
  "emptyDir",
  "ephemeral",
  "image",
  "persistentVolumeClaim",
  "projected",
  "secret",
]);

const volumeTypes: Check = {
  level: "restricted",
  run({ spec }) {
    const bad = (spec.volumes ?? []).flatMap(({ name, ...sources }) => {
      const types = Object.keys(sources);
      return types.some((type) => allowedVolumes.has(type)) ? [] : [{ name, type: types[0] ?? "unknown" }];
    });
    if (bad.length === 0) return undefined;
    const types = sorted(bad.map(({ type }) => type));
    return {
      reason: "restricted volume types",
      detail: `${plural("volume", "volumes", bad.length)} ${joined(bad.map(({ name }) => name))} ${plural("uses", "use", bad.length)} ${plural("restricted volume type", "restricted volume types", types.length)} ${joined(types)}`,
    };
  },
};

const nonRoot: Check = {
  level: "restricted",
  run(subject, minor) {
    if (hasOwnUsers(subject, minor)) return undefined;
    const pod = subject.spec.securityContext?.runAsNonRoot;
    const reason = "runAsNonRoot != true";
    const who = setters(
      pod === false,
      named(subject, (_, context) => context.runAsNonRoot === false),
    );
    if (who.length > 0)
      return { reason, detail: `${who.join(" and ")} must not set securityContext.runAsNonRoot=false` };
    const silent = pod ? [] : named(subject, (_, context) => context.runAsNonRoot === undefined);
    if (silent.length === 0) return undefined;
    return { reason, detail: `pod or ${containersText(silent)} must set securityContext.runAsNonRoot=true` };
  },
};

const user: Check = {
  level: "restricted",
  since: 23,
  run(subject, minor) {
    if (hasOwnUsers(subject, minor)) return undefined;
    const isRoot = (id: number | bigint | undefined): boolean => id !== undefined && Number(id) === 0;
    const who = setters(
      isRoot(subject.spec.securityContext?.runAsUser),
      named(subject, (_, context) => isRoot(context.runAsUser)),
    );
    if (who.length === 0) return undefined;
    return { reason: "runAsUser=0", detail: `${who.join(" and ")} must not set runAsUser=0` };
  },
};

const someSeccomp: Check = {
  level: "restricted",
  since: 19,
  run(subject, minor) {
    if (minor >= 25 && isWindows(subject)) return undefined;
    const wrong = seccompProblem(subject);
    if (wrong !== undefined || subject.spec.securityContext?.seccompProfile !== undefined) return wrong;
    const silent = named(subject, (_, context) => context.seccompProfile === undefined);
    if (silent.length === 0) return undefined;
    return {
      reason: "seccompProfile",
      detail: `pod or ${containersText(silent)} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"`,
    };
  },
};

/** Checks of the restricted level, which requires a hardened pod, in upstream's order. */
export const restricted: readonly Check[] = [
  privilegeEscalation,
  noCapabilities,
  noProcMount,
  volumeTypes,
  nonRoot,
  user,
  someSeccomp,
];
