import assert from "node:assert/strict";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { inFolder } from "../../testing/program.ts";
import { answer } from "./serve.ts";

interface Answer {
  readonly code: number | undefined;
  readonly type: string | undefined;
  readonly location: string | undefined;
  readonly body: string;
}

/** Sends the path unchanged: a URL would normalize it. */
function ask(port: number, path: string, method = "GET"): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: "127.0.0.1", port, path, method, agent: false }, (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (chunk: string) => (body += chunk));
      const { statusCode: code, headers } = response;
      response.once("end", () =>
        resolve({ code, type: headers["content-type"], location: headers.location, body }),
      );
    });
    sent.once("error", reject).end();
  });
}

async function serving(root: string, work: (port: number) => Promise<void>): Promise<void> {
  const server = createServer((request, response) => void answer(root, request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    await work((server.address() as AddressInfo).port);
  } finally {
    server.close();
  }
}

test("files below the folder are served, links among them, and nothing beside it", () =>
  inFolder(async (folder) => {
    const root = join(folder, "html");
    mkdirSync(join(root, "sub dir"), { recursive: true });
    mkdirSync(join(root, "empty"));
    writeFileSync(join(folder, "secret"), "secret");
    writeFileSync(join(root, "sub dir", "index.html"), "sub");
    writeFileSync(join(root, "data.json"), "{}");
    writeFileSync(join(root, "nothing.txt"), "");
    symlinkSync("data.json", join(root, "link.json"));
    await serving(root, async (port) => {
      const json = { code: 200, type: "application/json", location: undefined, body: "{}" };
      assert.deepEqual(await ask(port, "/data.json?x=1"), json);
      assert.deepEqual(await ask(port, "/link.json"), json);
      assert.deepEqual(await ask(port, "/data.json", "HEAD"), { ...json, body: "" });
      assert.equal((await ask(port, "/nothing.txt")).body, "");
      assert.equal((await ask(port, "/sub%20dir/")).body, "sub");
      assert.equal((await ask(port, "/sub%20dir?x")).location, "/sub%20dir/");
      // A location that begins with two slashes names another host.
      for (const path of ["//evil.example/sub%20dir", "/.//sub%20dir", "http://evil.example/sub%20dir"])
        assert.equal((await ask(port, path)).location, "/sub%20dir/", path);
      for (const [path, code, method] of [
        ["/", 403],
        ["/empty/", 403],
        ["/missing", 404],
        ["/data.json/", 404],
        ["/../secret", 404],
        ["/..%2fsecret", 400],
        ["/%2e%2e/secret", 404],
        ["/%00", 400],
        ["/%", 400],
        ["/data.json", 405, "POST"],
      ] as const) {
        const { code: got, body } = await ask(port, path, method);
        assert.equal(got, code, path);
        assert.doesNotMatch(body, /^secret/);
      }
    });
  }));

test("without the folder there is a page that says what would be served", () =>
  inFolder((folder) =>
    serving(join(folder, "none"), async (port) => {
      const { code, body } = await ask(port, "/");
      assert.equal(code, 200);
      assert.match(body, /mounted at \/usr\/share\/nginx\/html/);
      assert.equal((await ask(port, "/x")).code, 404);
    }),
  ));
