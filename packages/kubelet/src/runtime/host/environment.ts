import { RuntimeError } from "../error.ts";
import { find } from "./isolation.ts";
import { shellLine } from "./terminal.ts";

/**
 * The environment of a container's program, as the shell gets it that becomes the program.
 *
 * The shells and tools that make a container run outside its root, so none of them may see its environment:
 * LD_PRELOAD would load a library of the pod into them. The last shell reads it as text, which is on no
 * command line.
 */
export interface ProgramEnvironment {
  /** Shell source that exports the variables. */
  readonly script: string;
  /** Words before the command that set variables which a shell would drop, change or refuse. */
  readonly prefix: readonly string[];
}

/** The environment of the shells and tools around a program. */
export const toolEnvironment: Readonly<Record<string, string>> = {
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
};

/** Names that shells (dash, bash, busybox) treat specially, so that they cannot be exported. */
const shellNames =
  /^(?:_|BASH.*|COMP_.*|DIRSTACK|ENV|EPOCH.*|EUID|FUNCNAME|GROUPS|HISTCMD|IFS|LINENO|MAIL.*|OLDPWD|OPTARG|OPTERR|OPTIND|PIPESTATUS|POSIXLY_CORRECT|PPID|PS[0-9]|PWD|RANDOM|SECONDS|SHELLOPTS|SHLVL|SRANDOM|TMOUT|UID)$/;

/** Throws CreateContainerError for an invalid variable. */
export function programEnvironment(env: Readonly<Record<string, string>>): ProgramEnvironment {
  const lines: string[] = [];
  const carried: string[] = [];
  for (const [name, value] of Object.entries(env)) {
    if (name === "" || /[=\0]/.test(name) || value.includes("\0"))
      throw new RuntimeError(
        "CreateContainerError",
        `environment variable ${JSON.stringify(name)} cannot be set: a name must not be empty or contain "=", and ` +
          "neither name nor value may contain a null byte",
      );
    if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !shellNames.test(name))
      lines.push(`export ${name}=${shellLine([value])}\n`);
    else carried.push(`${name}=${value}`);
  }
  if (carried.length === 0) return { script: lines.join(""), prefix: [] };
  // An absolute path, since the PATH of the container may lack it.
  const program = find("env");
  if (program === undefined)
    throw new RuntimeError(
      "CreateContainerError",
      `environment variables ${carried.map((one) => one.split("=")[0]).join(", ")} cannot be set: the program env is not installed on this node`,
    );
  return { script: lines.join(""), prefix: [program, ...carried] };
}
