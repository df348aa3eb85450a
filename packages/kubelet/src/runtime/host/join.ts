import { RuntimeError } from "../error.ts";
import { cgroupProcesses } from "./cgroups.ts";
import type { HostContainer } from "./container.ts";
import { programEnvironment, toolEnvironment } from "./environment.ts";
import { enterCommand, type Isolation } from "./isolation.ts";
import type { User } from "./privileges.ts";
import { rewriter } from "./rewrite.ts";
import { becomeProgram } from "./scripts.ts";

/** A command that joins a container. */
export interface JoiningCommand {
  readonly argv: readonly string[];
  /** Environment of the tools that enter the container. */
  readonly env: Readonly<Record<string, string>>;
  /** Text for file descriptor 4 of the command: the environment of the program. */
  readonly environment: string;
  /** User of the command; undefined for the agent's. */
  readonly user: User | undefined;
}

/** Enters cgroups by the files up to `--`, and becomes the command that follows. */
const enterScript = `
while [ "$1" != -- ]; do
  echo 0 2>&3 >"$1" || exit 125
  shift
done
shift
exec "$@"
`;

/**
 * Takes the arguments of `becomeProgram`. Writes an error to file descriptor 3, or `started` and a line of
 * /proc/PID/stat.
 */
const joinScript = `
read -r stat </proc/self/stat
${becomeProgram}
`;

/**
 * Returns the command that runs another one in a container: with its root, working directory, cgroup and
 * environment. Throws `ContainerNotRunning`.
 */
export function joinContainer(
  container: HostContainer,
  isolation: Isolation,
  command: readonly string[],
  tty: boolean,
): JoiningCommand {
  container.refresh();
  const { process } = container;
  const { program, config, cgroup, bounds = [] } = container.record;
  if (process === undefined || program === undefined)
    throw new RuntimeError("ContainerNotRunning", `container "${config.name}" does not run`);
  if (command.length === 0) throw new RuntimeError("ExecError", "the command is empty");
  const rewrite = isolation.type === "plain" ? rewriter(program.mounts) : (value: string) => value;
  const cgroups = [...new Set([...(cgroup === undefined ? [] : [cgroup]), ...bounds])].map(cgroupProcesses);
  const group = cgroups.length === 0 ? [] : ["/bin/sh", "-c", enterScript, "enter", ...cgroups, "--"];
  const enter =
    isolation.type === "mounts" && program.isolated
      ? enterCommand(isolation, { pid: process.pid, pids: program.pids === true })
      : [];
  const words = command.map(rewrite);
  const { script, prefix } = programEnvironment(tty ? { TERM: "xterm", ...program.env } : program.env);
  const shell = ["/bin/sh", "-c", joinScript, "exec", program.directory, words[0] ?? ""];
  return {
    argv: [...group, ...enter, ...(program.privileges ?? []), ...shell, ...prefix, ...words],
    env: toolEnvironment,
    environment: script,
    user: program.user,
  };
}
