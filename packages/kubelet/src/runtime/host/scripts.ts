import { join } from "node:path";
import { find, type Isolation, type MountTools, type PidSpace, unshareCommand } from "./isolation.ts";
import { sandboxScript, sandboxScriptName } from "./sandbox-process.ts";
import { shellLine } from "./terminal.ts";

/** Pipe in the directory of a container with a standard input. */
export const stdinName = "stdin";
/** Pipe into which a line is written to close the other one. */
export const closeName = "close";
/** Shell script in the directory of a container with a terminal, which starts it there. */
export const terminalName = "terminal";
/** Shell source in the directory of a container that exports the environment of its program. */
export const environmentName = "environment";
/**
 * Words before the shell that becomes the program, in the directory of a container with limited privileges.
 */
export const privilegesName = "privileges";
/** Mounts in the directory of a container with a mount name space (fstab(5)). */
export const mountsName = "mounts";
/** Exists in the directory of a container with a read-only root. */
export const readOnlyName = `${mountsName}-ro`;
/** Shell command in the directory of a container that checks its mounts, if pods could exchange some. */
export const checkName = `${mountsName}-check`;
/** Folders of the cgroups in the directory of a container with bounds, one in each line. */
export const boundsName = "bounds";
/** `oom_score_adj` in the directory of a container. */
export const oomScoreName = "oom-score";
/** Host name in the directory of a container with a UTS name space. */
export const hostnameName = "hostname";
/** Path of the cgroup in the directory of a container. */
export const cgroupName = "cgroup";

/** Shell command in the directory of a container without a terminal that runs `startScript`. */
export const startName = "start-command";

/** Scripts in the runtime's directory: `wrapperScript`, `startScript`. */
export const wrapperName = "container.sh";
const startFileName = "start.sh";

/** Sources of the scripts of a runtime directory by file name. */
export function scripts(isolation: Isolation): readonly (readonly [string, string])[] {
  return [
    [startFileName, startScript(isolation)],
    [wrapperName, wrapperScript],
    [sandboxScriptName, sandboxScript],
  ];
}

/** Command that runs `startScript`, whose arguments follow, in new name spaces where there are some. */
export function startCommand(isolation: Isolation, pids: PidSpace, directory: string): string[] {
  const start = ["/bin/sh", join(directory, startFileName)];
  return isolation.type === "plain" ? start : [...unshareCommand(isolation, pids), ...start];
}

/**
 * `startCommand` in a session of its own where it has a pid name space: signals to its group (`kill 0`) reach
 * its own processes only.
 */
export function sessionCommand(isolation: Isolation, pids: PidSpace, directory: string): string[] {
  const setsid = find("setsid");
  const start = startCommand(isolation, pids, directory);
  return pids === "machine" || setsid === undefined ? start : start.toSpliced(-2, 0, setsid);
}

/**
 * The shell around a container. Arguments: its directory, its log file, the working directory, the program,
 * and its command line. Writes its own identity to the directory (`wrapper`, a line of /proc/PID/stat), and
 * at the end the exit code (`exit`), whether or not an agent runs. Ignores signals to the whole session.
 * `error` gets errors before the program has its log, and the word "Terminated" of some shells. A process of
 * its own holds the pipe of the input open, so that the program reads no end of it when agents restart.
 */
const wrapperScript = `
trap : HUP INT QUIT TERM USR1 USR2 PIPE
directory=$1
read -r stat </proc/$$/stat
echo "$stat" >"$directory/wrapper"
if [ -e "$directory/${cgroupName}" ]; then
  read -r cgroup <"$directory/${cgroupName}"
  if ! echo $$ 2>"$directory/error" >"$cgroup/cgroup.procs"; then
    echo "cannot enter the cgroup $cgroup" >>"$directory/error"
    echo 125 >"$directory/exit"
    exit
  fi
fi
input=/dev/null
if [ -p "$directory/${stdinName}" ]; then
  input=$directory/${stdinName}
  (trap '' HUP INT QUIT TERM USR1 USR2 PIPE; exec 3<>"$directory/${closeName}" 4>"$input"; read -r _ <&3) &
fi
if [ -e "$directory/${terminalName}" ]; then
  /bin/sh "$directory/${terminalName}" <"$input" >>"$2" 2>"$directory/error"
else
  read -r start <"$directory/${startName}"
  { eval "$start" '"$@"'; } <"$input" >/dev/null 2>"$directory/error"
fi
echo "$?" >"$directory/exit"
`;

