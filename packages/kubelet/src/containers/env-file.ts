/** Maximum size of an environment file: a pod writes it, and the agent holds it in memory. */
export const maxEnvFileBytes = 1 << 20;

/**
 * Returns the value of a variable in a file of lines `NAME='VALUE'`: a subset of the shell's syntax, in which
 * a value may span lines and nothing is expanded. Returns "" for a missing variable. Throws an Error with the
 * line of a syntax error before it, without the file's contents.
 *
 * Upstream: pkg/kubelet/util/env/env_util.go, ParseEnv (KEP-3721).
 */
export function envFileValue(text: string, key: string): string {
  const lines = text.split("\n").map((line) => line.replace(/\r$/, ""));
  if (lines.at(-1) === "") lines.pop();
  for (let index = 0; index < lines.length; index++) {
    const begin = index;
    const fault = (problem: string): Error =>
      new Error(`invalid environment variable format at line ${index + 1}: ${problem}`);
    const line = (lines[index] ?? "").replace(/^[ \t]+/, "");
    if (line === "" || line.startsWith("#")) continue;
    const equals = line.indexOf("=");
    if (equals < 0) throw fault("missing '='");
    const name = line.slice(0, equals);
    if (name.trim() === "") throw fault("empty variable name");
    if (/[ \t]$/.test(name)) throw fault("whitespace before '=' is not allowed");
    let rest = line.slice(equals + 1);
    // As in a shell, the variable is empty.
    if (/^[ \t]/.test(rest)) {
      if (name === key) return "";
      continue;
    }
    if (!rest.startsWith("'")) throw fault("value must be enclosed in single quotes");
    rest = rest.slice(1);
    let value = "";
    for (let end = rest.indexOf("'"); ; end = rest.indexOf("'")) {
      if (end >= 0) {
        value += rest.slice(0, end);
        if (!/^[ \t]*(#|$)/.test(rest.slice(end + 1))) throw fault("unexpected content after closing quote");
        break;
      }
      value += `${rest}\n`;
      index++;
      const next = lines[index];
      if (next === undefined)
        throw new Error(
          `invalid environment variable format starting at line ${begin + 1}: unclosed single quote`,
        );
      rest = next;
    }
    if (name === key) return value;
  }
  return "";
}
