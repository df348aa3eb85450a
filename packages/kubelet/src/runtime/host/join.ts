import { RuntimeError } from "../service.ts";
import type { HostContainer } from "./container.ts";
import type { Isolation } from "./isolation.ts";
import { rewriter } from "./rewrite.ts";

/** A command that joins a container, and its environment. */
export interface JoiningCommand {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Arguments are the working directory, the program, and the words that run it with its arguments. Says on file descriptor 3 what keeps it from starting the
 * command, or `started` and a line of /proc/PID/stat.
 */
const joinScript = `
cd "$1" 2>&3 || exit 126
program=$2
shift 2
case $program in
*/*)
  if [ ! -e "$program" ]; then
    echo "exec: \\"$program\\": stat $program: no such file or directory" >&3
    exit 127
  elif [ -d "$program" ] || [ ! -x "$program" ]; then
    echo "exec: \\"$program\\": permission denied" >&3
    exit 126
  fi ;;
*)
  if ! command -v "$program" >/dev/null 2>&1; then
    echo "exec: \\"$program\\": executable file not found in \\$PATH" >&3
    exit 127
  fi ;;
esac
read -r stat </proc/$$/stat
echo "started $stat" >&3
exec 3>&-
unset OLDPWD
exec "$@"
`;

/**
 * What runs a command beside the program of a container: with its root, working directory and environment. Throws
 * `ContainerNotRunning`.
 */
export function joinContainer(
  container: HostContainer,
  isolation: Isolation,
  command: readonly string[],
): JoiningCommand {
  container.refresh();
  const { process } = container;
  const { program, config } = container.record;
  if (process === undefined || program === undefined)
    throw new RuntimeError("ContainerNotRunning", `container "${config.name}" does not run`);
  if (command.length === 0) throw new RuntimeError("ExecError", "the command is empty");
  const rewrite = isolation.type === "plain" ? rewriter(config.mounts) : (value: string) => value;
  const enter =
    isolation.type === "mounts" && program.isolated
      ? [...isolation.nsenter, "--target", String(process.pid), "--"]
      : [];
  const words = command.map(rewrite);
  const shell = ["/bin/sh", "-c", joinScript, "exec", program.directory, words[0] ?? ""];
  return { argv: [...enter, ...shell, ...carry(program.env), ...words], env: program.env };
}

/** A shell drops variables whose names it could not use itself: `env` carries them past it. */
export function carry(env: Readonly<Record<string, string>>): string[] {
  const names = Object.keys(env).filter((name) => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name));
  return names.length === 0 ? [] : ["env", ...names.map((name) => `${name}=${env[name]}`)];
}