/**
 * Run by the wrapper, with the same arguments: opens the log unless it is in a terminal, makes the
 * container's root if there are mount name spaces, and starts a shell with the container's user and
 * privileges, which becomes the program: no tool of the agent's user sees the program's environment. Writes
 * to the file `start` whether it could (`started` and a line of /proc/PID/stat) or why not.
 */
function startScript(isolation: Isolation): string {
  const root = isolation.type === "mounts" ? rootScript(isolation.tools) : "";
  return `
exec 3>"$1/start" || exit 125
read -r stat </proc/self/stat
[ -e "$1/${terminalName}" ] || exec >>"$2" 2>&1 || exit 125
table=$1/${mountsName} root=$1/root privileges=
exec 4<"$1/${environmentName}" || exit 125
[ ! -e "$1/${privilegesName}" ] || read -r privileges <"$1/${privilegesName}" || exit 125
# Not the wrapper: it must outlive the program to tell how that ended.
if [ -e "$1/${boundsName}" ]; then
  while read -r folder; do echo 0 2>&3 >"$folder/cgroup.procs" || exit 125; done <"$1/${boundsName}"
fi
if [ -e "$1/${oomScoreName}" ]; then
  read -r score <"$1/${oomScoreName}"
  # Less than the agent has is for root.
  { echo "$score" >/proc/self/oom_score_adj; } 2>/dev/null
fi
if [ -e "$1/${hostnameName}" ]; then
  { read -r name <"$1/${hostnameName}" && echo "$name" >/proc/sys/kernel/hostname; } 2>&3 || exit 125
fi
shift 2
${root}
become=${shellLine([
    `stat=$1
shift
exec 2>&5 5>&-
${becomeProgram}`,
  ])}
eval exec "$privileges" '/bin/sh -c "$become" exec "$stat" "$@"' 5>&2 2>&3
`;
}

/**
 * End of each script that becomes a program. Arguments: the working directory, the program and its command
 * line. The source that exports its variables comes on file descriptor 4; `stat` is the line of
 * /proc/self/stat. From `eval` on, the variables are the program's, so the script keeps nothing in variables
 * after it.
 */
export const becomeProgram = `
environment=$(cat <&4) || exit 125
exec 4<&-
cd "$1" 2>&3 || exit 126
shift
set -- "$stat" "$@"
unset OLDPWD
eval "unset stat environment
$environment" 2>/dev/null
case $2 in
*/*)
  if [ ! -e "$2" ]; then echo "exec: \\"$2\\": stat $2: no such file or directory" >&3; exit 127
  elif [ -d "$2" ] || [ ! -x "$2" ]; then echo "exec: \\"$2\\": permission denied" >&3; exit 126; fi ;;
*)
  if ! command -v "$2" >/dev/null 2>&1; then
    echo "exec: \\"$2\\": executable file not found in \\$PATH" >&3
    exit 127
  fi ;;
esac
echo "started $1" >&3
exec 3>&-
shift 2
exec "$@"
`;

/** Mounts the table `$table` and makes the skeleton `$root` the root. Errors go to file descriptor 3. */
export function rootScript({ mount, umount, pivotRoot }: MountTools): string {
  return `
${mount} -a -T "$table" 2>&3 >&3 || exit 125
if [ -e "$table-check" ] && ! . "$table-check" 2>&3; then
  echo "a file or folder that is mounted was exchanged meanwhile" >&3
  exit 125
fi
[ ! -e "$table-ro" ] || ${mount} -o remount,bind,ro "$root" 2>&3 || exit 125
cd "$root" 2>&3 || exit 125
${pivotRoot} . . 2>&3 || exit 125
${umount} -l . 2>&3 || exit 125
cd / 2>&3
`;
}
