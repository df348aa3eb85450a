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
import { type PageRun, type RunScript, runPage } from "./docs/run-page.ts";
import { tryServices, withoutOrdinaryUser } from "./first-hour/services.ts";
import {
  folderOfNobody,
  withoutUserNamespaces,
  withUserNamespacesOnly,
} from "./first-hour/without-user-namespaces.ts";
import { processesOf, repository, withoutKubectl } from "./harness.ts";

/**
 * The first hour of a newcomer with a clone: does what README and docs say, word for word. In the folder of
 * each page stands all that a clone has, by links.
 */
const folder = mkdtempSync(join(tmpdir(), "dray-first-hour-"));
const home = join(folder, "home");

const env: NodeJS.ProcessEnv = {
  ...Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^(npm_|DRAY_|KUBECONFIG|NODE_OPTIONS|INIT_CWD)/.test(name),
    ),
  ),
  HOME: home,
  XDG_CACHE_HOME: join(home, ".cache"),
  XDG_DATA_HOME: join(home, ".local/share"),
  PATH: [join(repository, "bin"), dirname(process.execPath), process.env["PATH"]].join(delimiter),
};

before(() => mkdirSync(home));

after(() => {
  assert.deepEqual(processesOf(folder), [], "nothing runs any more");
  rmSync(folder, { recursive: true, force: true });
});

/** Does what a page says in a clone, beside which it may make folders. */
async function follow(page: string): Promise<PageRun> {
  return followIn(join(folder, page.replaceAll(/\W/g, "-"), "dray"), page, env);
}

async function followIn(
  clone: string,
  page: string,
  env: NodeJS.ProcessEnv,
  run?: RunScript,
): Promise<PageRun> {
  mkdirSync(clone, { recursive: true });
  // A test may follow it as another user.
  chmodSync(clone, 0o777);
  for (const name of ["bin", "examples", "package.json", "scripts"])
    symlinkSync(join(repository, name), join(clone, name));
  try {
    return await runPage(join(repository, page), clone, env, run);
  } finally {
    // A page that failed half-way has left its cluster.
    for (const name of ["dray", "my-test"])
      spawnSync(join(repository, "bin", "dray"), ["down", "--name", name, "--delete-data"], { env });
  }
}

/** Makes a folder with a program for the commands of the page. */
function kubectlIn(folder: string): string {
  const bin = join(folder, "bin");
  mkdirSync(bin);
  const words = [
    process.execPath,
    "--conditions=dray-source",
    join(repository, "test/first-hour/kubectl.ts"),
  ];
  writeFileSync(join(bin, "kubectl"), `#!/bin/sh\nexec ${words.join(" ")} "$@"\n`, { mode: 0o755 });
  return bin;
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
    "docs/cost.md",
    "docs/fleet.md",
  ])
    test(page, { skip: withoutKubectl }, async () => {
      const { output } = await follow(page);
      if (page === "docs/first-driver.md") assert.match([...output.values()].join(), /^reading by lamp-1$/m);
    });

  test("docs/first-driver.md for an ordinary user without user name spaces", {
    skip: withUserNamespacesOnly,
  }, async () => {
    const home = folderOfNobody();
    const path = withoutKubectl ? [kubectlIn(home), env["PATH"]].join(delimiter) : env["PATH"];
    // The page packs what is built in the repository, where others may not write.
    execFileSync("npm", ["run", "--silent", "pack", "--", join(folder, "sdk"), "@dray/driver"], {
      cwd: repository,
    });
    const own = { ...env, PATH: path, HOME: home, XDG_CACHE_HOME: home, XDG_DATA_HOME: join(home, "data") };
    const clone = join(home, "dray");
    try {
      const { output } = await followIn(clone, "docs/first-driver.md", own, async (script, cwd, env) => {
        const argv = ["bash", "-c", `exec 2>&1\n${script}`];
        const { code, output } = await withoutUserNamespaces(argv, { cwd, env });
        return { output, problem: code === 0 ? undefined : String(code) };
      });
      assert.match([...output.values()].join(), /volumes at their paths only if/);
      assert.match([...output.values()].join(), /^reading by lamp-1$/m);
    } finally {
      assert.deepEqual(processesOf(home), [], "nothing runs any more");
      rmSync(home, { recursive: true, force: true });
    }
  });

  test(
    "Services work for an ordinary user, by address and by name",
    { skip: withoutOrdinaryUser },
    tryServices,
  );

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

  test("nothing sends people to names on npm that anybody could take", () => {
    const files = execFileSync("git", ["grep", "-IlE", "npx|npm (install|i|exec|x) "], {
      cwd: repository,
      encoding: "utf8",
    });
    const ours = /\b(npx( --?[\w-]+)*|npm (install|i|exec|x)( --?[\w-]+)*) "?(dray|@dray\/)/;
    const found = files
      .trim()
      .split("\n")
      .filter((file) => !/\.test\.ts$|^packages\/dray\/src\/options\/target\.ts$/.test(file))
      .flatMap((file) =>
        readFileSync(join(repository, file), "utf8")
          .split("\n")
          .flatMap((line, at) => (ours.test(line) ? [`${file}:${at + 1}: ${line}`] : [])),
      );
    assert.deepEqual(found, []);
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
