import { closeName, stdinName, terminalName } from "../host/scripts.ts";

/** Scripts in the runtime's directory: the shell around a container, */
export const wrapperName = "container.sh";
/** one that writes its identity to a file before it becomes a program, */
export const noteName = "note.sh";
/** and the process that holds a pid name space. */
export const holderName = "holder.sh";

/** Files in the directory of a container, besides those of the host runtime. */
export const traceNames = {
  /** Process of the shell. */
  wrapper: "wrapper",
  /** Process of `runc run`, which copies the container's output. */
  runner: "runner",
  /** PID of the program, written by runc. */
  pid: "pid",
  /** Exit code, at the end. */
  exit: "exit",
  /** Number of OOM kills of the cgroup, at the end. */
  oom: "oom",
  /** Log of runc in JSON. */
  log: "runc.log",
} as const;

/**
 * The shell around a container: arguments are its directory, its log file, the file that counts kills for
 * want of memory, the container's ID, and the words that run runc without its command. It leaves in the
 * directory who it is and, when all is over, the exit code, whether or not an agent is there to see it. When
 * runc ends, whatever the reason, so does all that is left of the container. Signals that reach the whole
 * session do not end it. A process of its own holds the pipe of the input open, so that the program reads no
 * end of it when agents come and go.
 */
export const wrapperScript = `
trap : HUP INT QUIT TERM USR1 USR2 PIPE
directory=$1 log=$2 oom=$3 id=$4
shift 4
read -r stat </proc/$$/stat
echo "$stat" >"$directory/${traceNames.wrapper}"
input=/dev/null
if [ -p "$directory/${stdinName}" ]; then
  input=$directory/${stdinName}
  (trap '' HUP INT QUIT TERM USR1 USR2 PIPE; exec 3<>"$directory/${closeName}" 4>"$input"; read -r _ <&3) &
  holder=$!
fi
if [ -e "$directory/${terminalName}" ]; then
  /bin/sh "$directory/${terminalName}" <"$input" >>"$log" 2>"$directory/error"
else
  /bin/sh "\${0%/*}/${noteName}" "$directory/${traceNames.runner}" "$@" run --keep --bundle "$directory" \\
    --pid-file "$directory/${traceNames.pid}" "$id" <"$input" >>"$log" 2>&1
fi
code=$?
[ -z "\${holder-}" ] || kill -9 "$holder" 2>/dev/null
cat "$oom" >"$directory/${traceNames.oom}" 2>/dev/null
"$@" delete --force "$id" >/dev/null 2>>"$directory/error"
echo "$code" >"$directory/${traceNames.exit}"
`;

/**
 * Arguments: a file and the command line of a program. Writes a line of /proc/PID/stat to the file, and
 * becomes the program.
 */
export const noteScript = `
read -r stat </proc/self/stat
echo "$stat" >"$1" || exit 125
shift
exec "$@"
`;

/**
 * First process of a pid name space that several containers share. Reaps orphans. Writes its identity, with
 * the PID outside, to the file of its argument.
 */
export const holderScript = `
trap : HUP INT QUIT TERM USR1 USR2 PIPE
read -r stat </proc/self/stat
echo "$stat" >"$1" || exit 125
while :; do
  sleep 86400 &
  wait
done
`;

/**
 * Runs a command that joins a container: writes to descriptor 3 when it begins, as \`runWithStreams\` expects
 * it.
 */
export const joinScript = `
read -r stat </proc/self/stat
echo "started $stat" >&3
exec 3>&- 4<&-
exec "$@"
`;
