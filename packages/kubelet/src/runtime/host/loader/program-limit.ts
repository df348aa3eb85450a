import type { MountConfig } from "../../config.ts";
import type { ProgramFile, ProgramKind } from "./program-file.ts";

const because: Readonly<Record<Exclude<ProgramKind, "dynamic">, string>> = {
  static: "is linked statically",
  go: "is a program in Go",
  foreign: "is built for another kind of machine",
};

/** A program that cannot take the loader library. */
export interface ProgramLimit {
  /** Text for an event of the pod. */
  readonly text: string;
  /** The program cannot work: it is not started. */
  readonly isFatal: boolean;
}

export interface ProgramLimitInput {
  readonly program: ProgramFile | undefined;
  /** Volumes of the pod. */
  readonly mounts: readonly MountConfig[];
  /** Command, arguments and values of variables, which are rewritten where they name a volume. */
  readonly values: readonly string[];
  /** Reports whether the machine has a path. */
  exists(path: string): boolean;
  /** Maps a value that names a volume to the path on the machine. */
  rewrite(value: string): string;
}

/** The service account, which a kubeconfig in `$KUBECONFIG` names too. */
const account = "/var/run/secrets/kubernetes.io/serviceaccount";
/** Files that programs can do without. */
const dispensable = ["/etc/hosts", "/dev/termination-log"];

/**
 * Finds volumes that a program cannot find without a mount name space, since it takes no library. Undefined
 * if it finds all.
 */
export function programLimit(input: ProgramLimitInput): ProgramLimit | undefined {
  const { program, mounts, values, exists, rewrite } = input;
  if (program === undefined || program.kind === "dynamic") return undefined;
  const rewritten = values.map(rewrite).filter((value, index) => value !== values[index]);
  const lacking = mounts
    .filter(({ containerPath }) => !dispensable.includes(containerPath))
    .filter(({ hostPath }) => !rewritten.some((value) => value.includes(hostPath)))
    .map(({ containerPath }) => containerPath);
  if (lacking.length === 0) return undefined;
  const onlyAccount = lacking.every((path) => path === account);
  const ways = [
    "name the path in its arguments or variables, which lead to the volume",
    ...(program.kind === "static" ? ["link it dynamically"] : []),
    "allow user name spaces (sysctl user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns=0)",
    "run the cluster as root",
  ];
  const known = onlyAccount ? " Programs that read $KUBECONFIG find the account by that." : "";
  return {
    text: `${program.path} ${because[program.kind]}, so that it does not find the volumes at ${lacking.join(", ")}: this machine allows no mount name spaces.${known} What helps: ${ways.join("; ")}`,
    isFatal: lacking.some((path) => path !== account && !exists(path)),
  };
}
