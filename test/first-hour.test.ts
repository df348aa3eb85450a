import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { blocksOf } from "./docs/markdown.ts";
import { type PageRun, runPage } from "./docs/run-page.ts";
import { processesOf, repository, withoutKubectl } from "./harness.ts";

/**
 * The first hour of a newcomer, who has no clone: installs Dray from its tarballs, and does what README and
 * docs say, word for word. `npm install` of our packages takes the tarballs, and `npx dray` is what they have
 * installed.
 */
const folder = mkdtempSync(join(tmpdir(), "dray-first-hour-"));
const [tarballs, installed, programs, home] = ["tarballs", "installed", "bin", "home"].map((name) =>
  join(folder, name),
) as [string, string, string, string];

const env: NodeJS.ProcessEnv = {
  ...Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(npm_|DRAY_|KUBECONFIG|NODE_OPTIONS)/.test(name)),
  ),
  HOME: home,
  XDG_CACHE_HOME: join(home, ".cache"),
  XDG_DATA_HOME: join(home, ".local/share"),
  PATH: [programs, dirname(process.execPath), process.env["PATH"]].join(delimiter),
};

/** The path of a program, whatever stands in front of it here. */
function real(name: string): string {
  return execFileSync("sh", ["-c", `command -v ${name}`], { encoding: "utf8" }).trim();
}

function program(name: string, script: string): void {
  writeFileSync(join(programs, name), `#!/bin/sh\n${script}\n`);
  chmodSync(join(programs, name), 0o755);
}

before(() => {
  for (const path of [tarballs, installed, programs, home]) mkdirSync(path);
  const packed = spawnSync(process.execPath, [join(repository, "scripts", "pack.js"), tarballs], {
    encoding: "utf8",
  });
  assert.equal(packed.status, 0, packed.stderr);
  const [npm, npx] = [real("npm"), real("npx")];
  const libraries = readdirSync(tarballs)
    .filter((name) => /^dray-[a-z]+-?[a-z]*-\d.*\.tgz$/.test(name))
    .map((name) => `'${join(tarballs, name)}'`);
  // Each of our packages is installed together with its dependencies: no registry has them yet.
  program(
    "npm",
    `case "$*" in *@dray/*) exec '${npm}' install --no-audit --no-fund ${libraries.join(" ")} ;; *) exec '${npm}' "$@" ;; esac`,
  );
  program(
    "npx",
    `if [ "$1" = dray ]; then shift; exec '${join(installed, "node_modules/.bin/dray")}' "$@"; fi; exec '${npx}' "$@"`,
  );
  program("dray", 'exec npx dray "$@"');
  const cli = readdirSync(tarballs).find((name) => /^dray-\d/.test(name));
  assert.ok(cli, "there is no tarball of dray");
  writeFileSync(join(installed, "package.json"), '{ "private": true }');
  execFileSync(npm, ["install", "--no-audit", "--no-fund", join(tarballs, cli)], {
    cwd: installed,
    env,
    stdio: "pipe",
  });
  symlinkSync(join(repository, "examples"), join(folder, "examples"));
});

after(() => {
  assert.deepEqual(processesOf(folder), [], "nothing runs any more");
  rmSync(folder, { recursive: true, force: true });
});

/** Does what a page says, in a folder of its own beside the examples. */
async function follow(page: string): Promise<PageRun> {
  const place = join(folder, page.replaceAll(/\W/g, "-"));
  mkdirSync(place);
  symlinkSync(join(repository, "examples"), join(place, "examples"));
  try {
    return await runPage(join(repository, page), place, env);
  } finally {
    // A page that failed half-way has left its cluster.
    for (const name of ["dray", "my-test"])
      spawnSync(join(programs, "npx"), ["dray", "down", "--name", name, "--delete-data"], { env });
  }
}

function commandsAndFiles(path: string) {
  return blocksOf(path).filter(({ language }) => language !== "");
}

describe("the first hour", () => {
  for (const page of [
    "README.md",
    "docs/first-driver.md",
    "docs/ci.md",
    "docs/tests.md",
    "docs/troubleshooting.md",
    "docs/lint.md",
    "docs/explain.md",
    "docs/fleet.md",
  ])
    test(page, { skip: withoutKubectl }, async () => {
      const { output } = await follow(page);
      if (page === "docs/first-driver.md") assert.match([...output.values()].join(), /^reading by lamp-1$/m);
    });

  for (const page of ["README", "docs/first-driver", "docs/ci"])
    test(`the Chinese ${page} has the same files and commands`, () => {
      const [english, chinese] = [`${page}.md`, `${page}.zh-CN.md`].map((path) =>
        // Drawings have no language, and words to translate.
        commandsAndFiles(join(repository, path)).map(({ language, text, file }) =>
          // Comments are translated.
          [language, file, text.replaceAll(/(#|\/\/) .*$/gm, "")].join("\n"),
        ),
      );
      assert.deepEqual(chinese, english);
    });

  test("code of pages that is not executed has a reason", () => {
    for (const name of readdirSync(join(repository, "docs")))
      for (const { note, line } of blocksOf(join(repository, "docs", name)))
        if (note?.startsWith("not executed"))
          assert.match(note, /^not executed: [a-z].{10,}$/, `${name}:${line}: give a reason`);
  });

  test("links between pages lead to existing files", () => {
    const pages = [
      "README.md",
      "README.zh-CN.md",
      ...readdirSync(join(repository, "docs")).map((name) => `docs/${name}`),
    ];
    const dead = pages.flatMap((page) =>
      [...readFileSync(join(repository, page), "utf8").matchAll(/\]\((?!https?:|#)([^)#]+)/g)]
        .map(([, target]) => target!)
        .filter((target) => spawnSync("test", ["-e", join(repository, dirname(page), target)]).status !== 0)
        .map((target) => `${page}: ${target}`),
    );
    assert.deepEqual(dead, []);
  });
});
