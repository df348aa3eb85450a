import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { dray, inFolder } from "../../testing/program.ts";
import { commandLine } from "../index.ts";
import { allCommands, completionModel } from "./model.ts";
import { shells } from "./run.ts";

const commands = allCommands(completionModel(commandLine()));
const installed = (shell: string): boolean => spawnSync(shell, ["-c", "true"]).status === 0;

for (const shell of shells) {
  test(`the completion for ${shell} has every command, option and choice`, async () => {
    const { code, stdout, stderr } = await dray(["completion", shell]);
    assert.deepEqual([code, stderr], [0, ""]);
    assert.ok(commands.length > 15);
    for (const { path, options, arguments: args } of commands) {
      const name = path.join(" ");
      assert.ok(stdout.includes(shell === "zsh" ? `_${path.join("_").replaceAll("-", "_")}()` : name), name);
      for (const { names } of options) {
        for (const option of names) {
          const written =
            shell === "fish"
              ? option.startsWith("--")
                ? `-l ${option.slice(2)}`
                : `-s ${option.slice(1)}`
              : option;
          assert.ok(stdout.includes(written), `${name} ${option}`);
        }
      }
      for (const values of [...args, ...options.map((option) => option.values)]) {
        if (values?.kind !== "words") continue;
        for (const word of values.words)
          assert.ok(stdout.includes(shell === "zsh" ? word.replaceAll(":", "\\:") : word), `${name} ${word}`);
      }
    }
    // Completion hides the commands and flags that the help hides.
    assert.doesNotMatch(stdout, /[ _]kubectl(?! get)|--detached/);
  });
}

/** Typed words with their completions: exactly these, or `includes`. */
const typed: [words: string[], wanted: string[]][] = [
  [["dray", "sta"], ["status"]],
  [
    ["dray", "cel", ""],
    ["check", "eval", "help"],
  ],
  [["dray", "-q", "cel", "ev"], ["eval"]],
  [
    ["dray", "status", "-o", ""],
    ["json", "kubeconfig", "yaml"],
  ],
  [["dray", "status", "--outp"], ["--output"]],
  [["dray", "cel", "check", "--kubernetes-version", "1.36"], ["1.36"]],
  [["dray", "logs", "-f", "sch"], ["scheduler"]],
  [["dray", "logs", "scheduler", "--tail", "3", "api"], ["apiserver"]],
  [
    ["dray", "up", "--name", ""],
    ["one", "two"],
  ],
  [["dray", "completion", "b"], ["bash"]],
  [
    ["dray", "doctor", "--rule", "pool-i"],
    ["pool-incomplete", "pool-invalid"],
  ],
  [["dray", "up", "--data-dir", "fold"], ["folder"]],
  [["dray", "up", "--nodes", ""], []],
];

/** Runs `complete` in a folder with two clusters, a file and a folder. */
async function eachTyped(
  shell: (typeof shells)[number],
  complete: (script: string, words: string[], options: { cwd: string; env: NodeJS.ProcessEnv }) => string[],
): Promise<void> {
  await inFolder(async (folder) => {
    for (const path of ["dray/one", "dray/two", "folder"]) mkdirSync(join(folder, path), { recursive: true });
    const script = join(folder, "script");
    writeFileSync(script, (await dray(["completion", shell])).stdout);
    execFileSync(shell, ["-n", script]);
    const env = { PATH: process.env["PATH"], HOME: folder, XDG_DATA_HOME: folder, LC_ALL: "C" };
    for (const [words, wanted] of typed) {
      const found = complete(script, words, { cwd: folder, env });
      assert.deepEqual(found.map((word) => word.replace(/\/$/, "")).sort(), wanted, words.join(" "));
    }
  });
}

test("bash completes commands, options and values", () =>
  eachTyped("bash", (script, words, options) => {
    const run = `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _dray
      printf '%s\\n' "\${COMPREPLY[@]}"`;
    const complete = (line: string[]): string[] =>
      execFileSync("bash", ["--norc", "-c", run, "bash", script, ...line], { ...options, encoding: "utf8" })
        .split("\n")
        .filter((word) => word !== "");
    const value = words.at(-1)!;
    // bash splits `--output=js` in this way.
    if (words.at(-2)?.startsWith("--"))
      assert.deepEqual(complete([...words.slice(0, -1), "=", value]), complete(words), words.join(" "));
    return complete(words);
  }));

test(
  "fish completes commands, options and values",
  { skip: !installed("fish") && "fish is not installed" },
  () =>
    eachTyped("fish", (script, words, options) => {
      const run = `source ${script}; complete -C '${words.join(" ")}'`;
      return execFileSync("fish", ["--no-config", "-c", run], { ...options, encoding: "utf8" })
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => line.split("\t")[0]!);
    }),
);

/** Types the line and a Tab into a zsh with a terminal, and prints the line after the completion. */
const zshProgram = `
zmodload zsh/zpty
zpty -b z zsh -f -i
zpty -w z "PS1=; stty -echo; autoload -Uz compinit; compinit -u -D; source $1; shift"
zpty -w z 'report() { print -r -- "<$BUFFER>" }; zle -N report; bindkey "^X" report; unsetopt alwaystolastprompt; echo rea""dy'
zpty -r z out '*ready*'
zpty -w -n z "$2"$'\\t\\C-x'
zpty -r z out '*<dray*>*'
print -r -- "\${\${out##*<}%%>*}"
zpty -d z
`;

test(
  "zsh completes commands, options and values",
  { skip: !installed("zsh") && "zsh is not installed" },
  () =>
    inFolder(async (folder) => {
      const script = join(folder, "script");
      writeFileSync(script, (await dray(["completion", "zsh"])).stdout);
      execFileSync("zsh", ["-n", script]);
      for (const [words, wanted] of typed) {
        if (wanted.length !== 1 || wanted[0] === "folder") continue;
        const line = execFileSync("zsh", ["-f", "-c", zshProgram, "zsh", script, words.join(" ")], {
          encoding: "utf8",
          timeout: 60_000,
        });
        assert.equal(line.trim(), [...words.slice(0, -1), ...wanted].join(" "));
      }
    }),
);

test("another shell is refused with those that there are", async () => {
  const { code, stderr } = await dray(["completion", "tcsh"]);
  assert.equal(code, 2);
  assert.match(stderr, /tcsh: must be one of bash, zsh, fish/);
});
